package io.batchweave.bridge.rank;

import io.batchweave.BatchWeaveException;
import java.io.Serial;

/** The step did not come before the deadline; the message quotes the daemon's last trouble. */
public final class StepTimeoutException extends BatchWeaveException {
  @Serial private static final long serialVersionUID = 1L;

  StepTimeoutException(String message) {
    super(Kind.RETRYABLE, message);
  }
}
