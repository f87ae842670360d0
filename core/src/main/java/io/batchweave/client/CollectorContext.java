package io.batchweave.client;

import io.batchweave.retain.CollectPolicy;
import io.batchweave.retain.CollectReport;
import io.batchweave.retain.CollectorMachine;
import java.util.function.BiConsumer;

/** Configures a {@link Collector}. Setters return this; {@link #conclude} checks, once. */
public final class CollectorContext extends ClientContext<CollectorContext> {
  private CollectPolicy policy = CollectPolicy.DEFAULT;
  private BiConsumer<CollectorMachine.Phase, CollectReport> progress = (phase, report) -> {};

  /** Creates one with the defaults. */
  public CollectorContext() {
    super("collector");
  }

  @Override
  CollectorContext self() {
    return this;
  }

  /** How it works. */
  public CollectPolicy policy() {
    return policy;
  }

  /**
   * Sets how it works.
   *
   * @param policy the policy
   */
  public CollectorContext policy(CollectPolicy policy) {
    this.policy = policy;
    return this;
  }

  /** Hears how far a run is. */
  public BiConsumer<CollectorMachine.Phase, CollectReport> progress() {
    return progress;
  }

  /**
   * Sets who hears how far a run is, on the caller's thread, some times a second.
   *
   * @param progress takes what is being done and what was done so far
   */
  public CollectorContext progress(BiConsumer<CollectorMachine.Phase, CollectReport> progress) {
    this.progress = progress;
    return this;
  }
}
