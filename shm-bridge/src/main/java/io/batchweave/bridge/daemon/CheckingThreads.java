package io.batchweave.bridge.daemon;

import io.batchweave.bridge.memory.MappedChecksum;
import io.batchweave.bridge.memory.Niceness;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * The threads that read back what was fetched, and the buffers to read it through. They give way to
 * whoever brings the bytes, and to the trainer: what they have not begun when the last byte is
 * there is read by whoever says so.
 */
final class CheckingThreads implements AutoCloseable {
  private static final int THREADS = 2;

  private final ExecutorService executor =
      Executors.newFixedThreadPool(THREADS, CheckingThreads::newThread);

  /** One for each thread that reads, the store's among them. */
  private final ThreadLocal<MappedChecksum> checksums =
      ThreadLocal.withInitial(MappedChecksum::new);

  private static Thread newThread(Runnable work) {
    return Thread.ofPlatform()
        .daemon()
        .name("batchweave-check")
        .unstarted(() -> {
          Niceness.giveWay();
          work.run();
        });
  }

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
