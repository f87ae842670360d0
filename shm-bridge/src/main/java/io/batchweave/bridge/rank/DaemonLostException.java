package io.batchweave.bridge.rank;

import io.batchweave.BatchWeaveException;
import java.io.Serial;

/** No daemon serves this rank, and none appeared before the deadline. The same call may succeed. */
public final class DaemonLostException extends BatchWeaveException {
  @Serial private static final long serialVersionUID = 1L;

  DaemonLostException(String message) {
    super(Kind.RETRYABLE, message);
  }

  DaemonLostException(String message, Throwable cause) {
    super(Kind.RETRYABLE, message, cause);
  }
}
