package io.batchweave.client;

import java.util.Objects;
import org.agrona.concurrent.NanoClock;

/**
 * Drives machines against real stores on one thread: carries out their requests, brings them the
 * answers and the time. One agent may serve any number of clients.
 */
public final class MachineAgent implements AutoCloseable {
  private final NanoClock nanoClock;

  private MachineAgent(NanoClock nanoClock) {
    this.nanoClock = nanoClock;
  }

  /**
   * Starts an agent.
   *
   * @param name of its thread
   * @param nanoClock the monotonic clock
   */
  public static MachineAgent start(String name, NanoClock nanoClock) {
    Objects.requireNonNull(name);
    return new MachineAgent(nanoClock);
  }

  /** The monotonic clock. */
  public NanoClock nanoClock() {
    return nanoClock;
  }

  /** Stops the thread after the machines have been stopped; idempotent. */
  @Override
  public void close() {
    throw new UnsupportedOperationException();
  }
}
