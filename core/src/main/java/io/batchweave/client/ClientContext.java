package io.batchweave.client;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.store.ObjectStore;
import java.security.SecureRandom;
import org.agrona.concurrent.NanoClock;
import org.agrona.concurrent.SystemNanoClock;
import org.jspecify.annotations.Nullable;

/**
 * What every client of a stream is configured with. Setters return the context; {@link #conclude}
 * checks, once.
 *
 * @param <C> the context's own type
 */
public abstract sealed class ClientContext<C extends ClientContext<C>>
    permits CollectorContext, OperatorContext, ProducerContext, ReaderContext {
  private final String client;
  private @Nullable ObjectStore store;
  private @Nullable MachineAgent agent;
  private NanoClock nanoClock = SystemNanoClock.INSTANCE;
  private long seed = new SecureRandom().nextLong();
  private boolean concluded;

  /** Creates one for a client of this name. */
  ClientContext(String client) {
    this.client = client;
  }

  /** This. */
  abstract C self();

  /** Checks what only this kind of client has. */
  void check() {}

  /**
   * Checks the settings; called when the client is opened.
   *
   * @throws BatchWeaveException {@link Kind#CONFIG} naming the setting
   */
  public final C conclude() {
    if (concluded) {
      throw new IllegalStateException("a context belongs to one " + client);
    }
    concluded = true;
    store();
    check();
    return self();
  }

  final BatchWeaveException config(String name, @Nullable Object value, String remedy) {
    return new BatchWeaveException(
        Kind.CONFIG, "bad " + client + " setting: " + name + "=" + value + "; " + remedy);
  }

  /** The stream's root. */
  public final ObjectStore store() {
    if (store == null) {
      throw config("store", null, "set the object store of the stream");
    }
    return store;
  }

  /**
   * Sets the stream's root; it stays open when the client closes.
   *
   * @param store the store
   */
  public final C store(ObjectStore store) {
    this.store = store;
    return self();
  }

  /** The shared agent, null for one of its own. */
  public final @Nullable MachineAgent agent() {
    return agent;
  }

  /**
   * Shares an agent (and its thread) instead of starting one.
   *
   * @param agent the agent; it stays running when the client closes
   */
  public final C agent(MachineAgent agent) {
    this.agent = agent;
    return self();
  }

  /** The monotonic clock. */
  public final NanoClock nanoClock() {
    return nanoClock;
  }

  /**
   * Sets the monotonic clock of an own agent and of the deadlines.
   *
   * @param nanoClock the clock
   */
  public final C nanoClock(NanoClock nanoClock) {
    this.nanoClock = nanoClock;
    return self();
  }

  /** The seed of ids, names and spacing. */
  public final long seed() {
    return seed;
  }

  /**
   * Sets the seed; two clients, and two incarnations of a producer, must never share one.
   *
   * @param seed any value
   */
  public final C seed(long seed) {
    this.seed = seed;
    return self();
  }
}
