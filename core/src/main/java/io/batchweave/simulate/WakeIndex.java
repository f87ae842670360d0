package io.batchweave.simulate;

import java.util.Arrays;

/**
 * Whose turn comes first, among very many: a tournament tree over wake times. Setting one costs the
 * logarithm of their number, asking nothing; of equal times the lowest index comes first.
 */
final class WakeIndex {
  private static final long NEVER = Long.MAX_VALUE;

  // wakes[size + i] is the time of i; wakes[n] is the earlier of its children 2n and 2n + 1.
  private long[] wakes = {NEVER, NEVER};
  private int size = 1;

  /**
   * Sets when a participant is due.
   *
   * @param index of the participant, from 0
   * @param wakeNs {@code Long.MAX_VALUE} for never
   */
  void set(int index, long wakeNs) {
    while (index >= size) {
      grow();
    }
    int node = size + index;
    wakes[node] = wakeNs;
    for (node /= 2; node >= 1; node /= 2) {
      long earlier = Math.min(wakes[2 * node], wakes[2 * node + 1]);
      if (wakes[node] == earlier) {
        return;
      }
      wakes[node] = earlier;
    }
  }

  private void grow() {
    long[] larger = new long[4 * size];
    Arrays.fill(larger, NEVER);
    System.arraycopy(wakes, size, larger, 2 * size, size);
    size *= 2;
    wakes = larger;
    for (int node = size - 1; node >= 1; node--) {
      wakes[node] = Math.min(wakes[2 * node], wakes[2 * node + 1]);
    }
  }

  /** When the first is due; {@code Long.MAX_VALUE} if nobody ever is. */
  long earliestNs() {
    return wakes[1];
  }

  /** Who is due at {@link #earliestNs}. */
  int earliest() {
    int node = 1;
    while (node < size) {
      node = wakes[2 * node] == wakes[node] ? 2 * node : 2 * node + 1;
    }
    return node - size;
  }
}
