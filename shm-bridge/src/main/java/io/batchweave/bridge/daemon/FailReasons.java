package io.batchweave.bridge.daemon;

import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.bridge.ring.FailReason;

/** How a kind of error is told to the ranks of a step that failed for good. */
final class FailReasons {
  private FailReasons() {}

  static FailReason of(Kind kind) {
    return switch (kind) {
      case RECLAIMED -> FailReason.RECLAIMED;
      case LIMIT -> FailReason.LIMIT;
      case CONFIG -> FailReason.CONFIG;
      case TOO_NEW -> FailReason.TOO_NEW;
      case FENCED -> FailReason.FENCED;
      case CORRUPT, RETRYABLE, END_OF_STREAM, UNKNOWN_OUTCOME -> FailReason.CORRUPT;
    };
  }
}
