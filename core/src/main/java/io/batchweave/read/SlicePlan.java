package io.batchweave.read;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.format.Grid;
import io.batchweave.format.Limits;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SliceEntry;
import io.batchweave.format.TgbEntry;
import io.batchweave.format.TgbLayout;
import io.batchweave.store.ByteRange;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.TreeSet;

/**
 * What has to be fetched of one TGB for some ranks: slices that lie next to each other are one
 * range, so that a node whose ranks are adjacent needs one request.
 *
 * @param key the data object
 * @param ranges in ascending order, not overlapping
 */
public record SlicePlan(String key, List<Range> ranges) {
  /** Copies the list. */
  public SlicePlan {
    ranges = List.copyOf(ranges);
  }

  /**
   * One request.
   *
   * @param bytes the range in the data object; padding between its slices included
   * @param slices the slices in it, in grid order
   */
  public record Range(ByteRange bytes, List<PlannedSlice> slices) {
    /** Copies the list. */
    public Range {
      slices = List.copyOf(slices);
    }
  }

  /**
   * One slice inside a range.
   *
   * @param dp data-parallel index in the grid the TGB was cut for
   * @param cp context-parallel index
   * @param offsetInRange its first byte, counted from the start of the range
   * @param entry length, checksum and counts
   */
  public record PlannedSlice(int dp, int cp, long offsetInRange, SliceEntry entry) {}

  /**
   * Checks whether ranks of one grid can read TGBs cut for another: the context-parallel sizes are
   * equal and the stream's data-parallel size is a multiple of the ranks'.
   *
   * @param cut the stream's grid
   * @param ranks the grid of the ranks
   * @throws BatchWeaveException {@link Kind#CONFIG} with both sizes
   */
  public static void requireReadable(Grid cut, Grid ranks) {
    if (cut.cp() != ranks.cp() || cut.dp() % ranks.dp() != 0) {
      throw new BatchWeaveException(
          Kind.CONFIG,
          "grids do not fit: stream="
              + cut.dp()
              + "x"
              + cut.cp()
              + " ranks="
              + ranks.dp()
              + "x"
              + ranks.cp()
              + "; cp must be equal and the stream's dp a multiple of the ranks' dp");
    }
  }

  /**
   * The slices of one rank, in the order in which it consumes them: {@code cut.dp() / ranks.dp()}
   * consecutive ones of its context-parallel index.
   *
   * @param cut the stream's grid
   * @param ranks the grid of the ranks
   * @param rank the rank's place in {@code ranks}
   * @return places in {@code cut}
   * @throws BatchWeaveException {@link Kind#CONFIG} if the grids do not fit
   */
  public static List<Coordinate> slicesOf(Grid cut, Grid ranks, Coordinate rank) {
    requireReadable(cut, ranks);
    ranks.sliceIndex(rank.dp(), rank.cp());
    int each = cut.dp() / ranks.dp();
    List<Coordinate> slices = new ArrayList<>(each);
    for (int i = 0; i < each; i++) {
      slices.add(new Coordinate(rank.dp() * each + i, rank.cp()));
    }
    return slices;
  }

  /**
   * Plans the requests for all ranks of a node.
   *
   * @param entry the TGB, with its complete slice table
   * @param cut the stream's grid
   * @param ranks the grid of the ranks
   * @param places the ranks' places in {@code ranks}; equal ones share their slices
   * @throws BatchWeaveException {@link Kind#CONFIG} if the grids do not fit, {@link Kind#CORRUPT}
   *     if the entry's slice table is not that of the grid
   */
  public static SlicePlan of(TgbEntry entry, Grid cut, Grid ranks, Collection<Coordinate> places) {
    if (entry.slices().size() != cut.sliceCount()) {
      throw new BatchWeaveException(
          Kind.CORRUPT,
          "slice table of another grid: object="
              + ObjectNames.data(entry.object())
              + " slices="
              + entry.slices().size()
              + " expected="
              + cut.sliceCount()
              + "; up to "
              + Limits.INLINE_SLICES
              + " are in the entry, more in the footer");
    }
    TreeSet<Integer> wanted = new TreeSet<>();
    for (Coordinate place : places) {
      for (Coordinate slice : slicesOf(cut, ranks, place)) {
        wanted.add(cut.sliceIndex(slice.dp(), slice.cp()));
      }
    }
    return new SlicePlan(ObjectNames.data(entry.object()), merge(entry, cut, wanted));
  }

  private static List<Range> merge(TgbEntry entry, Grid cut, TreeSet<Integer> wanted) {
    List<Range> ranges = new ArrayList<>();
    List<PlannedSlice> slices = new ArrayList<>();
    long start = 0;
    long end = 0;
    for (int index : wanted) {
      SliceEntry slice = entry.slices().get(index);
      if (!slices.isEmpty() && slice.offset() != end + TgbLayout.paddingAfter(end)) {
        ranges.add(new Range(new ByteRange(start, end - start), slices));
        slices.clear();
      }
      if (slices.isEmpty()) {
        start = slice.offset();
      }
      slices.add(
          new PlannedSlice(index / cut.cp(), index % cut.cp(), slice.offset() - start, slice));
      end = slice.offset() + slice.lengthBytes();
    }
    if (!slices.isEmpty()) {
      ranges.add(new Range(new ByteRange(start, end - start), slices));
    }
    return ranges;
  }
}
