package io.batchweave.log;

/**
 * How eagerly a {@link LogFollower} reads.
 *
 * @param maxInFlight requests at once, 8 by design; a 503 halves what is used of it
 * @param minPollNs shortest time between two looks for a new version
 * @param maxPollNs longest time between two looks for a new version
 * @param minBackoffNs first pause after a failed request
 * @param maxBackoffNs longest pause after failed requests
 * @param listAfterHits so many new versions in a row found by GET, then LIST
 * @param cachedSegments segments kept of those read from the store
 */
public record FollowPolicy(
    int maxInFlight,
    long minPollNs,
    long maxPollNs,
    long minBackoffNs,
    long maxBackoffNs,
    int listAfterHits,
    int cachedSegments) {
  /** What every client uses. */
  public static final FollowPolicy DEFAULT =
      new FollowPolicy(8, 10_000_000L, 1_000_000_000L, 50_000_000L, 10_000_000_000L, 8, 4);

  /** Checks the ranges. */
  public FollowPolicy {
    if (maxInFlight < 1
        || minPollNs < 1
        || maxPollNs < minPollNs
        || minBackoffNs < 1
        || maxBackoffNs < minBackoffNs
        || listAfterHits < 1
        || cachedSegments < 1) {
      throw new IllegalArgumentException("policy out of range: maxInFlight=" + maxInFlight);
    }
  }
}
