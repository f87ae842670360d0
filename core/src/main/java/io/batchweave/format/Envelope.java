package io.batchweave.format;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32C;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * What every object of the log begins with; the layout is for ever, whatever format the body has.
 *
 * <pre>
 *   0               8       10      12              16      20      24
 *  +---------------+-------+-------+---------------+-------+-------+--------- - -
 *  | magic         |format |min    | length of the | zero  |crc32c | body
 *  | "BWEAVE" + 2  |  u16  |reader | body      u32 |  u32  |  u32  |
 *  +---------------+-------+-------+---------------+-------+-------+--------- - -
 * </pre>
 *
 * Little-endian. The checksum covers the bytes [0, 20) and the body. It is checked first, so that a
 * flipped bit is CORRUPT and never mistaken for a newer format; a {@code min reader} above {@link
 * #FORMAT} under a good checksum is TOO_NEW. {@code format} is who wrote it, for people.
 */
public final class Envelope {
  /** The format this program writes and the newest it reads. */
  public static final int FORMAT = 1;

  /** Length of the envelope: where the body begins. */
  public static final int HEADER_BYTES = 24;

  static final int MAGIC_OFFSET = 0;
  static final int FORMAT_OFFSET = 8;
  static final int MIN_READER_OFFSET = 10;
  static final int LENGTH_OFFSET = 12;
  static final int ZERO_OFFSET = 16;
  static final int CRC_OFFSET = 20;

  private Envelope() {}

  /** What an object is; part of its magic. */
  enum Content {
    STREAM("BWEAVEst", Limits.STREAM_BYTES),
    VERSION("BWEAVEmv", Limits.VERSION_BYTES),
    SNAPSHOT("BWEAVEsn", Limits.SNAPSHOT_BYTES),
    SEGMENT("BWEAVEix", Limits.SEGMENT_BYTES),
    ANNOUNCEMENT("BWEAVEan", Limits.ANNOUNCEMENT_BYTES);

    private final String magic;
    private final int limitBytes;

    Content(String magic, int limitBytes) {
      this.magic = magic;
      this.limitBytes = limitBytes;
    }
  }

  /**
   * Puts a body into its envelope.
   *
   * @param body its first {@code bodyLengthBytes} bytes are the body
   */
  static byte[] seal(Content content, DirectBuffer body, int bodyLengthBytes) {
    if (bodyLengthBytes > content.limitBytes - HEADER_BYTES) {
      throw new BatchWeaveException(
          Kind.LIMIT,
          "object too long to write: content="
              + content
              + " bytes="
              + (HEADER_BYTES + (long) bodyLengthBytes)
              + " limit="
              + content.limitBytes);
    }
    byte[] bytes = new byte[HEADER_BYTES + bodyLengthBytes];
    UnsafeBuffer buffer = new UnsafeBuffer(bytes);
    buffer.putStringWithoutLengthAscii(MAGIC_OFFSET, content.magic);
    buffer.putShort(FORMAT_OFFSET, (short) FORMAT, ByteOrder.LITTLE_ENDIAN);
    buffer.putShort(MIN_READER_OFFSET, (short) FORMAT, ByteOrder.LITTLE_ENDIAN);
    buffer.putInt(LENGTH_OFFSET, bodyLengthBytes, ByteOrder.LITTLE_ENDIAN);
    body.getBytes(0, bytes, HEADER_BYTES, bodyLengthBytes);
    buffer.putInt(CRC_OFFSET, checksum(bytes), ByteOrder.LITTLE_ENDIAN);
    return bytes;
  }

  /** Checks the envelope; the body is what remains, from {@link #HEADER_BYTES} to the end. */
  static WireBounds open(Content content, String object, Bytes bytes) {
    int length = bytes.length();
    WireBounds bounds = WireBounds.of(object, length);
    if (length < HEADER_BYTES) {
      throw bounds.corrupt(0, "shorter than its envelope: bytes=" + length);
    }
    if (length > content.limitBytes) {
      throw bounds.corrupt(0, "too long: bytes=" + length + " limit=" + content.limitBytes);
    }
    byte[] array = bytes.toByteArray();
    bounds.wrap(array);
    UnsafeBuffer buffer = bounds.buffer();
    String magic = new String(array, MAGIC_OFFSET, FORMAT_OFFSET, StandardCharsets.ISO_8859_1);
    if (!magic.equals(content.magic)) {
      throw bounds.corrupt(MAGIC_OFFSET, "wrong magic, not a " + content);
    }
    int bodyLength = buffer.getInt(LENGTH_OFFSET, ByteOrder.LITTLE_ENDIAN);
    if (bodyLength != length - HEADER_BYTES) {
      throw bounds.corrupt(
          LENGTH_OFFSET,
          "length differs: recorded="
              + Integer.toUnsignedString(bodyLength)
              + " found="
              + (length - HEADER_BYTES));
    }
    int crc = buffer.getInt(CRC_OFFSET, ByteOrder.LITTLE_ENDIAN);
    int found = checksum(array);
    if (crc != found) {
      throw bounds.corrupt(
          CRC_OFFSET, String.format("checksum differs: recorded=%08x found=%08x", crc, found));
    }
    int minReader = buffer.getShort(MIN_READER_OFFSET, ByteOrder.LITTLE_ENDIAN) & 0xFFFF;
    if (minReader > FORMAT) {
      throw bounds.tooNew(MIN_READER_OFFSET, "needs a reader of format " + minReader);
    }
    if (minReader < 1 || buffer.getInt(ZERO_OFFSET, ByteOrder.LITTLE_ENDIAN) != 0) {
      throw bounds.corrupt(MIN_READER_OFFSET, "reserved or impossible values in the envelope");
    }
    return bounds;
  }

  private static int checksum(byte[] bytes) {
    CRC32C crc = new CRC32C();
    crc.update(bytes, 0, CRC_OFFSET);
    crc.update(bytes, HEADER_BYTES, bytes.length - HEADER_BYTES);
    return (int) crc.getValue();
  }
}
