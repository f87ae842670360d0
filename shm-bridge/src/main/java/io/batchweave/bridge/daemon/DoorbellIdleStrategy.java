package io.batchweave.bridge.daemon;

import io.batchweave.bridge.memory.FutexWaiter;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.ring.Doorbell;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.IdleStrategy;

/**
 * Sleeps on the doorbell, ever longer while nothing happens, up to 20 ms: a rank that releases a
 * step and a fetch that ends wake the agent, Aeron cannot and is looked at when the sleep ends. So
 * the first sleeps are short where somebody talks through Aeron, and only there: each one that ends
 * in vain takes processor time from the fetch that it waits for. Used by the agent's thread, except
 * for {@link #wake}.
 */
final class DoorbellIdleStrategy implements IdleStrategy, AutoCloseable {
  private static final int SPINS = 20;
  private static final long TALK_SLEEP_NS = TimeUnit.MICROSECONDS.toNanos(50);
  private static final long MIN_SLEEP_NS = TimeUnit.MILLISECONDS.toNanos(2);
  private static final long MAX_SLEEP_NS = TimeUnit.MILLISECONDS.toNanos(20);

  private final Doorbell doorbell;
  private final FutexWaiter waiter;
  private final FutexWaiter waker; // of whoever holds its monitor
  private boolean closed; // guarded by it too
  private int word;
  private int spins;
  private boolean talking;
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
    doorbell.await(waiter, word, sleepNs);
    sleepNs = Math.min(2 * sleepNs, MAX_SLEEP_NS);
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
