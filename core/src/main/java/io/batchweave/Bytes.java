package io.batchweave;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.zip.CRC32C;

/** Immutable bytes with value equality, for small payloads inside records. */
public final class Bytes {
  /** No bytes. */
  public static final Bytes EMPTY = new Bytes(new byte[0]);

  private final byte[] value;

  private Bytes(byte[] value) {
    this.value = value;
  }

  /**
   * Copies.
   *
   * @param value the bytes; later changes to the array are not seen
   */
  public static Bytes copyOf(byte[] value) {
    return value.length == 0 ? EMPTY : new Bytes(value.clone());
  }

  /**
   * Takes ownership without a copy.
   *
   * @param value the bytes; the caller must not change them any more
   */
  public static Bytes wrap(byte[] value) {
    return value.length == 0 ? EMPTY : new Bytes(value);
  }

  /** Number of bytes. */
  public int length() {
    return value.length;
  }

  /** A fresh copy of the bytes. */
  public byte[] toByteArray() {
    return value.clone();
  }

  /** A read-only view, without a copy. */
  public ByteBuffer asByteBuffer() {
    return ByteBuffer.wrap(value).asReadOnlyBuffer();
  }

  /**
   * Adds all bytes to a checksum, where they lie.
   *
   * @param checksum updated
   */
  public void addTo(CRC32C checksum) {
    checksum.update(value, 0, value.length);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Bytes that && Arrays.equals(value, that.value);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(value);
  }

  @Override
  public String toString() {
    return length() <= 32 ? HexFormat.of().formatHex(value) : length() + " bytes";
  }
}
