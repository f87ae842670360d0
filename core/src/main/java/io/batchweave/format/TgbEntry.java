package io.batchweave.format;

import java.util.List;

/**
 * One TGB as a produce block, a snapshot and a segment record it.
 *
 * @param object the data object that holds it
 * @param seq the producer's number of this TGB, within the object's [firstSeq, lastSeq]
 * @param offset first byte of the TGB in the object, a multiple of 64
 * @param lengthBytes length of the TGB: slices, footer and trailer, a multiple of 64
 * @param footerLengthBytes length of the footer, which ends where the trailer begins
 * @param footerCrc32c checksum of the footer
 * @param slices in grid order, offsets counted from the start of the object; empty when there are
 *     more than {@link Limits#INLINE_SLICES}: then the footer has them
 */
public record TgbEntry(
    DataObject object,
    long seq,
    long offset,
    long lengthBytes,
    int footerLengthBytes,
    int footerCrc32c,
    List<SliceEntry> slices) {
  /** Copies the list. */
  public TgbEntry {
    slices = List.copyOf(slices);
  }
}
