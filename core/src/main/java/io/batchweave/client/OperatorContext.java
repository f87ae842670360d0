package io.batchweave.client;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.store.ObjectStore;
import java.security.SecureRandom;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.NanoClock;
import org.agrona.concurrent.SystemNanoClock;
import org.jspecify.annotations.Nullable;

/** Configures an {@code Operator}. Setters return this; {@link #conclude} checks, once. */
public final class OperatorContext {
  private @Nullable ObjectStore store;
  private @Nullable MachineAgent agent;
  private NanoClock nanoClock = SystemNanoClock.INSTANCE;
  private long seed = new SecureRandom().nextLong();
  private long timeoutNs = TimeUnit.SECONDS.toNanos(60);
  private boolean concluded;

  /** Creates one with the defaults. */
  public OperatorContext() {}

  /**
   * Checks the settings; called by {@code Operator.open}.
   *
   * @throws BatchWeaveException {@link Kind#CONFIG} naming the setting
   */
  public OperatorContext conclude() {
    if (concluded) {
      throw new IllegalStateException("a context belongs to one operator");
    }
    concluded = true;
    store();
    return this;
  }

  /** The stream's root. */
  public ObjectStore store() {
    if (store == null) {
      throw new BatchWeaveException(
          Kind.CONFIG, "bad operator setting: store=null; set the object store of the stream");
    }
    return store;
  }

  /**
   * Sets the stream's root; it stays open when the operator closes.
   *
   * @param store the store
   */
  public OperatorContext store(ObjectStore store) {
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
   * @param agent the agent; it stays running when the operator closes
   */
  public OperatorContext agent(MachineAgent agent) {
    this.agent = agent;
    return this;
  }

  /** The monotonic clock. */
  public NanoClock nanoClock() {
    return nanoClock;
  }

  /**
   * Sets the monotonic clock of an own agent and of the deadlines.
   *
   * @param nanoClock the clock
   */
  public OperatorContext nanoClock(NanoClock nanoClock) {
    this.nanoClock = nanoClock;
    return this;
  }

  /** The seed of ids and spacing. */
  public long seed() {
    return seed;
  }

  /**
   * Sets the seed; two operators must never share one.
   *
   * @param seed any value
   */
  public OperatorContext seed(long seed) {
    this.seed = seed;
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
