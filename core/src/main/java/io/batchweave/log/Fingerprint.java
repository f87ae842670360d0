package io.batchweave.log;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Mixes values into 64-bit hashes for the fingerprints of states and machines. They hold within one
 * process: the hash of an enum is its identity.
 */
public final class Fingerprint {
  private Fingerprint() {}

  /**
   * A hash of values in this order. Records, strings, boxes and lists of them hash by value.
   *
   * @param values anything whose {@code hashCode} is by value; null counts as 0
   */
  public static long of(@Nullable Object... values) {
    long hash = 0x9E3779B97F4A7C15L;
    for (Object value : values) {
      hash = add(hash, value instanceof Long l ? l : Objects.hashCode(value));
    }
    return hash;
  }

  /**
   * Mixes one more value into a hash.
   *
   * @param hash so far
   * @param value what is added
   */
  public static long add(long hash, long value) {
    long z = (hash ^ value) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 29)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 32);
  }
}
