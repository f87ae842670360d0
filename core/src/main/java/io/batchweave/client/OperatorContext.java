package io.batchweave.client;

import java.util.concurrent.TimeUnit;

/** Configures an {@code Operator}. Setters return this; {@link #conclude} checks, once. */
public final class OperatorContext extends ClientContext<OperatorContext> {
  private long timeoutNs = TimeUnit.SECONDS.toNanos(60);

  /** Creates one with the defaults. */
  public OperatorContext() {
    super("operator");
  }

  @Override
  OperatorContext self() {
    return this;
  }

  /** Longest wait for a decision, nanoseconds. */
  public long timeoutNs() {
    return timeoutNs;
  }

  /**
   * Sets the longest wait for a decision.
   *
   * @param timeoutNs nanoseconds
   */
  public OperatorContext timeoutNs(long timeoutNs) {
    this.timeoutNs = timeoutNs;
    return this;
  }
}
