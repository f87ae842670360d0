package io.batchweave.bridge.ring;

import static io.batchweave.bridge.ring.SharedFields.loadPlainInt;
import static io.batchweave.bridge.ring.SharedFields.loadPlainLong;
import static io.batchweave.bridge.ring.SharedFields.storePlainInt;
import static io.batchweave.bridge.ring.SharedFields.storePlainLong;

import io.batchweave.BatchWeaveException;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * The head of a region: which slices it holds, and where.
 *
 * <pre>
 *    0  magic 8 | step 8 | entry count 4 | table length 4 | region length 8 | 0
 *   64  entries, 64 bytes each, ascending by (dp, cp) of the stream's grid:
 *         0 dp 4 | 4 cp 4 | 8 offset 8 | 16 length 8 | 24 crc32c 4 | 28 micro-batches 4
 *        32 samples 8 | 40 tokens 8
 *   64 (1 + entry count)  slices, each at a multiple of 64
 * </pre>
 */
public final class TableDescriptor {
  static final long MAGIC_OFFSET = 0;
  static final long STEP_OFFSET = 8;
  static final long ENTRY_COUNT_OFFSET = 16;
  static final long TABLE_LENGTH_OFFSET = 20;
  static final long REGION_LENGTH_OFFSET = 24;
  static final long ENTRIES_OFFSET = 64;
  static final long ENTRY_LENGTH = 64;
  static final long DP_OFFSET = 0;
  static final long CP_OFFSET = 4;
  static final long SLICE_OFFSET_OFFSET = 8;
  static final long SLICE_LENGTH_OFFSET = 16;
  static final long CRC32C_OFFSET = 24;
  static final long MICRO_BATCHES_OFFSET = 28;
  static final long SAMPLES_OFFSET = 32;
  static final long TOKENS_OFFSET = 40;

  private TableDescriptor() {}

  /** Bytes of a table: where the first slice may start. */
  public static long tableLength(int entryCount) {
    return ENTRIES_OFFSET + entryCount * ENTRY_LENGTH;
  }

  /**
   * Writes the table at the start of a region.
   *
   * @param region the region's bytes
   * @param step the step
   * @param entries ascending by coordinate
   */
  public static void write(MemorySegment region, long step, List<TableEntry> entries) {
    storePlainLong(region, STEP_OFFSET, step);
    storePlainInt(region, ENTRY_COUNT_OFFSET, entries.size());
    storePlainInt(region, TABLE_LENGTH_OFFSET, (int) tableLength(entries.size()));
    storePlainLong(region, REGION_LENGTH_OFFSET, region.byteSize());
    for (int i = 0; i < entries.size(); i++) {
      TableEntry entry = entries.get(i);
      long offset = entryOffset(i);
      storePlainInt(region, offset + DP_OFFSET, entry.coordinate().dp());
      storePlainInt(region, offset + CP_OFFSET, entry.coordinate().cp());
      storePlainLong(region, offset + SLICE_OFFSET_OFFSET, entry.offset());
      storePlainLong(region, offset + SLICE_LENGTH_OFFSET, entry.lengthBytes());
      storePlainInt(region, offset + CRC32C_OFFSET, entry.crc32c());
      storePlainInt(region, offset + MICRO_BATCHES_OFFSET, entry.microBatches());
      storePlainLong(region, offset + SAMPLES_OFFSET, entry.samples());
      storePlainLong(region, offset + TOKENS_OFFSET, entry.tokens());
    }
    storePlainLong(region, MAGIC_OFFSET, RingAbi.TABLE_MAGIC);
  }

  /**
   * Checks a table and every entry of it; allocates nothing when it holds.
   *
   * @param name the data file's name, for messages
   * @param data the mapped data file
   * @param regionOffset where the region begins, checked against the data file
   * @param regionLength its length, checked against the data file
   * @param step the step that it must hold
   * @return the number of entries
   * @throws BatchWeaveException CORRUPT when anything is out of range
   */
  public static int check(
      String name, MemorySegment data, long regionOffset, long regionLength, long step) {
    ControlDescriptor.require(regionLength >= ENTRIES_OFFSET, name, "region length", regionLength);
    long magic = loadPlainLong(data, regionOffset + MAGIC_OFFSET);
    ControlDescriptor.require(magic == RingAbi.TABLE_MAGIC, name, "table magic", magic);
    long found = loadPlainLong(data, regionOffset + STEP_OFFSET);
    ControlDescriptor.require(found == step, name, "table step", found);
    long length = loadPlainLong(data, regionOffset + REGION_LENGTH_OFFSET);
    ControlDescriptor.require(length == regionLength, name, "table region length", length);
    int count = loadPlainInt(data, regionOffset + ENTRY_COUNT_OFFSET);
    ControlDescriptor.require(
        count >= 0 && count <= RingAbi.MAX_COORDINATES, name, "table entry count", count);
    long tableLength = loadPlainInt(data, regionOffset + TABLE_LENGTH_OFFSET);
    ControlDescriptor.require(
        tableLength == tableLength(count) && tableLength <= regionLength,
        name,
        "table length",
        tableLength);
    for (int i = 0; i < count; i++) {
      long entry = regionOffset + entryOffset(i);
      long offset = loadPlainLong(data, entry + SLICE_OFFSET_OFFSET);
      long bytes = loadPlainLong(data, entry + SLICE_LENGTH_OFFSET);
      ControlDescriptor.require(
          offset >= tableLength && offset <= regionLength && offset % RingAbi.SLICE_ALIGNMENT == 0,
          name,
          "slice offset",
          offset);
      ControlDescriptor.require(
          bytes >= 0 && bytes <= regionLength - offset, name, "slice length", bytes);
    }
    return count;
  }

  /** Where an entry begins, from the start of the region. */
  public static long entryOffset(int index) {
    return ENTRIES_OFFSET + index * ENTRY_LENGTH;
  }

  /** Data-parallel coordinate of the entry at an offset in the data file. */
  public static int dp(MemorySegment data, long entry) {
    return loadPlainInt(data, entry + DP_OFFSET);
  }

  /** Context-parallel coordinate of the entry. */
  public static int cp(MemorySegment data, long entry) {
    return loadPlainInt(data, entry + CP_OFFSET);
  }

  /** Offset of the slice from the start of the region. */
  public static long sliceOffset(MemorySegment data, long entry) {
    return loadPlainLong(data, entry + SLICE_OFFSET_OFFSET);
  }

  /** Length of the slice. */
  public static long sliceLength(MemorySegment data, long entry) {
    return loadPlainLong(data, entry + SLICE_LENGTH_OFFSET);
  }

  /** Checksum of the slice. */
  public static int crc32c(MemorySegment data, long entry) {
    return loadPlainInt(data, entry + CRC32C_OFFSET);
  }

  /** Micro-batches of the slice. */
  public static int microBatches(MemorySegment data, long entry) {
    return loadPlainInt(data, entry + MICRO_BATCHES_OFFSET);
  }

  /** Samples of the slice. */
  public static long samples(MemorySegment data, long entry) {
    return loadPlainLong(data, entry + SAMPLES_OFFSET);
  }

  /** Tokens of the slice. */
  public static long tokens(MemorySegment data, long entry) {
    return loadPlainLong(data, entry + TOKENS_OFFSET);
  }
}
