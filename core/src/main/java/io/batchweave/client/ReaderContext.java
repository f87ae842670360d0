package io.batchweave.client;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.format.Limits;
import io.batchweave.log.State;
import io.batchweave.store.ObjectStore;
import java.security.SecureRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.agrona.concurrent.NanoClock;
import org.agrona.concurrent.SystemNanoClock;
import org.jspecify.annotations.Nullable;

/** Configures a {@link StreamReader}. Setters return this; {@link #conclude} checks, once. */
public final class ReaderContext {
  private @Nullable ObjectStore store;
  private @Nullable MachineAgent agent;
  private NanoClock nanoClock = SystemNanoClock.INSTANCE;
  private long seed = new SecureRandom().nextLong();
  private int windowSteps = 2 * Limits.SEGMENT_STEPS;
  private long openTimeoutNs = TimeUnit.SECONDS.toNanos(60);
  private Consumer<State> onState = state -> {};
  private boolean concluded;

  /** Creates one with the defaults. */
  public ReaderContext() {}

  /**
   * Checks the settings; called by {@link StreamReader#open}.
   *
   * @throws BatchWeaveException {@link Kind#CONFIG} naming the setting
   */
  public ReaderContext conclude() {
    if (concluded) {
      throw new IllegalStateException("a context belongs to one reader");
    }
    concluded = true;
    store();
    if (windowSteps < 1 || windowSteps > 64 * Limits.SEGMENT_STEPS) {
      throw config("windowSteps", windowSteps, "give 1 to " + 64 * Limits.SEGMENT_STEPS);
    }
    return this;
  }

  private static BatchWeaveException config(String name, @Nullable Object value, String remedy) {
    return new BatchWeaveException(
        Kind.CONFIG, "bad reader setting: " + name + "=" + value + "; " + remedy);
  }

  /** The stream's root. */
  public ObjectStore store() {
    if (store == null) {
      throw config("store", null, "set the object store of the stream");
    }
    return store;
  }

  /**
   * Sets the stream's root; it stays open when the reader closes.
   *
   * @param store the store
   */
  public ReaderContext store(ObjectStore store) {
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
   * @param agent the agent; it stays running when the reader closes
   */
  public ReaderContext agent(MachineAgent agent) {
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
  public ReaderContext nanoClock(NanoClock nanoClock) {
    this.nanoClock = nanoClock;
    return this;
  }

  /** The seed of the polling jitter. */
  public long seed() {
    return seed;
  }

  /**
   * Sets the seed.
   *
   * @param seed any value
   */
  public ReaderContext seed(long seed) {
    this.seed = seed;
    return this;
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
