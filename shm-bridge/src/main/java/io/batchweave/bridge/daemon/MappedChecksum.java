package io.batchweave.bridge.daemon;

import java.lang.foreign.MemorySegment;
import java.util.zip.CRC32C;

/** CRC32C of mapped bytes, without a copy on the heap. */
final class MappedChecksum {
  /** A view is a {@code ByteBuffer}, whose length is an int. */
  private static final long CHUNK_BYTES = 64L << 20;

  private MappedChecksum() {}

  static int crc32c(MemorySegment mapped, long position, long lengthBytes) {
    CRC32C crc = new CRC32C();
    long done = 0;
    while (done < lengthBytes) {
      long length = Math.min(CHUNK_BYTES, lengthBytes - done);
      crc.update(mapped.asSlice(position + done, length).asByteBuffer());
      done += length;
    }
    return (int) crc.getValue();
  }
}
