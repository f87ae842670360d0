package io.batchweave.produce;

import io.batchweave.format.Limits;

/**
 * Which batches share a data object, and when it goes up. Pure: what lies ready and what is on its
 * way in, decision out; no clock takes part.
 *
 * <p>A batch waits for nothing but the store itself: while few small objects are unfinished it goes
 * at once, alone if it came alone; while they are on their way, what comes gathers behind them. So
 * the slower the store and the faster the source, the larger the objects, and the number of
 * requests is bounded by the store's latency, not by the number of batches.
 */
final class PackPolicy {
  /** Bytes of an object that holds several batches, at most: one part of an upload. */
  static final long FULL_BYTES = 8L << 20;

  /**
   * Bytes from which an object goes at once where an upload is free: what its request costs beside
   * its transfer is small.
   */
  static final long RIPE_BYTES = 1L << 20;

  /** Objects below {@link #RIPE_BYTES} that could still have grown, on their way at a time. */
  static final int MAX_UNRIPE = 2;

  /** Length of the entries of one object: it fits into one block with its source state. */
  static final int ENTRIES_BYTES = Limits.BLOCK_BYTES - 2 * Limits.INLINE_SOURCE_STATE_BYTES;

  private PackPolicy() {}

  /**
   * Whether a batch joins those that wait for the same object.
   *
   * @param count batches that wait, at least 1
   * @param lengthBytes their length together
   * @param entriesBytes length of their entries together
   * @param batchBytes length of the batch
   * @param entryBytes length of its entry
   */
  static boolean joins(
      int count, long lengthBytes, int entriesBytes, long batchBytes, int entryBytes) {
    return count < Limits.BLOCK_ENTRIES
        && lengthBytes + batchBytes <= FULL_BYTES
        && entriesBytes + entryBytes <= ENTRIES_BYTES;
  }

  /**
   * Whether an object below this size waits for more: counts against {@link #MAX_UNRIPE} until it
   * is there.
   *
   * @param closed whether no batch can join any more
   * @param lengthBytes of the object
   */
  static boolean unripe(boolean closed, long lengthBytes) {
    return !closed && lengthBytes < RIPE_BYTES;
  }

  /**
   * Whether the batches that wait go up now, given that an upload is free.
   *
   * @param closed whether no batch can join any more
   * @param lengthBytes their length together
   * @param unfinishedUnripe objects that were {@link #unripe} when sent and are not there yet
   */
  static boolean goes(boolean closed, long lengthBytes, int unfinishedUnripe) {
    return !unripe(closed, lengthBytes) || unfinishedUnripe < MAX_UNRIPE;
  }
}
