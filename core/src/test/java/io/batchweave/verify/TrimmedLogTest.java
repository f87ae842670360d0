package io.batchweave.verify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.Bytes;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SegmentRecord;
import io.batchweave.format.TgbEntry;
import io.batchweave.log.LogWriter;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A long log of which only the part after the sixteenth snapshot is left. */
@Timeout(120)
class TrimmedLogTest {
  private static final long VERSIONS = 640;
  private static final long SNAPSHOT_EVERY = 20;

  /** Snapshots stand at 20, 40, …, 640; the sixteen newest are kept. */
  private static final long OLDEST_SNAPSHOT = VERSIONS - 15 * SNAPSHOT_EVERY;

  @TempDir private Path directory;
  private final Map<String, Bytes> objects = new HashMap<>();
  private RealStream stream;

  @BeforeEach
  void write() {
    stream = new RealStream(directory.resolve("stream"));
    LogWriter log = new LogWriter(objects, 1);
    log.fill(VERSIONS, SNAPSHOT_EVERY);
    for (SegmentRecord segment : log.segments()) {
      segment.entries().forEach(this::addData);
    }
    for (long step = log.state().unfinishedStep(); step < log.state().nextStep(); step++) {
      TgbEntry entry = log.state().entry(step);
      if (entry != null) {
        addData(entry);
      }
    }
  }

  private void addData(TgbEntry entry) {
    objects.put(ObjectNames.data(entry.object()), Bytes.wrap(new byte[(int) entry.lengthBytes()]));
  }

  private void trimBelow(long version) {
    for (long v = 1; v < version; v++) {
      objects.put(ObjectNames.version(v), Bytes.EMPTY);
    }
  }

  private VerifyReport verify() throws IOException {
    for (Map.Entry<String, Bytes> object : objects.entrySet()) {
      stream.write(object.getKey(), object.getValue().toByteArray());
    }
    return stream.verify(Depth.LENGTHS);
  }

  @Test
  void shouldFoldFromVersionOneWhenNothingIsTrimmed() throws IOException {
    VerifyReport report = verify();
    assertTrue(report.sound(), report::toString);
    assertEquals(16, report.snapshots());
    assertEquals(1, report.firstVersion());
    assertEquals(0, report.orphans());
  }

  @Test
  void shouldBeginAtTheOldestSnapshotWhenTheLogIsTrimmed() throws IOException {
    trimBelow(OLDEST_SNAPSHOT);
    VerifyReport report = verify();
    assertTrue(report.sound(), report::toString);
    assertEquals(OLDEST_SNAPSHOT + 1, report.firstVersion());
    assertEquals(VERSIONS, report.headVersion());
    assertEquals(15, report.snapshots());
    assertEquals(0, report.orphans(), "the steps before are judged by their segments");
    assertEquals(VERSIONS - 1, report.dataObjects());
  }

  @Test
  void shouldNameMissingDataBelowTheSnapshotItBeganWith() throws IOException {
    trimBelow(OLDEST_SNAPSHOT);
    String name =
        objects.keySet().stream().filter(k -> k.startsWith("data/")).sorted().toList().get(3);
    objects.remove(name);
    VerifyReport report = verify();
    assertEquals(List.of(name), report.findings().stream().map(Finding::object).toList());
  }

  @Test
  void shouldNameATombstoneAboveTheSixteenthSnapshot() throws IOException {
    String name = ObjectNames.version(OLDEST_SNAPSHOT + 3);
    objects.put(name, Bytes.EMPTY);
    VerifyReport report = verify();
    assertEquals(List.of(name), report.findings().stream().map(Finding::object).toList());
    assertTrue(report.findings().getFirst().problem().contains("trimmed"), report::toString);
  }
}
