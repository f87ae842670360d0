package io.batchweave.bridge.rank;

import io.batchweave.BatchWeaveException;
import java.io.Serial;

/** The next step does not fit because this rank holds too many steps: release some. */
public final class RingHeldException extends BatchWeaveException {
  @Serial private static final long serialVersionUID = 1L;

  private final long steps;
  private final long bytes;

  RingHeldException(long steps, long bytes, String message) {
    super(Kind.LIMIT, message);
    this.steps = steps;
    this.bytes = bytes;
  }

  /** Steps that this rank holds. */
  public long steps() {
    return steps;
  }

  /** Bytes of the step that does not fit. */
  public long bytes() {
    return bytes;
  }
}
