package io.batchweave.verify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.format.Limits;
import io.batchweave.format.ManifestCodec;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SegmentCodec;
import io.batchweave.format.SegmentRecord;
import io.batchweave.format.SnapshotCodec;
import io.batchweave.format.SourceState;
import io.batchweave.format.TgbEntry;
import io.batchweave.format.TgbLayout;
import io.batchweave.format.VersionHeader;
import io.batchweave.log.ProducerState;
import io.batchweave.log.State;
import io.batchweave.store.ObjectStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A stream made by producers is sound; every kind of damage to it is named. */
@Timeout(120)
class VerifierTest {
  @TempDir static Path template;

  private static RealStream made;
  private static State head;
  private static final List<SegmentRecord> SEGMENTS = new ArrayList<>();

  @TempDir private Path directory;
  private RealStream stream;

  @BeforeAll
  static void make() throws IOException {
    made = RealStream.make(template.resolve("stream"));
    head = made.fold(SEGMENTS);
  }

  @BeforeEach
  void copy() throws IOException {
    stream = made.copyTo(directory.resolve("stream"));
  }

  private static List<String> objects(VerifyReport report) {
    return report.findings().stream().map(Finding::object).distinct().toList();
  }

  private static String said(VerifyReport report) {
    return report.findings().stream().map(Finding::toString).collect(Collectors.joining("\n"))
        + "\n"
        + report.notes();
  }

  /** Verifies and expects findings about one object only, one of which says so. */
  private VerifyReport expect(Depth depth, String object, String words) {
    VerifyReport report = stream.verify(depth);
    assertEquals(List.of(object), objects(report), () -> said(report));
    assertTrue(said(report).contains(words), () -> said(report));
    assertEquals(report.findings().size(), report.findingCount());
    return report;
  }

  private static TgbEntry entry(long step) {
    SegmentRecord segment = SEGMENTS.get((int) (step / Limits.SEGMENT_STEPS));
    return segment.entries().get((int) (step % Limits.SEGMENT_STEPS));
  }

  private List<Long> snapshots() throws IOException {
    try (var files = Files.list(stream.file(ObjectNames.SNAPSHOTS))) {
      return files
          .map(file -> Long.parseLong(String.valueOf(file.getFileName())))
          .sorted()
          .toList();
    }
  }

  @Test
  void shouldFindNothingInASoundStream() throws IOException {
    long files;
    try (var all = Files.walk(stream.file("data"))) {
      files = all.filter(Files::isRegularFile).count();
    }
    for (Depth depth : Depth.values()) {
      VerifyReport report = stream.verify(depth);
      assertTrue(report.sound(), () -> said(report));
      assertEquals(List.of(), report.notes());
      assertEquals(1, report.firstVersion());
      assertEquals(head.version(), report.headVersion());
      assertEquals(570, report.nextStep());
      assertEquals(2, report.segments());
      assertTrue(report.snapshots() >= 2, () -> "snapshots=" + report.snapshots());
      assertEquals(depth == Depth.BYTES, report.dataBytes() > 0);
      assertEquals(files, report.dataObjects() + report.orphans(), "each counts once");
    }
  }

  @Test
  void shouldCountWhatNothingNamesAsInformation() throws IOException {
    VerifyReport before = stream.verify(Depth.LENGTHS);
    TgbEntry entry = entry(0);
    String name = ObjectNames.data(entry.object());
    stream.write(name.substring(0, 8) + "stray", new byte[77]);
    VerifyReport report = stream.verify(Depth.LENGTHS);
    assertTrue(report.sound(), () -> said(report));
    assertEquals(before.orphans() + 1, report.orphans());
    assertEquals(before.orphanBytes() + 77, report.orphanBytes());
    assertTrue(report.notes().toString().contains("stray"), () -> said(report));
  }

  @Test
  void shouldNameAVersionWithAFlippedBitAndGoOnAtTheNextSnapshot() throws IOException {
    String name = ObjectNames.version(5);
    stream.flip(name, Files.size(stream.file(name)) / 2);
    VerifyReport report = expect(Depth.LENGTHS, name, "checksum");
    assertEquals(head.version(), report.headVersion());
    assertTrue(said(report).contains("goes on at the snapshot"), () -> said(report));
  }

  @Test
  void shouldNameAMissingVersion() throws IOException {
    stream.delete(ObjectNames.version(3));
    expect(Depth.LENGTHS, ObjectNames.version(3), "missing version");
  }

  @Test
  void shouldSayWhatCouldNotBeJudgedWhenNoSnapshotFollows() throws IOException {
    long last = snapshots().getLast() + 1;
    assertTrue(last < head.version());
    stream.delete(ObjectNames.version(last));
    expect(Depth.LENGTHS, ObjectNames.version(last), "no snapshot to go on from");
  }

  @Test
  void shouldNameDamageToAStepThatAJumpPassedOver() throws IOException {
    stream.delete(ObjectNames.version(3));
    TgbEntry entry = entry(200);
    stream.delete(ObjectNames.data(entry.object()));
    VerifyReport report = stream.verify(Depth.LENGTHS);
    assertEquals(
        List.of(ObjectNames.version(3), ObjectNames.data(entry.object())),
        objects(report).stream().sorted(java.util.Comparator.reverseOrder()).toList(),
        () -> said(report));
  }

  @Test
  void shouldNameADamagedSnapshot() throws IOException {
    String name = ObjectNames.snapshot(snapshots().getFirst());
    stream.flip(name, 100);
    expect(Depth.LENGTHS, name, "damaged snapshot");
  }

  @Test
  void shouldNameASnapshotThatIsNotTheFold() throws IOException {
    String name = ObjectNames.snapshot(snapshots().getFirst());
    stream.write(name, SnapshotCodec.encode(head.toRecord()));
    expect(Depth.LENGTHS, name, "differs from the fold");
  }

  @Test
  void shouldNameAMissingSnapshotThatAVersionNames() throws IOException {
    String name = ObjectNames.snapshot(snapshots().getLast());
    stream.delete(name);
    expect(Depth.LENGTHS, name, "missing snapshot");
  }

  @Test
  void shouldNameASegmentThatIsNotTheFold() throws IOException {
    List<TgbEntry> entries = new ArrayList<>(SEGMENTS.getFirst().entries());
    entries.set(7, entries.get(8));
    SegmentRecord wrong = new SegmentRecord(head.streamId(), 0, entries);
    stream.write(ObjectNames.segment(0), SegmentCodec.encode(wrong));
    expect(Depth.LENGTHS, ObjectNames.segment(0), "differs from the fold");
  }

  @Test
  void shouldNameADamagedSegment() throws IOException {
    stream.flip(ObjectNames.segment(1), 1_000);
    expect(Depth.LENGTHS, ObjectNames.segment(1), "damaged segment");
  }

  @Test
  void shouldNameAMissingSegment() throws IOException {
    stream.delete(ObjectNames.segment(0));
    expect(Depth.LENGTHS, ObjectNames.segment(0), "missing segment");
  }

  @Test
  void shouldNameAMissingDataObject() throws IOException {
    String name = ObjectNames.data(entry(300).object());
    stream.delete(name);
    expect(Depth.LENGTHS, name, "missing data object");
    expect(Depth.BYTES, name, "missing data object");
  }

  @Test
  void shouldNameATruncatedDataObject() throws IOException {
    TgbEntry entry = entry(0);
    String name = ObjectNames.data(entry.object());
    stream.truncate(name, Files.size(stream.file(name)) - 20);
    expect(Depth.LENGTHS, name, "wrong length");
    expect(Depth.BYTES, name, "wrong length");
  }

  @Test
  void shouldNameASliceWithAFlippedByteWhenEveryByteIsRead() throws IOException {
    TgbEntry entry = entry(100);
    String name = ObjectNames.data(entry.object());
    stream.flip(name, entry.slices().get(1).offset() + 2);
    assertTrue(stream.verify(Depth.LENGTHS).sound());
    VerifyReport report = expect(Depth.BYTES, name, "slice 1");
    assertEquals(1, report.findingCount());
    assertTrue(said(report).contains("step=100"), () -> said(report));
  }

  @Test
  void shouldNameADamagedFooterAndTrailer() throws IOException {
    TgbEntry entry = entry(100);
    String name = ObjectNames.data(entry.object());
    stream.flip(name, TgbLayout.footerRange(entry).offset() + 3);
    expect(Depth.BYTES, name, "checksum");
    stream.flip(name, TgbLayout.footerRange(entry).offset() + 3);
    assertTrue(stream.verify(Depth.BYTES).sound());
    stream.flip(name, entry.offset() + entry.lengthBytes() - 1);
    expect(Depth.BYTES, name, "trailer");
  }

  @Test
  void shouldNameAMissingSourceState() throws IOException {
    ProducerState producer = Objects.requireNonNull(head.producer("b"));
    SourceState.External external =
        assertInstanceOf(SourceState.External.class, producer.sourceState());
    String name = ObjectNames.state(external.object());
    stream.flip(name, 1);
    assertTrue(stream.verify(Depth.LENGTHS).sound());
    expect(Depth.BYTES, name, "checksum");
    stream.delete(name);
    expect(Depth.LENGTHS, name, "missing source state");
  }

  @Test
  void shouldNameAVoidVersion() throws IOException {
    VersionHeader lie =
        new VersionHeader(
            head.streamId(),
            head.version() + 1,
            new UUID(1, 2),
            head.commitId(),
            head.nextStep() + 1,
            head.horizon(),
            head.runningHash(),
            0,
            100);
    String name = ObjectNames.version(head.version() + 1);
    stream.write(name, ManifestCodec.encode(lie, List.of()));
    VerifyReport report = expect(Depth.LENGTHS, name, "nextStep");
    assertFalse(report.sound());
    assertEquals(head.version() + 1, report.headVersion());
  }

  /** Both are void then, and all that follow: nothing that was acknowledged is in the log. */
  @Test
  void shouldNameVersionsThatWereExchanged() throws IOException {
    Path first = stream.file(ObjectNames.version(1));
    Path second = stream.file(ObjectNames.version(2));
    byte[] bytes = Files.readAllBytes(first);
    Files.copy(second, first, StandardCopyOption.REPLACE_EXISTING);
    Files.write(second, bytes);
    VerifyReport report = stream.verify(Depth.LENGTHS);
    assertFalse(report.sound());
    assertTrue(
        objects(report).containsAll(List.of(ObjectNames.version(1), ObjectNames.version(2))),
        () -> said(report));
    assertTrue(said(report).contains("acknowledged"), () -> said(report));
  }

  @Test
  void shouldRefuseARootThatIsNoStream() throws IOException {
    stream.delete(ObjectNames.STREAM);
    BatchWeaveException refused =
        assertThrows(BatchWeaveException.class, () -> stream.verify(Depth.LENGTHS));
    assertEquals(Kind.CONFIG, refused.kind());
  }

  @Test
  void shouldFindNothingWhileProducersAreAtWork() {
    try (ObjectStore store = stream.open()) {
      CompletableFuture<Void> work =
          CompletableFuture.runAsync(() -> {
            for (int round = 0; round < 5; round++) {
              stream.produce(store, "c", 40);
            }
          });
      do {
        VerifyReport report = stream.verify(Depth.BYTES);
        assertTrue(report.sound(), () -> said(report));
      } while (!work.isDone());
      work.join();
    }
    VerifyReport after = stream.verify(Depth.BYTES);
    assertTrue(after.sound(), () -> said(after));
    assertEquals(770, after.nextStep());
  }
}
