package io.batchweave.store;

/**
 * A range of an object's bytes.
 *
 * @param offset first byte, from 0
 * @param lengthBytes number of bytes, at least 1
 */
public record ByteRange(long offset, long lengthBytes) {
  /** Checks the bounds. */
  public ByteRange {
    if (offset < 0 || lengthBytes < 1 || offset + lengthBytes < 0) {
      throw new IllegalArgumentException(
          "not a byte range: offset=" + offset + " lengthBytes=" + lengthBytes);
    }
  }
}
