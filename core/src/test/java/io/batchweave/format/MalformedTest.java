package io.batchweave.format;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** One test per way in which bytes under a good checksum can be wrong (E8). */
@Timeout(30)
class MalformedTest {
  /** Where a message begins, in an object. */
  private static final int BODY = Envelope.HEADER_BYTES;

  /** Where the only block of {@link #versionOf} begins. */
  private static final int BLOCK = ManifestCodec.EMPTY_VERSION_BYTES + 4;

  private static final int BLOCK_BODY = BLOCK + WireBounds.HEADER_BYTES;

  @Test
  void shouldTellAWrongMessageFromANewerOne() {
    byte[] version = versionOf(new Block.Seal());
    assertCorrupt(version, at(BODY, (short) 7), "wrong fixed part");
    assertCorrupt(version, at(BODY + 2, (short) 5), "wrong message");
    assertCorrupt(version, at(BODY + 4, (short) 9), "wrong schema");
    assertCorrupt(version, at(BODY + 6, (short) 0), "wrong fixed part");
    assertTooNew(version, at(BODY + 6, (short) 2), "schema version 2");
  }

  @Test
  void shouldTellAnUnknownBlockFromAWrongOne() {
    byte[] version = versionOf(new Block.Seal());
    assertTooNew(version, at(BLOCK + 2, (short) 99), "unknown kind of block 99");
    assertTooNew(version, at(BLOCK + 6, (short) 2), "schema version 2");
    assertCorrupt(version, at(BLOCK, (short) 1), "wrong fixed part");
    assertCorrupt(version, at(BLOCK + 4, (short) 2), "wrong schema");
  }

  @Test
  void shouldRefuseCountsAndLengthsThatDoNotFit() {
    byte[] version = versionOf(new Block.Seal());
    int group = ManifestCodec.EMPTY_VERSION_BYTES - 6;
    assertCorrupt(version, at(group, (short) 4), "wrong element of group blocks");
    assertCorrupt(version, at(group + 2, 2), "length of block does not fit");
    assertCorrupt(version, at(group + 2, 4000), "group blocks does not fit");
    assertCorrupt(version, at(group + 2, 100_000), "too many blocks");
    assertCorrupt(version, at(group + 2, -1), "too many blocks");
    assertCorrupt(version, at(group + 2, 0), "bytes left over");
    assertCorrupt(version, at(group + 6, 9), "block does not fit");
    assertCorrupt(version, at(group + 6, -1), "block does not fit");
    assertCorrupt(version, at(group + 6, 7), "message header does not fit");
  }

  @Test
  void shouldRefuseNumbersThatNobodyMeans() {
    byte[] version = versionOf(new Block.Seal());
    int fields = BODY + WireBounds.HEADER_BYTES;
    assertCorrupt(version, at(fields + 16, 0L), "not positive: version=0");
    assertCorrupt(version, at(fields + 56, -1L), "negative: nextStep=-1");
    assertCorrupt(version, at(fields + 64, -1L), "negative: horizon=-1");
    assertCorrupt(version, at(fields + 88, -1L), "negative: newestSnapshot=-1");
    assertCorrupt(version, at(fields + 96, -1), "negative: paceMillis=-1");
    byte[] fence = versionOf(new Block.Fence("p", 1, Samples.OTHER));
    assertCorrupt(fence, at(BLOCK_BODY, 0), "not positive: epoch=0");
    byte[] reclaim = versionOf(new Block.Reclaim(5, 2));
    assertCorrupt(reclaim, at(BLOCK_BODY, -5L), "negative: step=-5");
    byte[] pin = versionOf(new Block.Pin("g", "s", 1, "c", 9, 3));
    assertCorrupt(pin, at(BLOCK_BODY + 16, 0), "not positive: keep=0");
    byte[] session = versionOf(new Block.OpenSession("g", "s", 1, Block.Takeover.REFUSE, 0));
    assertCorrupt(session, at(BLOCK_BODY + 16, (byte) 2), "takeover is neither 0 nor 1");
  }

  @Test
  void shouldRefuseNamesThatAreNotNames() {
    byte[] retire = versionOf(new Block.Retire("web", 9));
    int name = BLOCK_BODY + 8;
    assertCorrupt(retire, at(name, (byte) 200), "producer does not fit");
    assertCorrupt(retire, at(name, (byte) 2), "bytes left over");
    assertCorrupt(retire, at(name + 1, (byte) '/'), "not a name");
    assertCorrupt(retire, at(name + 1, (byte) 'W'), "not a name");
    assertCorrupt(retire, at(name + 1, (byte) 0), "not a name");
    assertCorrupt(retire, at(name + 1, (byte) 0xC3), "not a name");
  }

  @Test
  void shouldRefuseEntriesThatContradictThemselves() {
    Block.Produce block =
        new Block.Produce("p", 1, 5, List.of(Samples.entry(object(), 5, 64, 2)), SourceState.NONE);
    byte[] version = versionOf(block);
    int state = BLOCK_BODY + 12 + 2;
    int entries = state + 4 + 8 + 4;
    int table = entries + 4 + 8;
    int object = table + 6;
    int tgbs = object + 24 + 2;
    int tgb = tgbs + 6;
    int slices = tgb + 36;
    assertCorrupt(version, at(state, 13), "bytes left over");
    assertCorrupt(version, at(state + 12, 1), "source state does not fit");
    assertCorrupt(version, at(object, -1L), "negative: firstSeq=-1");
    assertCorrupt(version, at(object + 20, 0), "not a range of seqs");
    assertCorrupt(version, at(object + 20, 1 << 20), "not a range of seqs");
    assertCorrupt(version, at(object + 25, (byte) 'q'), "entry out of line");
    assertCorrupt(version, at(tgb, 65L), "impossible place");
    assertCorrupt(version, at(tgb, -64L), "impossible place");
    assertCorrupt(version, at(tgb + 8, 0L), "impossible place");
    assertCorrupt(version, at(tgb + 8, 640L), "differs from its parts");
    assertCorrupt(version, at(tgb + 16, 1), "object out of order");
    assertCorrupt(version, at(tgb + 16, -1), "object out of order");
    assertCorrupt(version, at(tgb + 20, 1), "entry out of line");
    assertCorrupt(version, at(tgb + 20, 9), "seq outside its object");
    assertCorrupt(version, at(tgb + 24, 0), "impossible footer");
    assertCorrupt(version, at(tgb + 24, 400), "impossible footer");
    assertCorrupt(version, at(tgb + 32, -4), "negative: microBatches=-4");
    assertCorrupt(version, at(slices + 2, 257), "too many slices");
    assertCorrupt(version, at(slices + 2, 256), "group slices does not fit");
    assertCorrupt(version, at(slices + 2, 0), "micro-batches without slices");
    assertCorrupt(version, at(slices + 6, -1), "slice length out of range");
    assertCorrupt(version, at(slices + 14, -1), "slice counts out of range");
  }

  @Test
  void shouldRefuseObjectsThatNoEntryUses() {
    TgbEntry first = Samples.entry(object(), 5, 0, 1);
    DataObject other = new DataObject("p", 1, 6, 6, 8);
    Block.Produce block =
        new Block.Produce(
            "p", 1, 5, List.of(first, Samples.entry(other, 6, 0, 1)), SourceState.NONE);
    byte[] version = versionOf(block);
    int second = BLOCK_BODY + 12 + 2 + 16 + 12 + 6 + 26 * 2 + 6 + 36 + 6 + 16;
    assertCorrupt(version, at(second + 16, 0, second + 20, 1), "objects that no entry uses");
  }

  @Test
  void shouldRefuseASourceStateThatIsTooLong() {
    Block.Produce block = Samples.produceExternal();
    byte[] version = versionOf(block);
    int state = BLOCK_BODY + 12 + 6 + 4 + 8;
    assertCorrupt(version, at(state + 16, -1L), "source state too long");
    assertCorrupt(version, at(state + 16, 1L << 40), "source state too long");
    assertRefused(() ->
        versionOf(
            new Block.Produce(
                "web-3",
                2,
                12,
                block.entries(),
                new SourceState.Inline(
                    Bytes.wrap(new byte[Limits.INLINE_SOURCE_STATE_BYTES + 1])))));
  }

  @Test
  void shouldRefuseASnapshotThatIsNotSorted() {
    SnapshotRecord good = Samples.snapshot();
    assertRefused(() -> SnapshotCodec.encode(withProducers(good, good.producers().reversed())));
    assertRefused(() ->
        SnapshotCodec.encode(
            withProducers(
                good, List.of(good.producers().getFirst(), good.producers().getFirst()))));
    byte[] bytes = SnapshotCodec.encode(good);
    int skips = BODY + WireBounds.HEADER_BYTES + 81;
    int producers = skips + 6 + 24;
    // The first producer's name follows its fixed part.
    int name = producers + 6 + 37 + 1;
    assertEquals('a', bytes[name]);
    assertCorruptSnapshot(bytes, at(name, (byte) 'c'), "producers are not sorted");
    assertCorruptSnapshot(bytes, at(producers + 6 + 4, (byte) 2), "life is neither 0 nor 1");
    assertCorruptSnapshot(bytes, at(producers + 6 + 4, (byte) 1), "a retired producer has no");
    assertCorruptSnapshot(bytes, at(skips + 6 + 8, 20L), "empty skip");
    assertCorruptSnapshot(bytes, at(skips + 2, 5000), "too many skips");
    assertCorruptSnapshot(bytes, at(skips - 1, (byte) 2), "seal is neither 0 nor 1");
    assertCorruptSnapshot(bytes, at(skips - 17, 300L), "horizon beyond the next step");
    assertCorruptSnapshot(bytes, at(skips - 25, 259L), "entries of the unfinished segment");
  }

  @Test
  void shouldRefuseASegmentThatIsNotFull() {
    SegmentRecord full = Samples.segment();
    assertRefused(() ->
        SegmentCodec.encode(new SegmentRecord(full.streamId(), 0, full.entries().subList(0, 255))));
  }

  @Test
  void shouldTellAStreamOfANewerFormat() {
    byte[] bytes = StreamCodec.encode(Samples.stream());
    int fields = BODY + WireBounds.HEADER_BYTES;
    assertStream(bytes, at(fields + 16, (short) 2), Kind.TOO_NEW, "stream of format 2");
    assertStream(bytes, at(fields + 26, 1L), Kind.TOO_NEW, "unknown capabilities 00000001");
    assertStream(bytes, at(fields + 16, (short) 0), Kind.CORRUPT, "impossible format");
    assertStream(bytes, at(fields + 18, 0), Kind.CORRUPT, "grid out of range");
    assertStream(bytes, at(fields + 22, -1), Kind.CORRUPT, "grid out of range");
    byte[] optional = bytes.clone();
    at(fields + 26, 1L << 32).accept(ByteBuffer.wrap(optional).order(ByteOrder.LITTLE_ENDIAN));
    assertEquals(
        1L << 32, StreamCodec.decode("o", Bytes.wrap(Samples.resealed(optional))).capabilities());
  }

  private static DataObject object() {
    return new DataObject("p", 1, 5, 6, 7);
  }

  private static SnapshotRecord withProducers(
      SnapshotRecord s, List<SnapshotRecord.ProducerEntry> producers) {
    return new SnapshotRecord(
        s.streamId(),
        s.version(),
        s.commitId(),
        s.runningHash(),
        s.nextStep(),
        s.horizon(),
        s.sealed(),
        s.lastSkipVersion(),
        producers,
        s.groups(),
        s.skips(),
        s.counters(),
        s.entries());
  }

  private static byte[] versionOf(Block block) {
    return ManifestCodec.encode(Samples.header(), List.of(block));
  }

  private static Consumer<ByteBuffer> at(int offset, byte value) {
    return bytes -> bytes.put(offset, value);
  }

  private static Consumer<ByteBuffer> at(int offset, short value) {
    return bytes -> bytes.putShort(offset, value);
  }

  private static Consumer<ByteBuffer> at(int offset, int value) {
    return bytes -> bytes.putInt(offset, value);
  }

  private static Consumer<ByteBuffer> at(int offset, long value) {
    return bytes -> bytes.putLong(offset, value);
  }

  private static Consumer<ByteBuffer> at(int first, int value, int second, int other) {
    return bytes -> bytes.putInt(first, value).putInt(second, other);
  }

  private static byte[] changed(byte[] object, Consumer<ByteBuffer> change) {
    byte[] bytes = Arrays.copyOf(object, object.length);
    change.accept(ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN));
    return Samples.resealed(bytes);
  }

  private static void assertCorrupt(byte[] version, Consumer<ByteBuffer> change, String what) {
    Bytes bytes = Bytes.wrap(changed(version, change));
    assertSays(() -> ManifestCodec.decode("some/object", bytes), Kind.CORRUPT, what);
  }

  private static void assertTooNew(byte[] version, Consumer<ByteBuffer> change, String what) {
    Bytes bytes = Bytes.wrap(changed(version, change));
    assertSays(() -> ManifestCodec.decode("some/object", bytes), Kind.TOO_NEW, what);
  }

  private static void assertCorruptSnapshot(
      byte[] snapshot, Consumer<ByteBuffer> change, String what) {
    Bytes bytes = Bytes.wrap(changed(snapshot, change));
    assertSays(() -> SnapshotCodec.decode("some/object", bytes), Kind.CORRUPT, what);
  }

  private static void assertStream(
      byte[] stream, Consumer<ByteBuffer> change, Kind kind, String what) {
    Bytes bytes = Bytes.wrap(changed(stream, change));
    assertSays(() -> StreamCodec.decode("some/object", bytes), kind, what);
  }

  private static void assertSays(Runnable decode, Kind kind, String what) {
    BatchWeaveException e = assertThrows(BatchWeaveException.class, decode::run);
    assertEquals(kind, e.kind(), e.toString());
    assertTrue(e.toString().contains(what), e + " does not say: " + what);
    assertTrue(e.toString().contains("object=some/object offset="), e.toString());
  }

  private static void assertRefused(Runnable encode) {
    BatchWeaveException e = assertThrows(BatchWeaveException.class, encode::run);
    assertEquals(Kind.CONFIG, e.kind(), e.toString());
  }
}
