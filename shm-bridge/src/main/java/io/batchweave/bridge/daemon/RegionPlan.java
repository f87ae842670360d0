package io.batchweave.bridge.daemon;

import io.batchweave.format.TgbLayout;
import io.batchweave.read.SlicePlan;
import java.util.ArrayList;
import java.util.List;

/**
 * What a node needs of one step and where it goes in the step's region: the table first, then each
 * range of the data object, as it lies there, from a multiple of 64 on.
 *
 * @param step the step
 * @param key the data object
 * @param parts in ascending order of their place
 * @param lengthBytes bytes used of the region; the region itself ends on a page
 */
record RegionPlan(long step, String key, List<Part> parts, long lengthBytes) {
  /** Bytes of the table's head and of each of its entries. */
  static final int TABLE_UNIT_BYTES = 64;

  /** Copies the list. */
  RegionPlan {
    parts = List.copyOf(parts);
  }

  /**
   * One request.
   *
   * @param range what to read of the object, and the slices in it
   * @param offset its first byte, from the start of the region
   */
  record Part(SlicePlan.Range range, long offset) {}

  /** Places the ranges of a step. */
  static RegionPlan of(long step, SlicePlan plan) {
    long slices = plan.ranges().stream().mapToLong(range -> range.slices().size()).sum();
    long end = TABLE_UNIT_BYTES * (1 + slices);
    List<Part> parts = new ArrayList<>(plan.ranges().size());
    for (SlicePlan.Range range : plan.ranges()) {
      long offset = end + TgbLayout.paddingAfter(end);
      parts.add(new Part(range, offset));
      end = offset + range.bytes().lengthBytes();
    }
    return new RegionPlan(step, plan.key(), parts, end);
  }

  /** Number of slices. */
  int sliceCount() {
    return parts.stream().mapToInt(part -> part.range().slices().size()).sum();
  }
}
