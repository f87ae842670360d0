package io.batchweave.format;

import java.util.List;

/**
 * What the footer of a TGB says.
 *
 * @param grid what it was cut for
 * @param lengthBytes length of the TGB: slices, footer and trailer, a multiple of 64
 * @param slices in grid order, offsets counted from the start of the data object
 * @param origin where the data came from, for people; at most {@link Limits#ORIGIN_BYTES} of UTF-8
 */
public record TgbFooter(Grid grid, long lengthBytes, List<SliceEntry> slices, String origin) {
  /** Copies the list. */
  public TgbFooter {
    slices = List.copyOf(slices);
  }
}
