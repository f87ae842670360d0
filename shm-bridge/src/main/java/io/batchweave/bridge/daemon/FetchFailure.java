package io.batchweave.bridge.daemon;

import io.batchweave.BatchWeaveException.Kind;

/**
 * Why a region will never be there.
 *
 * @param kind what the rank must do
 * @param text what, where, how often it was tried, and the remedy
 */
record FetchFailure(Kind kind, String text) {
  /** No failure. */
  static final FetchFailure NONE = new FetchFailure(Kind.RETRYABLE, "");
}
