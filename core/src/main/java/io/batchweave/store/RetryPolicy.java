package io.batchweave.store;

import java.util.concurrent.TimeUnit;

/**
 * How often and how long a {@link RetryingStore} tries.
 *
 * @param maxAttempts most times a request is sent, at least 1
 * @param firstBackoffNs longest wait before the second attempt; doubles with every further one
 * @param maxBackoffNs longest wait of all
 * @param deadlineNs no attempt starts later than this after the first
 */
public record RetryPolicy(
    int maxAttempts, long firstBackoffNs, long maxBackoffNs, long deadlineNs) {
  /** Eight attempts, 50 ms doubling to 5 s, within a minute. */
  public static final RetryPolicy DEFAULT =
      new RetryPolicy(
          8,
          TimeUnit.MILLISECONDS.toNanos(50),
          TimeUnit.SECONDS.toNanos(5),
          TimeUnit.SECONDS.toNanos(60));

  /** Checks the values. */
  public RetryPolicy {
    if (maxAttempts < 1 || firstBackoffNs < 1 || maxBackoffNs < firstBackoffNs || deadlineNs < 0) {
      throw new IllegalArgumentException(
          "not a retry policy: maxAttempts="
              + maxAttempts
              + " firstBackoffNs="
              + firstBackoffNs
              + " maxBackoffNs="
              + maxBackoffNs
              + " deadlineNs="
              + deadlineNs);
    }
  }

  /**
   * The wait after a failed attempt: between half of the doubled backoff and all of it.
   *
   * @param failedAttempts attempts made, at least 1
   * @param random uniform in [0, 1)
   */
  long backoffNs(int failedAttempts, double random) {
    int doublings = Math.min(failedAttempts - 1, 32);
    long ceiling =
        firstBackoffNs > maxBackoffNs >> doublings ? maxBackoffNs : firstBackoffNs << doublings;
    return ceiling / 2 + (long) (random * (ceiling - ceiling / 2));
  }
}
