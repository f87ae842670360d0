package io.batchweave.client;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.NanoClock;
import org.jspecify.annotations.Nullable;

/**
 * Drives machines against real stores on one thread: carries out their requests, brings them the
 * answers and the time. One agent may serve any number of clients.
 *
 * <p>Machines are touched by the agent's thread only. The inbox is bounded by what the machines
 * have in flight and by the callers, each of which waits for its own command.
 */
public final class MachineAgent implements AutoCloseable {
  private static final long MAX_IDLE_NS = TimeUnit.SECONDS.toNanos(10);

  private final NanoClock nanoClock;
  private final BlockingQueue<Runnable> inbox = new LinkedBlockingQueue<>();
  private final List<DrivenMachine> machines = new ArrayList<>();
  private final Thread thread;
  private volatile boolean closing;

  private MachineAgent(String name, NanoClock nanoClock) {
    this.nanoClock = nanoClock;
    this.thread = new Thread(this::run, name);
    this.thread.setDaemon(true);
  }

  /**
   * Starts an agent.
   *
   * @param name of its thread
   * @param nanoClock the monotonic clock
   */
  public static MachineAgent start(String name, NanoClock nanoClock) {
    MachineAgent agent = new MachineAgent(name, nanoClock);
    agent.thread.start();
    return agent;
  }

  /** The monotonic clock. */
  public NanoClock nanoClock() {
    return nanoClock;
  }

  /** Starts to drive a machine; its first {@code onTime} follows at once, on the agent's thread. */
  void drive(DrivenMachine driven) {
    execute(() -> {
      machines.add(driven);
      driven.poke();
    });
  }

  /** Runs a command on the agent's thread. */
  void execute(Runnable command) {
    if (closing) {
      throw new BatchWeaveException(
          Kind.CONFIG, "agent closed: thread=" + thread.getName() + "; open a new client");
    }
    inbox.add(command);
  }

  /** Runs a command on the agent's thread, or drops it if the agent has been closed. */
  void executeIfOpen(Runnable command) {
    inbox.add(command);
  }

  /** Stops driving a machine; answers still to come are dropped. */
  void remove(DrivenMachine driven) {
    machines.remove(driven);
  }

  /** Whether the caller is the agent itself and must not wait for it. */
  boolean isAgentThread() {
    return Thread.currentThread() == thread;
  }

  private void run() {
    while (!closing) {
      long nowNs = nanoClock.nanoTime();
      long wakeAtNs = Long.MAX_VALUE;
      for (int i = machines.size() - 1; i >= 0; i--) {
        DrivenMachine driven = machines.get(i);
        if (driven.wakeAtNs() <= nowNs) {
          driven.poke();
        }
        wakeAtNs = Math.min(wakeAtNs, driven.wakeAtNs());
      }
      Runnable command = next(wakeAtNs);
      while (command != null) {
        command.run();
        command = inbox.poll();
      }
    }
    for (DrivenMachine driven : List.copyOf(machines)) {
      driven.fail(
          new BatchWeaveException(
              Kind.UNKNOWN_OUTCOME,
              "agent closed under a client: thread=" + thread.getName() + "; close clients first"));
    }
  }

  private @Nullable Runnable next(long wakeAtNs) {
    long nowNs = nanoClock.nanoTime();
    if (wakeAtNs <= nowNs) {
      return inbox.poll();
    }
    long idleNs = wakeAtNs == Long.MAX_VALUE ? MAX_IDLE_NS : wakeAtNs - nowNs;
    try {
      return inbox.poll(Math.min(idleNs, MAX_IDLE_NS), TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      closing = true;
      return null;
    }
  }

  /** Stops the thread; a client that is still open fails. Idempotent. */
  @Override
  public void close() {
    closing = true;
    inbox.add(() -> {});
    if (isAgentThread()) {
      return;
    }
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
