package io.batchweave.commit;

import io.batchweave.commit.CommitPolicy.Step;

/** When to decide again, if nothing happens before. */
final class Alarm {
  private static final long NEVER = Long.MAX_VALUE;

  private long atNs = NEVER;

  Alarm() {}

  Alarm(Alarm other) {
    this.atNs = other.atNs;
  }

  /** Forgets what was set. */
  void clear() {
    atNs = NEVER;
  }

  /** Waits, until then at the latest. */
  Step waitUntil(long untilNs) {
    atNs = Math.min(atNs, untilNs);
    return Step.WAIT;
  }

  /** {@code Long.MAX_VALUE} if only events matter. */
  long atNs() {
    return atNs;
  }
}
