package io.batchweave.log;

import java.util.UUID;

/**
 * Random bits as state: SplitMix64 (Steele, Lea, Flood, <i>Fast splittable pseudorandom number
 * generators</i>, OOPSLA 2014). Seeded from outside, copied and fingerprinted with the machine that
 * owns it. Not thread-safe, not for secrets.
 */
public final class Bits {
  private long state;

  /**
   * Creates a sequence.
   *
   * @param seed any value; the same seed gives the same sequence
   */
  public Bits(long seed) {
    this.state = seed;
  }

  /** The next 64 bits. */
  public long nextLong() {
    state += 0x9E3779B97F4A7C15L;
    long z = state;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }

  /** The next 128 bits as an identifier. */
  public UUID nextId() {
    return new UUID(nextLong(), nextLong());
  }

  /**
   * A value in {@code [0, bound)}.
   *
   * @param bound exclusive, positive
   */
  public long nextBelow(long bound) {
    if (bound <= 0) {
      throw new IllegalArgumentException("bound must be positive: bound=" + bound);
    }
    return Long.remainderUnsigned(nextLong(), bound);
  }

  /** A copy that goes on with the same sequence. */
  public Bits copy() {
    return new Bits(state);
  }

  /** The whole state, for fingerprints. */
  public long fingerprint() {
    return state;
  }
}
