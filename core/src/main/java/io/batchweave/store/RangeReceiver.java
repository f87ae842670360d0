package io.batchweave.store;

import java.nio.ByteBuffer;

/**
 * Whom a range is read for. Either the store writes it into the file and says how far it has come,
 * so that the bytes can be looked at meanwhile; or it lends the bytes to a receiver that takes
 * them, which puts them in their place itself. Called by one thread at a time, before the future
 * completes; must not block.
 */
@FunctionalInterface
public interface RangeReceiver {
  /** Wants to know nothing. */
  RangeReceiver NOBODY = writtenBytes -> {};

  /**
   * An attempt begins, and nothing is being written: what was said or lent before counts no more.
   * Called for every attempt; must not throw.
   */
  default void onBegin() {}

  /**
   * Whether it puts bytes in their place itself, if the store has them in memory. Asked for every
   * attempt, which then lends all of the range or writes all of it.
   */
  default boolean takesBytes() {
    return false;
  }

  /**
   * The next bytes of the range, from its start to its end, lent until this returns. What this
   * throws ends the attempt and is why the future fails.
   *
   * @param offset where they begin in the range
   * @param bytes direct; those from its position to its limit
   */
  default void onBytes(long offset, ByteBuffer bytes) {
    throw new IllegalStateException("nobody takes the bytes: offset=" + offset);
  }

  /**
   * The first bytes of the range lie in the file and are not written again by this attempt. A hint:
   * a store may say little or nothing. Must not throw.
   *
   * @param writtenBytes of the range, from its start
   */
  void onWritten(long writtenBytes);
}
