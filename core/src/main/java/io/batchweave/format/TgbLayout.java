package io.batchweave.format;

import io.batchweave.Bytes;
import io.batchweave.store.ByteRange;
import java.util.List;

/** Where the parts of a TGB lie, and its footer and trailer. */
@SuppressWarnings("DoNotCallSuggester")
public final class TgbLayout {
  /** Slices and TGBs begin at multiples of this. */
  public static final int ALIGNMENT = 64;

  /** Length of the trailer. */
  public static final int TRAILER_BYTES = 16;

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
   * Gives every slice its offset.
   *
   * @param tgbOffset first byte of the TGB in the data object, a multiple of 64
   * @param slices in grid order; their offsets are ignored
   * @return the slices with their offsets in the data object
   */
  public static List<SliceEntry> place(long tgbOffset, List<SliceEntry> slices) {
    throw new UnsupportedOperationException(tgbOffset + slices.toString());
  }

  /**
   * Encodes what follows the slices; the same whatever the TGB's place in the object.
   *
   * @param grid what the TGB is cut for
   * @param slices in grid order
   * @param origin at most {@link Limits#ORIGIN_BYTES} of UTF-8
   */
  public static Tail tail(Grid grid, List<SliceEntry> slices, String origin) {
    throw new UnsupportedOperationException(grid + slices.toString() + origin);
  }

  /**
   * The entry of a TGB; its slices are inlined up to {@link Limits#INLINE_SLICES}.
   *
   * @param object the data object
   * @param seq the TGB's seq
   * @param tgbOffset first byte of the TGB in the object
   * @param slices as {@link #place} returned them or with any offsets
   * @param tail as {@link #tail} returned it
   */
  public static TgbEntry entry(
      DataObject object, long seq, long tgbOffset, List<SliceEntry> slices, Tail tail) {
    throw new UnsupportedOperationException(object + slices.toString() + seq + tgbOffset + tail);
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
   * Decodes a footer that was read at {@link #footerRange}.
   *
   * @param objectName for messages
   * @param entry the TGB
   * @param footer the footer's bytes
   * @throws io.batchweave.BatchWeaveException CORRUPT, TOO_NEW
   */
  public static TgbFooter decodeFooter(String objectName, TgbEntry entry, Bytes footer) {
    throw new UnsupportedOperationException(objectName + entry + footer);
  }

  /**
   * Decodes a trailer.
   *
   * @param objectName for messages
   * @param offset where it was read in the object, for messages
   * @param trailer its bytes
   * @throws io.batchweave.BatchWeaveException CORRUPT, TOO_NEW
   */
  public static Trailer decodeTrailer(String objectName, long offset, Bytes trailer) {
    throw new UnsupportedOperationException(objectName + offset + trailer);
  }
}
