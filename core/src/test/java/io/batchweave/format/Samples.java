package io.batchweave.format;

import io.batchweave.Bytes;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.zip.CRC32C;

/** Records for tests: fixed ones for pinned bytes, random ones for properties. */
final class Samples {
  static final UUID STREAM = new UUID(0x0011223344556677L, 0x8899AABBCCDDEEFFL);
  static final UUID OTHER = new UUID(1, 2);
  static final DataObject OBJECT = new DataObject("web-3", 2, 10, 12, 255);

  private Samples() {}

  static VersionHeader header() {
    return new VersionHeader(STREAM, 7, OTHER, new UUID(3, 4), 5, 1, new UUID(6, 7), 3, 250);
  }

  static List<SliceEntry> slices(int count) {
    List<SliceEntry> slices = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      slices.add(new SliceEntry(0, 100 + i, 0xCAFE0000 + i, 4, 8 + i, 512 + i));
    }
    return slices;
  }

  static TgbEntry entry(DataObject object, long seq, long offset, int sliceCount) {
    List<SliceEntry> slices = slices(sliceCount);
    TgbLayout.Tail tail = TgbLayout.tail(new Grid(sliceCount, 1), slices, "a.txt:0-5");
    return TgbLayout.entry(object, seq, offset, slices, tail);
  }

  static Block.Produce produce() {
    TgbEntry first = entry(OBJECT, 10, 0, 2);
    return new Block.Produce(
        "web-3",
        2,
        10,
        List.of(first, entry(OBJECT, 11, first.lengthBytes(), 2)),
        new SourceState.Inline(Bytes.wrap(new byte[] {1, 2, 3})));
  }

  static Block.Produce produceExternal() {
    return new Block.Produce(
        "web-3",
        2,
        12,
        List.of(entry(OBJECT, 12, 0, 1)),
        new SourceState.External(OBJECT, 70_000, 0xBEEF));
  }

  /** One block of each kind. */
  static List<Block> blocks() {
    return List.of(
        new Block.Fence("web-3", 2, OTHER),
        produce(),
        produceExternal(),
        new Block.Retire("web-3", 9),
        new Block.OpenSession("run7", "run7-0", 12, Block.Takeover.SUPERSEDE, 4),
        new Block.OpenSession("run7", "run7-1", 12, Block.Takeover.REFUSE, 5),
        new Block.EndSession("run7", "run7-0", 6),
        new Block.Pin("run7", "run7-1", 11, "ckpt-100", 100, 3),
        new Block.OperatorPin("run7", "keep", 50, 7),
        new Block.Unpin("run7", "keep", 8),
        new Block.Skip(20, 22, 0),
        new Block.Reclaim(16, 1),
        new Block.Seal());
  }

  static SnapshotRecord snapshot() {
    return new SnapshotRecord(
        STREAM,
        9,
        OTHER,
        new UUID(8, 9),
        258,
        3,
        true,
        4,
        List.of(
            new SnapshotRecord.ProducerEntry(
                "a",
                1,
                OTHER,
                40,
                new SourceState.Inline(Bytes.wrap(new byte[] {9})),
                8,
                SnapshotRecord.Life.ACTIVE),
            new SnapshotRecord.ProducerEntry(
                "b",
                2,
                OTHER,
                13,
                new SourceState.External(OBJECT, 5000, 77),
                7,
                SnapshotRecord.Life.ACTIVE),
            new SnapshotRecord.ProducerEntry(
                "c", 3, STREAM, 99, SourceState.NONE, 6, SnapshotRecord.Life.RETIRED)),
        List.of(
            new SnapshotRecord.GroupEntry(
                "run7",
                5,
                List.of(new SnapshotRecord.SessionEntry("run7-0", 5, 3, -1)),
                List.of(
                    new SnapshotRecord.PinEntry("keep", 0, 10),
                    new SnapshotRecord.PinEntry("ckpt", 5, 20)))),
        List.of(new SnapshotRecord.SkipEntry(20, 22, 4)),
        counters(),
        List.of(entry(OBJECT, 10, 0, 2), entry(OBJECT, 12, 4096, 1)));
  }

  private static SortedMap<String, Long> counters() {
    SortedMap<String, Long> counters = new TreeMap<>();
    counters.put("stale-base", 3L);
    counters.put("void-version", 1L);
    return counters;
  }

  static SegmentRecord segment() {
    List<TgbEntry> entries = new ArrayList<>();
    for (int i = 0; i < 256; i++) {
      DataObject object = new DataObject("p" + i % 3, 1, i, i, i);
      entries.add(entry(object, i, 0, 2));
    }
    return new SegmentRecord(STREAM, 3, entries);
  }

  static StreamDescriptor stream() {
    return new StreamDescriptor(STREAM, 1, 4, 2, 0);
  }

  /** A produce block with random numbers of everything. */
  static Block.Produce randomProduce(Random random) {
    int entryCount = 1 + random.nextInt(8);
    long firstSeq = random.nextInt(1000);
    List<TgbEntry> entries = new ArrayList<>();
    int dp = 1 + random.nextInt(20);
    for (int i = 0; i < entryCount; i++) {
      long seq = firstSeq + i;
      DataObject object =
          random.nextBoolean() && !entries.isEmpty() && entries.getLast().object().lastSeq() >= seq
              ? entries.getLast().object()
              : new DataObject("p-1", 3, seq, seq + random.nextInt(3), random.nextLong());
      List<SliceEntry> slices = new ArrayList<>();
      for (int j = 0; j < dp; j++) {
        slices.add(
            new SliceEntry(
                0,
                random.nextInt(1 << 20),
                random.nextInt(),
                2,
                random.nextInt(1000),
                random.nextInt(100_000)));
      }
      TgbLayout.Tail tail = TgbLayout.tail(new Grid(dp, 1), slices, "x".repeat(random.nextInt(9)));
      entries.add(TgbLayout.entry(object, seq, 64L * random.nextInt(100), slices, tail));
    }
    byte[] state = new byte[random.nextInt(100)];
    random.nextBytes(state);
    return new Block.Produce(
        "p-1", 3, firstSeq, entries, new SourceState.Inline(Bytes.wrap(state)));
  }

  /** Makes the checksum of an envelope right again after its bytes were changed. */
  static byte[] resealed(byte[] object) {
    CRC32C crc = new CRC32C();
    crc.update(object, 0, Envelope.CRC_OFFSET);
    crc.update(object, Envelope.HEADER_BYTES, object.length - Envelope.HEADER_BYTES);
    ByteBuffer.wrap(object)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(Envelope.CRC_OFFSET, (int) crc.getValue());
    return object;
  }
}
