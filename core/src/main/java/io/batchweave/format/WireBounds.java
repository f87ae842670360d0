package io.batchweave.format;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.format.sbe.MessageHeaderDecoder;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import org.agrona.concurrent.UnsafeBuffer;
import org.jspecify.annotations.Nullable;

/**
 * The bounds of the bytes being decoded: every length, count and offset in them is checked here
 * before a flyweight or an allocation relies on it, and every complaint names the object and the
 * offset. Positions count from the start of the object.
 */
final class WireBounds {
  /** Length of a message header. */
  static final int HEADER_BYTES = MessageHeaderDecoder.ENCODED_LENGTH;

  private static final int GROUP_HEADER_BYTES = 6;

  private final String object;
  private final int end;
  private final UnsafeBuffer buffer;

  private WireBounds(String object, int end, UnsafeBuffer buffer) {
    this.object = object;
    this.end = end;
    this.buffer = buffer;
  }

  static WireBounds of(String object, int length) {
    return new WireBounds(object, length, new UnsafeBuffer(0, 0));
  }

  /** The bounds of a part. */
  WireBounds part(int from, int length) {
    require(from, length, "part");
    return new WireBounds(object, from + length, buffer);
  }

  void wrap(byte[] bytes) {
    buffer.wrap(bytes);
  }

  UnsafeBuffer buffer() {
    return buffer;
  }

  int end() {
    return end;
  }

  BatchWeaveException corrupt(int at, String what) {
    return new BatchWeaveException(
        Kind.CORRUPT,
        "corrupt: object="
            + object
            + " offset="
            + at
            + ": "
            + what
            + "; nothing can be said about what follows, restore the object");
  }

  BatchWeaveException tooNew(int at, String what) {
    return new BatchWeaveException(
        Kind.TOO_NEW,
        "too new: object="
            + object
            + " offset="
            + at
            + ": "
            + what
            + "; this program reads up to format "
            + Envelope.FORMAT
            + ", upgrade it");
  }

  /** Refuses what a rule complains about. */
  void accept(int at, @Nullable String problem) {
    if (problem != null) {
      throw corrupt(at, problem);
    }
  }

  void require(int at, long length, String what) {
    if (length < 0 || at < 0 || at + length > end) {
      throw corrupt(at, what + " does not fit: needs=" + length + " left=" + (end - at));
    }
  }

  /** Refuses bytes after the last field. */
  void requireEnd(int at) {
    if (at != end) {
      throw corrupt(at, "bytes left over: left=" + (end - at));
    }
  }

  /** The template id of the message at a position, whatever it is. */
  int templateId(int at) {
    require(at, HEADER_BYTES, "message header");
    return buffer.getShort(at + 2, ByteOrder.LITTLE_ENDIAN) & 0xFFFF;
  }

  /** Checks a message's header and fixed part; answers the position of the fixed part. */
  int message(int at, int templateId, int blockLength, int schemaId, int schemaVersion) {
    int found = templateId(at);
    int schema = buffer.getShort(at + 4, ByteOrder.LITTLE_ENDIAN) & 0xFFFF;
    int version = buffer.getShort(at + 6, ByteOrder.LITTLE_ENDIAN) & 0xFFFF;
    if (schema != schemaId) {
      throw corrupt(at + 4, "wrong schema: found=" + schema);
    }
    if (found != templateId) {
      throw corrupt(at + 2, "wrong message: found=" + found + " expected=" + templateId);
    }
    if (version > schemaVersion) {
      throw tooNew(at + 6, "message of schema version " + version);
    }
    int length = buffer.getShort(at, ByteOrder.LITTLE_ENDIAN) & 0xFFFF;
    if (version < 1 || length != blockLength) {
      throw corrupt(
          at,
          "wrong fixed part: version="
              + version
              + " length="
              + length
              + " expected="
              + blockLength);
    }
    require(at + HEADER_BYTES, blockLength, "fixed part of message " + templateId);
    return at + HEADER_BYTES;
  }

  /**
   * Checks the header of a group before its flyweight is wrapped.
   *
   * @param minElementBytes what an element takes at least: its fixed part, headers and prefixes
   * @return the number of elements, which fit
   */
  int group(int at, int blockLength, int minElementBytes, int limit, String what) {
    require(at, GROUP_HEADER_BYTES, "header of group " + what);
    int length = buffer.getShort(at, ByteOrder.LITTLE_ENDIAN) & 0xFFFF;
    if (length != blockLength) {
      throw corrupt(
          at, "wrong element of group " + what + ": length=" + length + " expected=" + blockLength);
    }
    long count = buffer.getInt(at + 2, ByteOrder.LITTLE_ENDIAN) & 0xFFFF_FFFFL;
    if (count > limit) {
      throw corrupt(at + 2, "too many " + what + ": count=" + count + " limit=" + limit);
    }
    require(at + GROUP_HEADER_BYTES, count * minElementBytes, "group " + what);
    return (int) count;
  }

  /** Checks the fixed part of an element before the flyweight moves to it. */
  void element(int at, int blockLength, String what) {
    require(at, blockLength, "element of group " + what);
  }

  /** Checks a name; answers it. */
  String name(int at, String what) {
    require(at, 1, "length of " + what);
    int length = buffer.getByte(at) & 0xFF;
    require(at + 1, length, what);
    byte[] bytes = new byte[length];
    buffer.getBytes(at + 1, bytes);
    String name = new String(bytes, StandardCharsets.ISO_8859_1);
    accept(at, Rules.name(what, name));
    return name;
  }

  /** The position after a name that was checked. */
  static int afterName(int at, String name) {
    return at + 1 + name.length();
  }

  /** Checks the length of a blob; answers it. The blob begins at {@code at + 4}. */
  int blob(int at, String what) {
    require(at, 4, "length of " + what);
    long length = buffer.getInt(at, ByteOrder.LITTLE_ENDIAN) & 0xFFFF_FFFFL;
    require(at + 4, length, what);
    return (int) length;
  }

  /** Checks the length of a text; answers it. The text begins at {@code at + 2}. */
  int text(int at, String what) {
    require(at, 2, "length of " + what);
    int length = buffer.getShort(at, ByteOrder.LITTLE_ENDIAN) & 0xFFFF;
    require(at + 2, length, what);
    return length;
  }
}
