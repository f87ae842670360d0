package io.batchweave.bridge.rank;

/** What asking for the next step came to. */
public enum TakeOutcome {
  /** The step is leased. */
  STEP,
  /** The step can never be served in this generation; the ring says why. */
  FAILED,
  /** The stream is sealed and all of it was taken. */
  END,
  /** The generation is closed: attach again and ask for the same step. */
  CLOSED,
  /** The daemon's lock is gone: look for the next daemon, then attach again. */
  DAEMON_GONE,
  /** The deadline passed. */
  TIMEOUT,
  /** The step does not fit because of leases of this very rank: release some. */
  RING_HELD
}
