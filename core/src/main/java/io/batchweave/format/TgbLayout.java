package io.batchweave.format;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.sbe.FooterDecoder;
import io.batchweave.format.sbe.FooterEncoder;
import io.batchweave.format.sbe.MessageHeaderEncoder;
import io.batchweave.store.ByteRange;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;
import org.agrona.ExpandableArrayBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Where the parts of a TGB lie, and its footer and trailer.
 *
 * <pre>
 *  0                64·a             64·b                              lengthBytes = 64·n
 *  +-----------+----+-----------+----+-----------------+--------+---------+
 *  | slice 0   |zero| slice 1   |zero| … zero          | footer | trailer |
 *  +-----------+----+-----------+----+-----------------+--------+---------+
 *
 *  trailer:  0                4                8                16
 *            +----------------+----------------+----------------+
 *            | footer length  | crc32c of the  | "BWEAVEtg"     |
 *            |            u32 | footer     u32 |                |
 *            +----------------+----------------+----------------+
 * </pre>
 *
 * Slices stand in grid order, each at the first multiple of 64 after the one before, so lengths
 * determine offsets and offsets are not recorded. A TGB's length is a multiple of 64: several stand
 * back to back in an object, and the footers lead from the object's end to its start.
 */
public final class TgbLayout {
  /** Slices and TGBs begin at multiples of this. */
  public static final int ALIGNMENT = 64;

  /** Length of the trailer. */
  public static final int TRAILER_BYTES = 16;

  private static final int FOOTER_LENGTH_OFFSET = 0;
  private static final int FOOTER_CRC_OFFSET = 4;
  private static final int MAGIC_OFFSET = 8;
  private static final byte[] MAGIC = "BWEAVEtg".getBytes(StandardCharsets.US_ASCII);
  private static final int SLICE_BYTES = FooterDecoder.SlicesDecoder.sbeBlockLength();

  private TgbLayout() {}

  /**
   * What follows the last slice.
   *
   * @param bytes padding after the last slice, footer and trailer
   * @param lengthBytes length of the whole TGB
   * @param footerLengthBytes length of the footer
   * @param footerCrc32c checksum of the footer
   */
  public record Tail(Bytes bytes, long lengthBytes, int footerLengthBytes, int footerCrc32c) {}

  /**
   * What the last 16 bytes of a TGB say.
   *
   * @param footerLengthBytes length of the footer
   * @param footerCrc32c checksum of the footer
   */
  public record Trailer(int footerLengthBytes, int footerCrc32c) {}

  /**
   * Zero bytes between a slice and what follows it.
   *
   * @param lengthBytes length of the slice
   */
  public static int paddingAfter(long lengthBytes) {
    return (int) (-lengthBytes & (ALIGNMENT - 1));
  }

  /**
   * Length of a TGB.
   *
   * @param slicesEnd end of the last slice, counted from the start of the TGB
   * @param footerLengthBytes length of the footer
   */
  static long lengthBytes(long slicesEnd, int footerLengthBytes) {
    long end = slicesEnd + footerLengthBytes + TRAILER_BYTES;
    return end + paddingAfter(end);
  }

  /**
   * Gives every slice its offset.
   *
   * @param tgbOffset first byte of the TGB in the data object, a multiple of 64
   * @param slices in grid order; their offsets are ignored
   * @return the slices with their offsets in the data object
   */
  public static List<SliceEntry> place(long tgbOffset, List<SliceEntry> slices) {
    List<SliceEntry> placed = new ArrayList<>(slices.size());
    long offset = tgbOffset;
    for (SliceEntry slice : slices) {
      placed.add(
          new SliceEntry(
              offset,
              slice.lengthBytes(),
              slice.crc32c(),
              slice.microBatches(),
              slice.samples(),
              slice.tokens()));
      offset += slice.lengthBytes() + paddingAfter(slice.lengthBytes());
    }
    return placed;
  }

  /**
   * Encodes what follows the slices; the same whatever the TGB's place in the object.
   *
   * @param grid what the TGB is cut for
   * @param slices in grid order, one per coordinate; their offsets are ignored
   * @param origin at most {@link Limits#ORIGIN_BYTES} of UTF-8
   * @throws BatchWeaveException CONFIG if slices are missing, differ in micro-batches or are out of
   *     a limit
   */
  public static Tail tail(Grid grid, List<SliceEntry> slices, String origin) {
    List<SliceEntry> placed = place(0, slices);
    Rules.require(
        placed.size() == grid.sliceCount()
            ? null
            : "slices do not fill the grid: slices="
                + placed.size()
                + " grid="
                + grid.dp()
                + "x"
                + grid.cp());
    Rules.require(Rules.slices(0, placed));
    Rules.require(Rules.origin(origin));
    SliceEntry last = placed.getLast();
    long slicesEnd = last.offset() + last.lengthBytes();
    byte[] text = origin.getBytes(StandardCharsets.UTF_8);
    int footerLength =
        WireBounds.HEADER_BYTES
            + FooterDecoder.BLOCK_LENGTH
            + 6
            + placed.size() * SLICE_BYTES
            + 2
            + text.length;
    long length = lengthBytes(slicesEnd, footerLength);
    ExpandableArrayBuffer footer = new ExpandableArrayBuffer(footerLength);
    FooterEncoder encoder =
        new FooterEncoder().wrapAndApplyHeader(footer, 0, new MessageHeaderEncoder());
    encoder
        .dp(grid.dp())
        .cp(grid.cp())
        .lengthBytes(length)
        .microBatches(placed.getFirst().microBatches());
    FooterEncoder.SlicesEncoder group = encoder.slicesCount(placed.size());
    for (SliceEntry slice : placed) {
      group
          .next()
          .lengthBytes(slice.lengthBytes())
          .crc32c(slice.crc32c())
          .samples(slice.samples())
          .tokens(slice.tokens());
    }
    encoder.putOrigin(text, 0, text.length);
    byte[] bytes = new byte[(int) (length - slicesEnd)];
    int footerAt = bytes.length - TRAILER_BYTES - footerLength;
    footer.getBytes(0, bytes, footerAt, footerLength);
    int crc = crc32c(ByteBuffer.wrap(bytes, footerAt, footerLength));
    UnsafeBuffer trailer = new UnsafeBuffer(bytes, footerAt + footerLength, TRAILER_BYTES);
    trailer.putInt(FOOTER_LENGTH_OFFSET, footerLength, ByteOrder.LITTLE_ENDIAN);
    trailer.putInt(FOOTER_CRC_OFFSET, crc, ByteOrder.LITTLE_ENDIAN);
    trailer.putBytes(MAGIC_OFFSET, MAGIC);
    return new Tail(Bytes.wrap(bytes), length, footerLength, crc);
  }

  /**
   * The entry of a TGB; its slices are inlined up to {@link Limits#INLINE_SLICES}.
   *
   * @param object the data object
   * @param seq the TGB's seq
   * @param tgbOffset first byte of the TGB in the object, a multiple of 64
   * @param slices in grid order; their offsets are ignored
   * @param tail as {@link #tail} returned it
   */
  public static TgbEntry entry(
      DataObject object, long seq, long tgbOffset, List<SliceEntry> slices, Tail tail) {
    return new TgbEntry(
        object,
        seq,
        tgbOffset,
        tail.lengthBytes(),
        tail.footerLengthBytes(),
        tail.footerCrc32c(),
        slices.size() > Limits.INLINE_SLICES ? List.of() : place(tgbOffset, slices));
  }

  /**
   * Where the footer lies in the data object.
   *
   * @param entry the TGB
   */
  public static ByteRange footerRange(TgbEntry entry) {
    return new ByteRange(
        entry.offset() + entry.lengthBytes() - TRAILER_BYTES - entry.footerLengthBytes(),
        entry.footerLengthBytes());
  }

  /**
   * Decodes a footer that was read at {@link #footerRange}. Offsets in messages count from the
   * start of the footer.
   *
   * @param objectName for messages
   * @param entry the TGB
   * @param footer the footer's bytes
   * @throws BatchWeaveException CORRUPT, TOO_NEW
   */
  public static TgbFooter decodeFooter(String objectName, TgbEntry entry, Bytes footer) {
    WireBounds bounds =
        WireBounds.of(
            objectName + "[footer at " + footerRange(entry).offset() + "]", footer.length());
    if (footer.length() != entry.footerLengthBytes()) {
      throw bounds.corrupt(
          0, "length differs: recorded=" + entry.footerLengthBytes() + " found=" + footer.length());
    }
    int crc = crc32c(footer.asByteBuffer());
    if (crc != entry.footerCrc32c()) {
      throw bounds.corrupt(
          0,
          String.format("checksum differs: recorded=%08x found=%08x", entry.footerCrc32c(), crc));
    }
    bounds.wrap(footer.toByteArray());
    TgbFooter decoded = footer(bounds, entry.offset());
    if (decoded.lengthBytes() != entry.lengthBytes()) {
      throw bounds.corrupt(
          0,
          "TGB length differs: recorded="
              + entry.lengthBytes()
              + " found="
              + decoded.lengthBytes());
    }
    bounds.accept(
        0,
        Rules.tgbLength(
            entry.lengthBytes(), entry.offset(), decoded.slices(), entry.footerLengthBytes()));
    if (!entry.slices().isEmpty() && !entry.slices().equals(decoded.slices())) {
      throw bounds.corrupt(0, "slices differ from those of the manifest");
    }
    return decoded;
  }

  private static TgbFooter footer(WireBounds bounds, long tgbOffset) {
    int body =
        bounds.message(
            0,
            FooterDecoder.TEMPLATE_ID,
            FooterDecoder.BLOCK_LENGTH,
            FooterDecoder.SCHEMA_ID,
            FooterDecoder.SCHEMA_VERSION);
    FooterDecoder decoder = new FooterDecoder();
    decoder.wrap(bounds.buffer(), body, FooterDecoder.BLOCK_LENGTH, FooterDecoder.SCHEMA_VERSION);
    bounds.accept(body, Rules.grid(decoder.dp(), decoder.cp()));
    Grid grid = new Grid((int) decoder.dp(), (int) decoder.cp());
    int groupAt = decoder.limit();
    int count = bounds.group(groupAt, SLICE_BYTES, SLICE_BYTES, Limits.SLICES, "slices");
    if (count != grid.sliceCount()) {
      throw bounds.corrupt(groupAt, "slices do not fill the grid: slices=" + count);
    }
    List<SliceEntry> slices = new ArrayList<>(count);
    FooterDecoder.SlicesDecoder group = decoder.slices();
    for (int i = 0; i < count; i++) {
      group.next();
      slices.add(
          new SliceEntry(
              0,
              group.lengthBytes(),
              group.crc32c(),
              decoder.microBatches(),
              group.samples(),
              group.tokens()));
    }
    slices = place(tgbOffset, slices);
    bounds.accept(groupAt, Rules.slices(tgbOffset, slices));
    int textAt = decoder.limit();
    int length = bounds.text(textAt, "origin");
    bounds.requireEnd(textAt + 2 + length);
    String origin = text(bounds, textAt + 2, length);
    bounds.accept(textAt, Rules.origin(origin));
    return new TgbFooter(grid, decoder.lengthBytes(), slices, origin);
  }

  private static String text(WireBounds bounds, int at, int length) {
    byte[] bytes = new byte[length];
    bounds.buffer().getBytes(at, bytes);
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException e) {
      throw bounds.corrupt(at, "origin is not UTF-8");
    }
  }

  /**
   * Decodes a trailer.
   *
   * @param objectName for messages
   * @param offset where it was read in the object, for messages
   * @param trailer its bytes
   * @throws BatchWeaveException CORRUPT
   */
  public static Trailer decodeTrailer(String objectName, long offset, Bytes trailer) {
    byte[] bytes = trailer.toByteArray();
    if (bytes.length != TRAILER_BYTES) {
      throw corruptTrailer(objectName, offset, "length differs: found=" + bytes.length);
    }
    UnsafeBuffer buffer = new UnsafeBuffer(bytes);
    for (int i = 0; i < MAGIC.length; i++) {
      if (bytes[MAGIC_OFFSET + i] != MAGIC[i]) {
        throw corruptTrailer(objectName, offset + MAGIC_OFFSET, "wrong magic");
      }
    }
    int length = buffer.getInt(FOOTER_LENGTH_OFFSET, ByteOrder.LITTLE_ENDIAN);
    if (length < 1 || length > Limits.FOOTER_BYTES) {
      throw corruptTrailer(
          objectName, offset, "impossible footer: bytes=" + Integer.toUnsignedString(length));
    }
    return new Trailer(length, buffer.getInt(FOOTER_CRC_OFFSET, ByteOrder.LITTLE_ENDIAN));
  }

  private static BatchWeaveException corruptTrailer(String object, long offset, String what) {
    return new BatchWeaveException(
        Kind.CORRUPT,
        "corrupt trailer: object="
            + object
            + " offset="
            + offset
            + ": "
            + what
            + "; restore the object");
  }

  private static int crc32c(ByteBuffer bytes) {
    CRC32C crc = new CRC32C();
    crc.update(bytes);
    return (int) crc.getValue();
  }
}
