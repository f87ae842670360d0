package io.batchweave.bridge.ring;

/** How a fetch ended; in each case nothing can write to the region any more. */
public enum FetchOutcome {
  /** Every slice is there, length and checksum are right. */
  COMPLETE,
  /** It was cancelled. */
  CANCELLED,
  /** It failed in a way that stays. */
  FAILED
}
