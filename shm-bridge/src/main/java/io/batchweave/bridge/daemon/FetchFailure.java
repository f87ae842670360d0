package io.batchweave.bridge.daemon;

import io.batchweave.bridge.ring.FailReason;

/**
 * Why a region will never be there.
 *
 * @param reason a permanent cause
 * @param text what, where, how often it was tried, and the remedy
 */
record FetchFailure(FailReason reason, String text) {
  /** No failure. */
  static final FetchFailure NONE = new FetchFailure(FailReason.CORRUPT, "");
}
