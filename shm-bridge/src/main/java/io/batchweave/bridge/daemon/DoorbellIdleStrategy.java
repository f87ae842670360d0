package io.batchweave.bridge.daemon;

import io.batchweave.bridge.memory.FutexWaiter;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.ring.Doorbell;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.agrona.concurrent.IdleStrategy;

/**
 * Sleeps on the doorbell, ever longer while nothing happens, up to 20 ms: a rank that releases a
 * step or begins to talk and a fetch that ends wake the agent; the rest of the talk, through Aeron,
 * does not and is looked at when the sleep ends. So the first sleeps are short where somebody
 * talks, and only there: each one that ends in vain takes processor time from the fetch that it
 * waits for. Where nothing is awaited but a ring, they grow to 60 ms: waking up is what an idle
 * daemon spends most on. Used by the agent's thread, except for {@link #wake}.
 */
class DoorbellIdleStrategy implements IdleStrategy, AutoCloseable {
  private static final int SPINS = 20;
  private static final long TALK_SLEEP_NS = TimeUnit.MICROSECONDS.toNanos(50);
  private static final long MIN_SLEEP_NS = TimeUnit.MILLISECONDS.toNanos(2);
  private static final long MAX_SLEEP_NS = TimeUnit.MILLISECONDS.toNanos(20);

  /**
   * The driver's timer of 100 ms is looked at between them, so that after a ring its heartbeat may
   * be about 160 ms late: harmless where ranks give it 500 ms.
   */
  private static final long MAX_QUIET_SLEEP_NS = TimeUnit.MILLISECONDS.toNanos(60);

  private final Doorbell doorbell;
  private final FutexWaiter waiter;
  private final FutexWaiter waker; // of whoever holds its monitor
  private boolean closed; // guarded by it too
  private int word;
  private int spins;
  private boolean talking;
  private BooleanSupplier quiet = () -> false;
  private long sleepNs = MIN_SLEEP_NS;

  DoorbellIdleStrategy(NativeMemory memory, Path directory, int fileMode) {
    doorbell = Doorbell.create(memory, directory, fileMode);
    waiter = memory.newWaiter();
    waker = memory.newWaiter();
  }

  /** Rings the doorbell, from any thread: what was handed to the agent before this is seen. */
  void wake() {
    synchronized (waker) {
      if (!closed) {
        doorbell.ring(waker);
      }
    }
  }

  /** Call before the duty cycle looks at the acks. */
  void beforeDutyCycle() {
    word = doorbell.wordLoadAcquire();
  }

  /** Says, within a duty cycle, that somebody talks who cannot ring. */
  void expectTalk() {
    talking = true;
  }

  /**
   * Sets what says whether only a ring is awaited: that another duty cycle without one would change
   * nothing, but for the driver's timers and for noticing a death that nobody waits for.
   *
   * @param newQuiet asked on the agent's thread, after sleeping for long
   */
  void quietWhile(BooleanSupplier newQuiet) {
    quiet = newQuiet;
  }

  @Override
  public void idle(int workCount) {
    if (workCount == 0) {
      idle();
      return;
    }
    reset();
    if (talking) {
      sleepNs = TALK_SLEEP_NS;
      talking = false;
    }
  }

  @Override
  public void idle() {
    if (spins < SPINS) {
      spins++;
      Thread.onSpinWait();
      return;
    }
    if (sleepNs > MAX_SLEEP_NS && !quiet.getAsBoolean()) {
      sleepNs = MAX_SLEEP_NS;
    }
    await(sleepNs);
    sleepNs = Math.min(2 * sleepNs, MAX_QUIET_SLEEP_NS);
  }

  /** Until the doorbell rings, but not longer. */
  void await(long timeoutNs) {
    doorbell.await(waiter, word, timeoutNs);
  }

  @Override
  public void reset() {
    spins = 0;
    sleepNs = MIN_SLEEP_NS;
  }

  @Override
  public void close() {
    synchronized (waker) {
      closed = true;
      waker.close();
    }
    waiter.close();
    doorbell.close();
  }
}
