package io.batchweave.client;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.agrona.concurrent.NanoClock;

/** A lock with one condition: what callers of a client wait on for its agent. */
final class Signal {
  private static final long MAX_WAIT_NS = 100_000_000L;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final NanoClock nanoClock;

  Signal(NanoClock nanoClock) {
    this.nanoClock = nanoClock;
  }

  /** Changes what is waited for. */
  void update(Runnable change) {
    lock.lock();
    try {
      change.run();
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Runs under the lock. */
  <T> T under(Supplier<T> action) {
    lock.lock();
    try {
      return action.get();
    } finally {
      lock.unlock();
    }
  }

  /** Deadline for a wait that begins now; never overflows. */
  long deadlineNs(long timeoutNs) {
    long nowNs = nanoClock.nanoTime();
    return timeoutNs > Long.MAX_VALUE - Math.max(0, nowNs) ? Long.MAX_VALUE : nowNs + timeoutNs;
  }

  /**
   * Waits, under the lock that the caller may hold, until the condition is true.
   *
   * @return false if the deadline passed first
   */
  boolean await(BooleanSupplier condition, long deadlineNs) {
    lock.lock();
    try {
      while (!condition.getAsBoolean()) {
        long remainingNs = deadlineNs - nanoClock.nanoTime();
        if (remainingNs <= 0) {
          return false;
        }
        // The clock is passed in and need not be the one that wakes us: look again soon.
        var _ = changed.awaitNanos(Math.min(remainingNs, MAX_WAIT_NS));
      }
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new BatchWeaveException(Kind.RETRYABLE, "interrupted while waiting; call again", e);
    } finally {
      lock.unlock();
    }
  }
}
