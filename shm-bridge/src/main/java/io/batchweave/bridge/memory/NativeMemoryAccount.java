package io.batchweave.bridge.memory;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Counts what this process holds outside the heap, so that tests can assert that it returns to
 * where it was. Thread-safe.
 */
public final class NativeMemoryAccount {
  static final AtomicLong DESCRIPTORS = new AtomicLong();
  static final AtomicLong MAPPINGS = new AtomicLong();
  static final AtomicLong MAPPED_BYTES = new AtomicLong();
  static final AtomicLong WAITERS = new AtomicLong();

  private NativeMemoryAccount() {}

  /** Open file descriptors of {@link SharedFile}s. */
  public static long descriptors() {
    return DESCRIPTORS.get();
  }

  /** Live {@link Mapping}s. */
  public static long mappings() {
    return MAPPINGS.get();
  }

  /** Bytes of live {@link Mapping}s. */
  public static long mappedBytes() {
    return MAPPED_BYTES.get();
  }

  /** Open {@link FutexWaiter}s and lock probes, each with a little native scratch memory. */
  public static long waiters() {
    return WAITERS.get();
  }

  /** Everything in one line, for assertions and messages. */
  public static String summary() {
    return "descriptors="
        + descriptors()
        + " mappings="
        + mappings()
        + " mappedBytes="
        + mappedBytes()
        + " waiters="
        + waiters();
  }
}
