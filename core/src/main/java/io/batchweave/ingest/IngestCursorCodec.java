package io.batchweave.ingest;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.ingest.IngestCursor.Consumed;
import io.batchweave.ingest.IngestCursor.Position;
import io.batchweave.ingest.IngestCursor.Settings;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The bytes of a cursor.
 *
 * <pre>
 *  "BWIC" version=1 | textField | shard index, count | eight totals | files | position
 *
 *  number    unsigned LEB128
 *  text      number of bytes, UTF-8
 *  files     number, then each: bytes shared with the path before, rest of the path as text,
 *            consumed length, fingerprint (8 bytes, little-endian)
 *  position  0, or file index + 1, record offset, record tokens
 * </pre>
 *
 * Paths are front-coded, so that a few hundred files of one tree fit into the 4 KiB that travel in
 * the block itself.
 */
final class IngestCursorCodec {
  private static final byte[] MAGIC = "BWIC".getBytes(StandardCharsets.US_ASCII);
  private static final int VERSION = 1;
  private static final int PATH_BYTES = 8192;
  private static final int FILE_MIN_BYTES = 11;

  private IngestCursorCodec() {}

  static Bytes encode(IngestCursor cursor) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.writeBytes(MAGIC);
    out.write(VERSION);
    text(out, cursor.settings().textField().getBytes(StandardCharsets.UTF_8), 0);
    number(out, cursor.settings().shard().index());
    number(out, cursor.settings().shard().count());
    IngestTotals totals = cursor.totals();
    number(out, totals.batches());
    number(out, totals.files());
    number(out, totals.documents());
    number(out, totals.samples());
    number(out, totals.tokens());
    number(out, totals.paddingTokens());
    number(out, totals.bytes());
    number(out, totals.skippedLines());
    number(out, cursor.files().size());
    byte[] previous = new byte[0];
    for (Consumed file : cursor.files()) {
      byte[] path = file.path().getBytes(StandardCharsets.UTF_8);
      int shared = shared(previous, path);
      number(out, shared);
      text(out, path, shared);
      number(out, file.lengthBytes());
      byte[] fingerprint =
          ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(file.fingerprint()).array();
      out.writeBytes(fingerprint);
      previous = path;
    }
    Position position = cursor.position();
    if (position == null) {
      number(out, 0);
    } else {
      number(out, position.fileIndex() + 1L);
      number(out, position.recordOffset());
      number(out, position.recordTokens());
    }
    return Bytes.wrap(out.toByteArray());
  }

  private static int shared(byte[] previous, byte[] path) {
    int limit = Math.min(previous.length, path.length);
    int shared = 0;
    while (shared < limit && previous[shared] == path[shared]) {
      shared++;
    }
    return shared;
  }

  private static void text(ByteArrayOutputStream out, byte[] bytes, int from) {
    number(out, bytes.length - from);
    out.write(bytes, from, bytes.length - from);
  }

  private static void number(ByteArrayOutputStream out, long value) {
    long rest = value;
    while ((rest & ~0x7FL) != 0) {
      out.write((int) ((rest & 0x7F) | 0x80));
      rest >>>= 7;
    }
    out.write((int) rest);
  }

  /**
   * Decodes a cursor.
   *
   * @param bytes the source state of the producer
   * @throws BatchWeaveException CONFIG if it is not an ingest's, TOO_NEW, CORRUPT
   */
  static IngestCursor decode(Bytes bytes) {
    ByteBuffer in = bytes.asByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
    byte[] magic = new byte[MAGIC.length];
    if (in.remaining() > MAGIC.length) {
      in.get(magic);
    }
    if (!Arrays.equals(magic, MAGIC)) {
      throw new BatchWeaveException(
          Kind.CONFIG,
          "this producer's source state was not written by ingest: bytes="
              + bytes.length()
              + "; use another producer id");
    }
    int version = in.get() & 0xFF;
    if (version > VERSION) {
      throw new BatchWeaveException(
          Kind.TOO_NEW, "ingest cursor of version " + version + "; upgrade this program");
    }
    return new Decoding(in).cursor(version);
  }

  /** Reads one cursor, every length checked. */
  private static final class Decoding {
    private final ByteBuffer in;

    Decoding(ByteBuffer in) {
      this.in = in;
    }

    IngestCursor cursor(int version) {
      require(version == VERSION, "impossible version");
      String textField = utf8(bytes(PATH_BYTES, 0, new byte[0]));
      long index = number();
      long count = number();
      require(count >= 1 && count < 1_000_000 && index < count, "impossible shard");
      IngestTotals totals =
          new IngestTotals(
              number(), number(), number(), number(), number(), number(), number(), number());
      List<Consumed> files = files();
      long current = number();
      Position position = null;
      if (current > 0) {
        require(current <= files.size(), "position in no file");
        position = new Position((int) current - 1, number(), number());
        require(
            position.recordOffset() <= files.get(position.fileIndex()).lengthBytes(),
            "position behind what was consumed");
      }
      require(!in.hasRemaining(), "bytes left over");
      return new IngestCursor(
          new Settings(textField, new Shard((int) index, (int) count)), files, position, totals);
    }

    private List<Consumed> files() {
      long count = number();
      require(count <= in.remaining() / FILE_MIN_BYTES, "files do not fit");
      List<Consumed> files = new ArrayList<>((int) count);
      byte[] previous = new byte[0];
      for (int i = 0; i < count; i++) {
        long shared = number();
        require(shared <= previous.length, "path shares more than there is");
        byte[] path = bytes(PATH_BYTES, (int) shared, previous);
        long length = number();
        require(in.remaining() >= 8, "fingerprint does not fit");
        files.add(new Consumed(utf8(path), length, in.getLong()));
        previous = path;
      }
      return files;
    }

    private byte[] bytes(int limit, int shared, byte[] previous) {
      long length = number();
      require(length <= in.remaining() && shared + length <= limit, "text does not fit");
      byte[] bytes = new byte[shared + (int) length];
      System.arraycopy(previous, 0, bytes, 0, shared);
      in.get(bytes, shared, (int) length);
      return bytes;
    }

    private String utf8(byte[] bytes) {
      try {
        return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
      } catch (CharacterCodingException e) {
        throw corrupt("text is not UTF-8");
      }
    }

    private long number() {
      long value = 0;
      for (int shift = 0; shift < 63; shift += 7) {
        require(in.hasRemaining(), "number does not fit");
        byte next = in.get();
        value |= (next & 0x7FL) << shift;
        if (next >= 0) {
          return value;
        }
      }
      throw corrupt("number too large");
    }

    private void require(boolean condition, String what) {
      if (!condition) {
        throw corrupt(what);
      }
    }

    private BatchWeaveException corrupt(String what) {
      return new BatchWeaveException(
          Kind.CORRUPT,
          "corrupt ingest cursor: object=source state offset="
              + in.position()
              + ": "
              + what
              + "; begin again with another producer id");
    }
  }
}
