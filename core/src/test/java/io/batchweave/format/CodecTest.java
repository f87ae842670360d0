package io.batchweave.format;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every decoder of an object of the log against truncation, flips and lies (E8). */
@Timeout(60)
class CodecTest {
  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  static Stream<Codec<?>> codecs() {
    return Codec.all().stream();
  }

  @ParameterizedTest
  @MethodSource("codecs")
  void shouldReadWhatItWrote(Codec<?> codec) {
    byte[] bytes = codec.encoded();
    assertEquals(codec.sample(), codec.decode(bytes));
    assertArrayEquals(bytes, codec.again(bytes));
  }

  @ParameterizedTest
  @MethodSource("codecs")
  void shouldReportCorruptAtEveryTruncation(Codec<?> codec) {
    byte[] bytes = codec.encoded();
    int stride = Math.max(1, bytes.length / 2000);
    for (int length = 0; length < bytes.length; length += stride) {
      assertCorrupt(codec, Arrays.copyOf(bytes, length));
    }
    assertCorrupt(codec, Arrays.copyOf(bytes, bytes.length - 1));
    assertCorrupt(codec, Arrays.copyOf(bytes, bytes.length + 1));
  }

  @ParameterizedTest
  @MethodSource("codecs")
  void shouldReportCorruptAtEveryFlippedBit(Codec<?> codec) {
    byte[] bytes = codec.encoded();
    int stride = Math.max(1, bytes.length / 2000);
    for (int at = 0; at < bytes.length; at += at < 256 ? 1 : stride) {
      for (int bit = 0; bit < 8; bit++) {
        bytes[at] ^= (byte) (1 << bit);
        assertCorrupt(codec, bytes);
        bytes[at] ^= (byte) (1 << bit);
      }
    }
  }

  /**
   * Under a good checksum a changed body is refused, or it is the exact encoding of what it is read
   * as: never a wrong value, never another exception, whatever counts and lengths say.
   */
  @ParameterizedTest
  @MethodSource("codecs")
  void shouldRefuseOrReadExactlyWhenTheChecksumIsGood(Codec<?> codec) {
    byte[] original = codec.encoded();
    Random random = new Random(codec.name().hashCode());
    int read = 0;
    int refused = 0;
    for (int round = 0; round < 6000; round++) {
      byte[] bytes = original.clone();
      int changes = 1 + random.nextInt(3);
      for (int i = 0; i < changes; i++) {
        int near = random.nextBoolean() ? Math.min(bytes.length, 400) : bytes.length;
        int at = Envelope.HEADER_BYTES + random.nextInt(near - Envelope.HEADER_BYTES);
        bytes[at] =
            switch (random.nextInt(4)) {
              case 0 -> (byte) 0xFF;
              case 1 -> (byte) 0;
              case 2 -> (byte) (bytes[at] ^ 1 << random.nextInt(8));
              default -> (byte) random.nextInt();
            };
      }
      Samples.resealed(bytes);
      long allocated = THREADS.getCurrentThreadAllocatedBytes();
      try {
        assertArrayEquals(bytes, codec.again(bytes));
        read++;
      } catch (BatchWeaveException e) {
        long spent = THREADS.getCurrentThreadAllocatedBytes() - allocated;
        assertTrue(spent < (4 << 20) + 64L * bytes.length, "allocated=" + spent);
        assertTrue(e.kind() == Kind.CORRUPT || e.kind() == Kind.TOO_NEW, e.getMessage());
        assertTrue(e.toString().contains("object=some/object offset="), e.toString());
        refused++;
      }
    }
    assertTrue(read > 0 && refused > 0, "read=" + read + " refused=" + refused);
  }

  @ParameterizedTest
  @MethodSource("codecs")
  void shouldReportTooNewWhenItNeedsANewerReader(Codec<?> codec) {
    byte[] bytes = codec.encoded();
    bytes[Envelope.MIN_READER_OFFSET] = 2;
    assertEquals(Kind.TOO_NEW, failure(codec, Samples.resealed(bytes)).kind());
  }

  @ParameterizedTest
  @MethodSource("codecs")
  void shouldReadWhatANewerWriterMarksAsReadable(Codec<?> codec) {
    byte[] bytes = codec.encoded();
    bytes[Envelope.FORMAT_OFFSET] = 2;
    assertArrayEquals(codec.encoded(), codec.again(Samples.resealed(bytes)));
  }

  @ParameterizedTest
  @MethodSource("codecs")
  void shouldReportCorruptWhenReservedBytesAreSet(Codec<?> codec) {
    byte[] bytes = codec.encoded();
    bytes[Envelope.ZERO_OFFSET] = 1;
    assertCorrupt(codec, Samples.resealed(bytes));
    byte[] zero = codec.encoded();
    zero[Envelope.MIN_READER_OFFSET] = 0;
    assertCorrupt(codec, Samples.resealed(zero));
  }

  @Test
  void shouldReportCorruptWhenOneKindOfObjectStandsForAnother() {
    List<Codec<?>> codecs = Codec.all();
    for (Codec<?> writer : codecs) {
      for (Codec<?> reader : codecs) {
        if (!writer.name().equals(reader.name())) {
          assertCorrupt(reader, writer.encoded());
        }
      }
    }
  }

  @Test
  void shouldReadRandomBlocksAndTellTheirLength() {
    Random random = new Random(7);
    for (int round = 0; round < 300; round++) {
      List<Block> blocks = new ArrayList<>();
      int length = ManifestCodec.EMPTY_VERSION_BYTES;
      for (int i = random.nextInt(6); i > 0; i--) {
        Block block =
            random.nextBoolean()
                ? Samples.randomProduce(random)
                : Samples.blocks().get(random.nextInt(Samples.blocks().size()));
        blocks.add(block);
        length += ManifestCodec.encodedLength(block);
      }
      byte[] bytes = ManifestCodec.encode(Samples.header(), blocks);
      ManifestVersion version = ManifestCodec.decode("v", Bytes.wrap(bytes));
      assertEquals(blocks, version.blocks());
      assertEquals(length, bytes.length);
      assertEquals(bytes.length, version.sizeBytes());
    }
  }

  @Test
  void shouldCopyABlockFromAnAnnouncementIntoAVersionAsItIs() {
    for (Block block : Samples.blocks()) {
      byte[] announced = AnnouncementCodec.encode(new Announcement(Samples.STREAM, block));
      byte[] committed = ManifestCodec.encode(Samples.header(), List.of(block));
      int length = ManifestCodec.encodedLength(block);
      assertArrayEquals(
          Arrays.copyOfRange(announced, announced.length - length, announced.length),
          Arrays.copyOfRange(committed, committed.length - length, committed.length));
    }
  }

  @Test
  void shouldKeepAProduceBlockSmall() {
    TgbEntry entry = Samples.entry(Samples.OBJECT, 10, 0, 256);
    Block block = new Block.Produce("web-3", 2, 10, List.of(entry), SourceState.NONE);
    int length = ManifestCodec.encodedLength(block);
    assertTrue(length < 256 * 16 + 256, "length=" + length);
  }

  @Test
  void shouldRefuseToWriteABlockAboveTheLimit() {
    List<TgbEntry> entries = new ArrayList<>();
    DataObject object = new DataObject("web-3", 2, 0, 99, 1);
    for (int i = 0; i < 100; i++) {
      entries.add(Samples.entry(object, i, i * 65_536L, 256));
    }
    Block block = new Block.Produce("web-3", 2, 0, entries, SourceState.NONE);
    BatchWeaveException e =
        assertThrows(BatchWeaveException.class, () -> ManifestCodec.encodedLength(block));
    assertEquals(Kind.LIMIT, e.kind());
  }

  @Test
  void shouldRefuseToWriteAVersionAboveTheLimit() {
    Block block =
        new Block.Produce(
            "web-3", 2, 10, List.of(Samples.entry(Samples.OBJECT, 10, 0, 256)), SourceState.NONE);
    List<Block> blocks = new ArrayList<>();
    for (int i = 0; i < 300; i++) {
      blocks.add(block);
    }
    BatchWeaveException e =
        assertThrows(
            BatchWeaveException.class, () -> ManifestCodec.encode(Samples.header(), blocks));
    assertEquals(Kind.LIMIT, e.kind());
  }

  @Test
  void shouldHoldAsManyProducersAndPinsAsTheLimitsSay() {
    SnapshotRecord small = Samples.snapshot();
    List<SnapshotRecord.ProducerEntry> producers = new ArrayList<>();
    for (int i = 0; i < Limits.PRODUCERS; i++) {
      producers.add(
          new SnapshotRecord.ProducerEntry(
              "producer-%05d".formatted(i),
              1,
              Samples.OTHER,
              i,
              new SourceState.Inline(Bytes.wrap(new byte[64])),
              i,
              SnapshotRecord.Life.ACTIVE));
    }
    List<SnapshotRecord.PinEntry> pins = new ArrayList<>();
    for (int i = 0; i < Limits.PINS; i++) {
      pins.add(new SnapshotRecord.PinEntry("pin", 5, i));
    }
    SnapshotRecord large =
        new SnapshotRecord(
            small.streamId(),
            small.version(),
            small.commitId(),
            small.runningHash(),
            small.nextStep(),
            small.horizon(),
            small.sealed(),
            small.lastSkipVersion(),
            producers,
            List.of(new SnapshotRecord.GroupEntry("run7", 5, List.of(), pins)),
            small.skips(),
            small.counters(),
            small.entries());
    byte[] bytes = SnapshotCodec.encode(large);
    assertTrue(bytes.length < Limits.PRODUCERS * 160 + Limits.PINS * 32, "length=" + bytes.length);
    assertEquals(large, SnapshotCodec.decode("s", Bytes.wrap(bytes)));
  }

  @Test
  void shouldTellATombstone() {
    assertTrue(ManifestCodec.isTombstone(Bytes.EMPTY));
    assertTrue(!ManifestCodec.isTombstone(Bytes.wrap(new byte[1])));
    BatchWeaveException e =
        assertThrows(BatchWeaveException.class, () -> ManifestCodec.decode("v", Bytes.EMPTY));
    assertEquals(Kind.CORRUPT, e.kind());
  }

  private static void assertCorrupt(Codec<?> codec, byte[] bytes) {
    BatchWeaveException e = failure(codec, bytes);
    assertEquals(Kind.CORRUPT, e.kind(), e.getMessage());
    assertTrue(e.toString().contains("object=some/object offset="), e.toString());
  }

  private static BatchWeaveException failure(Codec<?> codec, byte[] bytes) {
    return assertThrows(BatchWeaveException.class, () -> codec.decode(bytes));
  }
}
