package io.batchweave.ingest;

import java.util.zip.CRC32;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/** A 64-bit fingerprint of a file's first bytes: CRC-32C and CRC-32. Sees change, not malice. */
final class ContentHash {
  private final CRC32C castagnoli = new CRC32C();
  private final CRC32 ieee = new CRC32();
  private long newlines;

  void update(byte[] bytes, int from, int length) {
    castagnoli.update(bytes, from, length);
    ieee.update(bytes, from, length);
  }

  /** Line ends in what {@link #of} hashed. */
  long newlines() {
    return newlines;
  }

  long value() {
    return castagnoli.getValue() << 32 | ieee.getValue();
  }

  /** Hashes the first bytes of a file; null if the file is shorter. */
  static @Nullable ContentHash of(ByteSource source, String path, long length, byte[] buffer) {
    ContentHash hash = new ContentHash();
    for (long offset = 0; offset < length; ) {
      int wanted = (int) Math.min(buffer.length, length - offset);
      int read = source.read(path, offset, buffer, wanted);
      if (read < wanted) {
        return null;
      }
      hash.update(buffer, 0, read);
      for (int i = 0; i < read; i++) {
        hash.newlines += buffer[i] == '\n' ? 1 : 0;
      }
      offset += read;
    }
    return hash;
  }
}
