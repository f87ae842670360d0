package io.batchweave.read;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.UUID;
import java.util.zip.CRC32C;

/**
 * The resume position that a trainer stores in its checkpoint: identical on all ranks, never
 * changed by prefetching. Layout (little-endian, the id in RFC 4122 byte order):
 *
 * <pre>
 *  offset  length
 *       0       4  magic "BWTK"
 *       4       1  format, 1
 *       5       1  oldest format whose readers understand this, 1
 *       6       2  reserved, 0
 *       8      16  stream id
 *      24       8  view version: manifest version at which the session was registered, 0 if none
 *      32       8  next step to read
 *      40       4  CRC32C of bytes [0, 40)
 *      44          total length
 * </pre>
 *
 * @param streamId the stream it belongs to; a token of another stream is refused
 * @param viewVersion version that fixes which skips apply, 0 before any session
 * @param nextStep the next step to read, from 0
 */
public record Token(UUID streamId, long viewVersion, long nextStep) {
  /** Length of an encoded token, bytes. */
  public static final int LENGTH_BYTES = 44;

  /** Magic of a token: {@code BWTK} read as a little-endian int. */
  public static final int MAGIC = 0x4B54_5742;

  /** Format written by this program, and the newest it reads. */
  public static final int FORMAT = 1;

  private static final int FORMAT_OFFSET = 4;
  private static final int MIN_READER_OFFSET = 5;
  private static final int STREAM_ID_OFFSET = 8;
  private static final int VIEW_VERSION_OFFSET = 24;
  private static final int NEXT_STEP_OFFSET = 32;
  private static final int CRC32C_OFFSET = 40;

  /** Checks the ranges. */
  public Token {
    if (viewVersion < 0 || nextStep < 0) {
      throw new IllegalArgumentException(
          "not a token: viewVersion=" + viewVersion + " nextStep=" + nextStep);
    }
  }

  /** The token's bytes, {@link #LENGTH_BYTES} of them. */
  public Bytes encode() {
    byte[] value = new byte[LENGTH_BYTES];
    ByteBuffer buffer = ByteBuffer.wrap(value).order(ByteOrder.LITTLE_ENDIAN);
    buffer.putInt(0, MAGIC);
    buffer.put(FORMAT_OFFSET, (byte) FORMAT);
    buffer.put(MIN_READER_OFFSET, (byte) FORMAT);
    buffer.order(ByteOrder.BIG_ENDIAN);
    buffer.putLong(STREAM_ID_OFFSET, streamId.getMostSignificantBits());
    buffer.putLong(STREAM_ID_OFFSET + Long.BYTES, streamId.getLeastSignificantBits());
    buffer.order(ByteOrder.LITTLE_ENDIAN);
    buffer.putLong(VIEW_VERSION_OFFSET, viewVersion);
    buffer.putLong(NEXT_STEP_OFFSET, nextStep);
    buffer.putInt(CRC32C_OFFSET, crc32c(value));
    return Bytes.wrap(value);
  }

  /**
   * Reads a token's bytes.
   *
   * @param bytes what {@link #encode} made
   * @throws BatchWeaveException {@link Kind#CORRUPT} if they are not a token, {@link Kind#TOO_NEW}
   *     if a newer program wrote them
   */
  public static Token decode(Bytes bytes) {
    byte[] value = bytes.toByteArray();
    ByteBuffer buffer = ByteBuffer.wrap(value).order(ByteOrder.LITTLE_ENDIAN);
    if (value.length < STREAM_ID_OFFSET || buffer.getInt(0) != MAGIC) {
      throw corrupt("no token magic", 0, value.length);
    }
    if (buffer.get(MIN_READER_OFFSET) > FORMAT) {
      throw new BatchWeaveException(
          Kind.TOO_NEW,
          "token of a newer format: minReader="
              + buffer.get(MIN_READER_OFFSET)
              + " supported="
              + FORMAT
              + "; upgrade this program");
    }
    if (value.length != LENGTH_BYTES) {
      throw corrupt("wrong length, expected " + LENGTH_BYTES, value.length, value.length);
    }
    if (buffer.getInt(CRC32C_OFFSET) != crc32c(value)) {
      throw corrupt("wrong checksum", CRC32C_OFFSET, value.length);
    }
    long viewVersion = buffer.getLong(VIEW_VERSION_OFFSET);
    long nextStep = buffer.getLong(NEXT_STEP_OFFSET);
    if (viewVersion < 0 || nextStep < 0) {
      throw corrupt("negative field", VIEW_VERSION_OFFSET, value.length);
    }
    buffer.order(ByteOrder.BIG_ENDIAN);
    UUID streamId =
        new UUID(buffer.getLong(STREAM_ID_OFFSET), buffer.getLong(STREAM_ID_OFFSET + Long.BYTES));
    return new Token(streamId, viewVersion, nextStep);
  }

  /**
   * Refuses a token of another stream.
   *
   * @param expectedStreamId the stream that is about to be read
   * @throws BatchWeaveException {@link Kind#CONFIG}
   */
  public void requireStream(UUID expectedStreamId) {
    if (!streamId.equals(expectedStreamId)) {
      throw new BatchWeaveException(
          Kind.CONFIG,
          "token of another stream: token="
              + streamId
              + " stream="
              + expectedStreamId
              + "; resume from the stream the checkpoint was trained on");
    }
  }

  private static int crc32c(byte[] value) {
    CRC32C crc = new CRC32C();
    crc.update(value, 0, CRC32C_OFFSET);
    return (int) crc.getValue();
  }

  private static BatchWeaveException corrupt(String what, int offset, int lengthBytes) {
    return new BatchWeaveException(
        Kind.CORRUPT,
        "not a token: "
            + what
            + " offset="
            + offset
            + " lengthBytes="
            + lengthBytes
            + "; load another checkpoint");
  }
}
