package io.batchweave.log;

/**
 * How often a follower looks for a new version: about twice per version at the rate at which they
 * come, slower while nothing does. How long nothing came says little of how fast versions come once
 * they do: a pause counts for no more than the longest wait.
 */
final class Pace {
  /** Hits in a row after which a follower is behind and does not wait. */
  private static final int BEHIND_HITS = 3;

  private static final long MAX_HINT_MILLIS = 10_000;

  private final FollowPolicy policy;
  private long intervalNs;
  private long lastArrivalNs;
  private long nextLookNs = Machine.AT_ONCE;
  private int hits;

  Pace(FollowPolicy policy) {
    this.policy = policy;
    this.intervalNs = policy.minPollNs();
  }

  Pace(Pace other) {
    this.policy = other.policy;
    this.intervalNs = other.intervalNs;
    this.lastArrivalNs = other.lastArrivalNs;
    this.nextLookNs = other.nextLookNs;
    this.hits = other.hits;
  }

  /** Until versions arrive, their committers say how long it takes from one to the next. */
  void hint(int paceMillis) {
    if (lastArrivalNs != 0) {
      return;
    }
    intervalNs = Math.clamp(paceMillis, 1, MAX_HINT_MILLIS) * 1_000_000L;
  }

  /** A look found a version. */
  void hit(long nowNs, Bits bits) {
    hits++;
    if (lastArrivalNs != 0) {
      intervalNs = (3 * intervalNs + Math.min(nowNs - lastArrivalNs, longestIntervalNs())) / 4;
    }
    lastArrivalNs = nowNs;
    nextLookNs = hits >= BEHIND_HITS ? nowNs : nowNs + waitNs(intervalNs, bits);
  }

  /** A look found nothing. */
  void miss(long nowNs, Bits bits) {
    hits = 0;
    lastArrivalNs = lastArrivalNs == 0 ? nowNs : lastArrivalNs;
    nextLookNs = nowNs + waitNs(Math.max(intervalNs, nowNs - lastArrivalNs), bits);
  }

  /** A LIST said where the head is. */
  void listed() {
    hits = 0;
  }

  int hits() {
    return hits;
  }

  long nextLookNs() {
    return nextLookNs;
  }

  /** Whatever is longer makes no wait longer. */
  private long longestIntervalNs() {
    return 2 * policy.maxPollNs();
  }

  private long waitNs(long expectedNs, Bits bits) {
    long waitNs = Math.clamp(expectedNs / 2, policy.minPollNs(), policy.maxPollNs());
    return waitNs - bits.nextBelow(waitNs / 8 + 1);
  }

  long fingerprint() {
    return Fingerprint.of(intervalNs, lastArrivalNs, nextLookNs, hits);
  }
}
