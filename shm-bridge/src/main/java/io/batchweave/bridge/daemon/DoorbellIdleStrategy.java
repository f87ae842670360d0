package io.batchweave.bridge.daemon;

import io.batchweave.bridge.memory.FileAccess;
import io.batchweave.bridge.memory.FutexWaiter;
import io.batchweave.bridge.memory.Mapping;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.memory.Protection;
import io.batchweave.bridge.memory.SharedFile;
import io.batchweave.bridge.ring.DoorbellDescriptor;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.IdleStrategy;

/**
 * Sleeps on the doorbell, ever longer while nothing happens, up to 10 ms: a rank that releases a
 * step and a fetch that ends wake the agent, Aeron cannot and is looked at when the sleep ends.
 * Used by the agent's thread, except for {@link #wake}.
 */
final class DoorbellIdleStrategy implements IdleStrategy, AutoCloseable {
  private static final int SPINS = 20;
  private static final long MIN_SLEEP_NS = TimeUnit.MICROSECONDS.toNanos(50);
  private static final long MAX_SLEEP_NS = TimeUnit.MILLISECONDS.toNanos(10);

  private final Mapping doorbell;
  private final FutexWaiter waiter;
  private final FutexWaiter waker; // of whoever holds its monitor
  private boolean closed; // guarded by it too
  private int word;
  private int spins;
  private long sleepNs = MIN_SLEEP_NS;

  DoorbellIdleStrategy(NativeMemory memory, Path path) {
    try (SharedFile file = memory.open(path, FileAccess.CREATE)) {
      file.allocateNew(DoorbellDescriptor.LENGTH, DaemonDirectory.FILE_MODE);
      doorbell = file.map(DoorbellDescriptor.LENGTH, Protection.READ_WRITE);
    }
    DoorbellDescriptor.writeHeader(doorbell.segment());
    waiter = memory.newWaiter();
    waker = memory.newWaiter();
  }

  /** Rings the doorbell, from any thread: what was handed to the agent before this is seen. */
  void wake() {
    synchronized (waker) {
      if (!closed) {
        DoorbellDescriptor.ringRelease(doorbell.segment());
        waker.wakeAll(doorbell.segment(), DoorbellDescriptor.WORD_OFFSET);
      }
    }
  }

  /** Call before the duty cycle looks at the acks. */
  void beforeDutyCycle() {
    // SYNC POINT: doorbell
    word = DoorbellDescriptor.wordLoadAcquire(doorbell.segment());
  }

  @Override
  public void idle(int workCount) {
    if (workCount > 0) {
      reset();
    } else {
      idle();
    }
  }

  @Override
  public void idle() {
    if (spins < SPINS) {
      spins++;
      Thread.onSpinWait();
      return;
    }
    waiter.await(doorbell.segment(), DoorbellDescriptor.WORD_OFFSET, word, sleepNs);
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
