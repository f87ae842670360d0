package io.batchweave.client;

import io.batchweave.format.Limits;
import io.batchweave.log.State;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Configures a {@link StreamReader}. Setters return this; {@link #conclude} checks, once. */
public final class ReaderContext extends ClientContext<ReaderContext> {
  private int windowSteps = 2 * Limits.SEGMENT_STEPS;
  private long openTimeoutNs = TimeUnit.SECONDS.toNanos(60);
  private Consumer<State> onState = state -> {};

  /** Creates one with the defaults. */
  public ReaderContext() {
    super("reader");
  }

  @Override
  ReaderContext self() {
    return this;
  }

  @Override
  void check() {
    if (windowSteps < 1 || windowSteps > 64 * Limits.SEGMENT_STEPS) {
      throw config("windowSteps", windowSteps, "give 1 to " + 64 * Limits.SEGMENT_STEPS);
    }
  }

  /** Steps from the wanted one on whose entries are kept ready. */
  public int windowSteps() {
    return windowSteps;
  }

  /**
   * Sets how many entries are kept ready ahead; while so many are, the head is not polled.
   *
   * @param windowSteps at least 1
   */
  public ReaderContext windowSteps(int windowSteps) {
    this.windowSteps = windowSteps;
    return this;
  }

  /** Longest wait of {@link StreamReader#open}, nanoseconds. */
  public long openTimeoutNs() {
    return openTimeoutNs;
  }

  /**
   * Sets the longest wait of {@link StreamReader#open}.
   *
   * @param openTimeoutNs nanoseconds
   */
  public ReaderContext openTimeoutNs(long openTimeoutNs) {
    this.openTimeoutNs = openTimeoutNs;
    return this;
  }

  /** Told of each state at the head. */
  public Consumer<State> onState() {
    return onState;
  }

  /**
   * Sets who is told of each state at the head, on the agent's thread and before {@link
   * StreamReader#lookup} shows it.
   *
   * @param onState must not block, nor keep the state
   */
  public ReaderContext onState(Consumer<State> onState) {
    this.onState = onState;
    return this;
  }
}
