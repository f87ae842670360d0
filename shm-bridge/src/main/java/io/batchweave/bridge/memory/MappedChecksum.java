package io.batchweave.bridge.memory;

import java.lang.foreign.MemorySegment;
import java.util.zip.CRC32C;

/**
 * CRC32C of mapped bytes. The mapping itself is never handed to native code, where a file that
 * somebody cuts short would kill the process: the bytes pass through a buffer that stays in the
 * first-level cache. One thread uses it.
 */
public final class MappedChecksum {
  /** A page: with more, the processor stops reading ahead while it sums up. */
  private static final int CHUNK_BYTES = 4 << 10;

  private final CRC32C crc = new CRC32C();
  private final byte[] chunk = new byte[CHUNK_BYTES];

  /** The same, so that a copy makes no object even where it is not compiled. */
  private final MemorySegment chunkSegment = MemorySegment.ofArray(chunk);

  /** Creates one, with a buffer of its own. */
  public MappedChecksum() {}

  /**
   * The checksum of a part of a mapping; allocates nothing.
   *
   * @param mapped the mapping
   * @param position first byte
   * @param lengthBytes number of bytes
   * @throws InternalError when the mapped file was cut short: whoever did that counts as dead
   */
  public int crc32c(MemorySegment mapped, long position, long lengthBytes) {
    crc.reset();
    long end = position + lengthBytes;
    for (long at = position; at < end; at += CHUNK_BYTES) {
      int length = (int) Math.min(CHUNK_BYTES, end - at);
      MemorySegment.copy(mapped, at, chunkSegment, 0, length);
      crc.update(chunk, 0, length);
    }
    return (int) crc.getValue();
  }
}
