package io.batchweave.bridge.daemon;

import io.batchweave.bridge.memory.MappedChecksum;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/** The threads that read back what was fetched, and the buffers to read it through. */
final class CheckingThreads implements AutoCloseable {
  private static final int THREADS = 2;

  private final ExecutorService executor =
      Executors.newFixedThreadPool(
          THREADS, Thread.ofPlatform().daemon().name("batchweave-check-", 0).factory());

  /** One for each thread that reads, the store's among them. */
  private final ThreadLocal<MappedChecksum> checksums =
      ThreadLocal.withInitial(MappedChecksum::new);

  /** Runs it soon; says whether it will, which it does unless this is closed. */
  boolean execute(Runnable task) {
    try {
      executor.execute(task);
      return true;
    } catch (RejectedExecutionException closed) {
      return false;
    }
  }

  /** The calling thread's own. */
  MappedChecksum checksum() {
    return checksums.get();
  }

  /** Drops what has not begun and waits for what has. */
  @Override
  public void close() {
    executor.shutdownNow();
    try {
      executor.awaitTermination(1, TimeUnit.MINUTES);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
