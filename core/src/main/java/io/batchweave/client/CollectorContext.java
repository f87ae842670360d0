package io.batchweave.client;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.retain.CollectPolicy;
import io.batchweave.retain.CollectReport;
import io.batchweave.retain.CollectorMachine;
import io.batchweave.store.ObjectStore;
import java.security.SecureRandom;
import java.util.function.BiConsumer;
import org.agrona.concurrent.NanoClock;
import org.agrona.concurrent.SystemNanoClock;
import org.jspecify.annotations.Nullable;

/** Configures a {@link Collector}. Setters return this; {@link #conclude} checks, once. */
public final class CollectorContext {
  private @Nullable ObjectStore store;
  private @Nullable MachineAgent agent;
  private NanoClock nanoClock = SystemNanoClock.INSTANCE;
  private long seed = new SecureRandom().nextLong();
  private CollectPolicy policy = CollectPolicy.DEFAULT;
  private BiConsumer<CollectorMachine.Phase, CollectReport> progress = (phase, report) -> {};
  private boolean concluded;

  /** Creates one with the defaults. */
  public CollectorContext() {}

  /**
   * Checks the settings; called by {@code Collector.open}.
   *
   * @throws BatchWeaveException {@link Kind#CONFIG} naming the setting
   */
  public CollectorContext conclude() {
    if (concluded) {
      throw new IllegalStateException("a context belongs to one collector");
    }
    concluded = true;
    store();
    return this;
  }

  /** The stream's root. */
  public ObjectStore store() {
    if (store == null) {
      throw new BatchWeaveException(
          Kind.CONFIG, "bad collector setting: store=null; set the object store of the stream");
    }
    return store;
  }

  /**
   * Sets the stream's root; it stays open when the collector closes.
   *
   * @param store the store
   */
  public CollectorContext store(ObjectStore store) {
    this.store = store;
    return this;
  }

  /** The shared agent, null for one of its own. */
  public @Nullable MachineAgent agent() {
    return agent;
  }

  /**
   * Shares an agent (and its thread) instead of starting one.
   *
   * @param agent the agent; it stays running when the collector closes
   */
  public CollectorContext agent(MachineAgent agent) {
    this.agent = agent;
    return this;
  }

  /** The monotonic clock. */
  public NanoClock nanoClock() {
    return nanoClock;
  }

  /**
   * Sets the monotonic clock.
   *
   * @param nanoClock the clock
   */
  public CollectorContext nanoClock(NanoClock nanoClock) {
    this.nanoClock = nanoClock;
    return this;
  }

  /** The seed of ids and spacing. */
  public long seed() {
    return seed;
  }

  /**
   * Sets the seed; two collectors must never share one.
   *
   * @param seed any value
   */
  public CollectorContext seed(long seed) {
    this.seed = seed;
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
