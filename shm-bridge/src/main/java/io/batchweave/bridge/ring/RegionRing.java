package io.batchweave.bridge.ring;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The space of a ring: regions in the order of their allocation, each contiguous, at a cursor that
 * wraps. The tail advances in order; an empty ring restarts at its beginning.
 *
 * <pre>
 *   linear    start ....[tail ===== cursor).............. end
 *   wrapped   start ====cursor)...[tail ==========]...... end
 * </pre>
 *
 * <p>Allocation happens in a window, usually the whole ring; leases of former generations that lie
 * outside the window are listed apart, and when the last of them is gone the window is the whole
 * ring again.
 */
final class RegionRing {
  /** A step of a former generation that a rank took and has not released. */
  record Lease(Id128 reader, long generation, long n, long offset, long lengthBytes) {}

  /** An interval of the ring. */
  record Gap(long offset, long lengthBytes) {}

  /** One region. */
  static final class Item {
    final StepRegion region;

    /** Number in the current generation, or -1 when only leases or nobody keeps it. */
    long n;

    /** The fetch that may still write, or -1. */
    long fetchId = -1;

    boolean published;
    final List<Lease> leases = new ArrayList<>();

    Item(StepRegion region, long n) {
      this.region = region;
      this.n = n;
    }

    Item copy() {
      Item copy = new Item(region, n);
      copy.fetchId = fetchId;
      copy.published = published;
      copy.leases.addAll(leases);
      return copy;
    }
  }

  private static final Comparator<Lease> BY_OFFSET =
      Comparator.comparingLong(Lease::offset)
          .thenComparing(Lease::reader)
          .thenComparingLong(Lease::generation);

  private final long lengthBytes;
  private final Deque<Item> items = new ArrayDeque<>();
  private final List<Lease> outside = new ArrayList<>();
  private long windowStart;
  private long windowEnd;
  private long cursor;
  private boolean wrapped;

  RegionRing(long lengthBytes) {
    this.lengthBytes = lengthBytes;
    this.windowEnd = lengthBytes;
  }

  /**
   * One as a daemon left it.
   *
   * @param lengthBytes of the whole ring
   * @param window where regions are allocated
   * @param cursor behind the latest region
   * @param items in the order of allocation, all within the window, disjoint
   * @param outside leases that lie outside of the window
   */
  static RegionRing restore(
      long lengthBytes, Gap window, long cursor, List<Item> items, List<Lease> outside) {
    RegionRing ring = new RegionRing(lengthBytes);
    ring.items.addAll(items);
    ring.outside.addAll(outside);
    ring.outside.sort(BY_OFFSET);
    ring.windowStart = window.offset();
    ring.windowEnd = window.offset() + window.lengthBytes();
    ring.cursor = cursor;
    ring.wrapped = !items.isEmpty() && items.getFirst().region.offset() >= cursor;
    return ring;
  }

  RegionRing copy() {
    RegionRing copy = new RegionRing(lengthBytes);
    for (Item item : items) {
      copy.items.addLast(item.copy());
    }
    copy.outside.addAll(outside);
    copy.windowStart = windowStart;
    copy.windowEnd = windowEnd;
    copy.cursor = cursor;
    copy.wrapped = wrapped;
    return copy;
  }

  /** In the order of allocation. */
  Iterable<Item> items() {
    return items;
  }

  @Nullable Item first() {
    return items.peekFirst();
  }

  boolean isEmpty() {
    return items.isEmpty();
  }

  List<Lease> outside() {
    return outside;
  }

  long windowBytes() {
    return windowEnd - windowStart;
  }

  long usedBytes() {
    long used = 0;
    for (Item item : items) {
      used += item.region.lengthBytes();
    }
    long last = -1;
    for (Lease lease : outside) { // by offset; several readers may hold one region
      used += lease.offset() == last ? 0 : lease.lengthBytes();
      last = lease.offset();
    }
    return used;
  }

  /** The offset at which so many bytes fit now, or -1. */
  long place(long bytes) {
    Item first = items.peekFirst();
    if (first == null) {
      return bytes <= windowBytes() ? windowStart : -1;
    }
    long tail = first.region.offset();
    if (wrapped) {
      return tail - cursor >= bytes ? cursor : -1;
    }
    if (windowEnd - cursor >= bytes) {
      return cursor;
    }
    return tail - windowStart >= bytes ? windowStart : -1;
  }

  /** Appends a region at an offset that {@link #place} just said. */
  Item append(StepRegion region, long n) {
    if (items.isEmpty()) {
      wrapped = false;
    } else if (!wrapped && region.offset() != cursor) {
      wrapped = true;
    }
    Item item = new Item(region, n);
    items.addLast(item);
    cursor = region.offset() + region.lengthBytes();
    return item;
  }

  /** Takes the first region away. */
  void removeFirst() {
    Item removed = items.removeFirst();
    Item next = items.peekFirst();
    if (next == null || next.region.offset() < removed.region.offset()) {
      wrapped = false;
    }
    widen();
  }

  /** Drops a lease wherever it lies. */
  void release(Lease lease) {
    for (Item item : items) {
      item.leases.remove(lease);
    }
    outside.remove(lease);
    widen();
  }

  private void widen() {
    if (outside.isEmpty() && !wrapped) {
      windowStart = 0;
      windowEnd = lengthBytes;
    }
  }

  /** The largest interval without a lease, whoever else is in it. */
  Gap largestGap(List<Lease> leases) {
    List<Lease> byOffset = new ArrayList<>(leases);
    byOffset.sort(Comparator.comparingLong(Lease::offset));
    Gap largest = new Gap(0, 0);
    long end = 0;
    for (Lease lease : byOffset) {
      if (lease.offset() - end > largest.lengthBytes()) {
        largest = new Gap(end, lease.offset() - end);
      }
      end = Math.max(end, lease.offset() + lease.lengthBytes());
    }
    return lengthBytes - end > largest.lengthBytes() ? new Gap(end, lengthBytes - end) : largest;
  }

  /** Every lease, by offset. */
  List<Lease> leasesByOffset() {
    List<Lease> leases = new ArrayList<>(outside);
    for (Item item : items) {
      leases.addAll(item.leases);
    }
    leases.sort(BY_OFFSET);
    return leases;
  }

  /** Makes the largest gap the window and forgets every region; the leases stay. */
  void restartInLargestGap() {
    List<Lease> leases = leasesByOffset();
    Gap gap = largestGap(leases);
    items.clear();
    outside.clear();
    outside.addAll(leases);
    windowStart = gap.offset();
    windowEnd = gap.offset() + gap.lengthBytes();
    cursor = windowStart;
    wrapped = false;
    widen();
  }

  void hash(StateHash hash, boolean isOpen) {
    boolean isEmpty = items.isEmpty(); // then it restarts at the window's beginning
    hash.add(windowStart).add(windowEnd).add(items.size());
    hash.addWhere(!isEmpty, cursor).addWhere(!isEmpty, wrapped ? 1 : 0);
    for (Item item : items) {
      boolean isStep = item.n >= 0;
      hash.addWhere(isStep, item.region.step());
      hash.add(item.region.offset()).add(item.region.lengthBytes());
      hash.add(item.n).fetch(item.fetchId).addWhere(isStep && isOpen, item.published ? 1 : 0);
      hash.leases(item.leases);
    }
    hash.leases(outside);
  }
}
