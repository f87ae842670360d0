package io.batchweave.bridge.memory;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Waits on and wakes 32-bit words that several processes share. Holds the scratch memory that the
 * calls need, so a wait or a wake allocates nothing. Owned by one thread.
 */
public final class FutexWaiter implements AutoCloseable {
  private static final long NANOS_PER_SECOND = 1_000_000_000L;

  // Closed by close().
  @SuppressWarnings("MustBeClosedChecker")
  private final Arena arena = Arena.ofShared();

  private final MemorySegment capture = Posix.newCapture(arena);
  private final MemorySegment timespec = arena.allocate(16, 8);
  private boolean closed;

  FutexWaiter() {
    NativeMemoryAccount.WAITERS.incrementAndGet();
  }

  /**
   * Sleeps while the word has the expected value, until somebody wakes it or the time is over. May
   * return early for no reason: the caller looks at its condition again.
   *
   * @param segment mapped shared memory
   * @param offset of the word, a multiple of 4
   * @param expected the value loaded before the condition was checked
   * @param timeoutNs at most this long; 0 or less returns at once
   * @throws IllegalStateException on a virtual thread, whose carrier this would block
   */
  public void await(MemorySegment segment, long offset, int expected, long timeoutNs) {
    if (Thread.currentThread().isVirtual()) {
      throw new IllegalStateException(
          "waiting on shared memory blocks the carrier: call it on a platform thread");
    }
    if (timeoutNs <= 0) {
      return;
    }
    timespec.set(ValueLayout.JAVA_LONG, 0, timeoutNs / NANOS_PER_SECOND);
    timespec.set(ValueLayout.JAVA_LONG, 8, timeoutNs % NANOS_PER_SECOND);
    int result =
        Posix.futexWait(capture, wordAddress(segment, offset), expected, timespec.address());
    if (result < 0
        && result != -Posix.EAGAIN
        && result != -Posix.EINTR
        && result != -Posix.ETIMEDOUT) {
      throw Posix.failure("wait on a futex", "offset " + offset, result);
    }
  }

  /**
   * Wakes every waiter of the word, in every process.
   *
   * @param segment mapped shared memory
   * @param offset of the word, a multiple of 4
   * @return how many were woken
   */
  public int wakeAll(MemorySegment segment, long offset) {
    int result = Posix.futexWake(capture, wordAddress(segment, offset));
    if (result < 0) {
      throw Posix.failure("wake a futex", "offset " + offset, result);
    }
    return result;
  }

  private static long wordAddress(MemorySegment segment, long offset) {
    if (offset < 0 || offset > segment.byteSize() - 4 || (offset & 3) != 0) {
      throw new IndexOutOfBoundsException("futex word at offset=" + offset);
    }
    return segment.address() + offset;
  }

  /** Frees the scratch memory; further calls do nothing. */
  @Override
  public void close() {
    if (!closed) {
      closed = true;
      arena.close();
      NativeMemoryAccount.WAITERS.decrementAndGet();
    }
  }
}
