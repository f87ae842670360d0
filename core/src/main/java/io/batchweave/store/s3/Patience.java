package io.batchweave.store.s3;

import io.batchweave.store.StoreFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.agrona.concurrent.NanoClock;
import org.jspecify.annotations.Nullable;

/**
 * Ends requests that take too long. The native client bounds the wait for a connection and for the
 * next byte; this bounds the whole, so that an endpoint that sends a byte now and then, a
 * credentials provider that never answers, or a completion that gets lost keeps nobody waiting.
 *
 * <p>A request has a grace, and then a second more for every 256 KiB that it has moved.
 */
final class Patience implements AutoCloseable {
  /** What is slower than this on the whole counts as not moving. */
  static final long SLOWEST_BYTES_PER_S = 256 * 1024;

  private static final double NS_PER_BYTE = 1e9 / SLOWEST_BYTES_PER_S;

  private final NanoClock clock;
  private final ScheduledThreadPoolExecutor timer;

  Patience(NanoClock clock) {
    this.clock = clock;
    timer =
        new ScheduledThreadPoolExecutor(
            1, Thread.ofPlatform().daemon().name("batchweave-s3-patience").factory());
    timer.setRemoveOnCancelPolicy(true);
    timer.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
  }

  /**
   * Watches a request until it ends.
   *
   * @param request what must end
   * @param graceMs how long it may take before it has moved anything
   * @param movedBytes sent and received so far
   * @param giveUp called when the time is over, at most once
   */
  void watch(StoreFuture<?> request, long graceMs, LongSupplier movedBytes, Runnable giveUp) {
    Watched watched =
        new Watched(request, TimeUnit.MILLISECONDS.toNanos(graceMs), movedBytes, giveUp);
    watched.lookIn(watched.graceNs);
    var _ = request.whenComplete((value, thrown) -> watched.end());
  }

  private final class Watched {
    private final StoreFuture<?> request;
    private final long startNs = clock.nanoTime();
    private final long graceNs;
    private final LongSupplier movedBytes;
    private final Runnable giveUp;
    private @Nullable ScheduledFuture<?> nextLook;

    Watched(StoreFuture<?> request, long graceNs, LongSupplier movedBytes, Runnable giveUp) {
      this.request = request;
      this.graceNs = graceNs;
      this.movedBytes = movedBytes;
      this.giveUp = giveUp;
    }

    private synchronized void lookIn(long delayNs) {
      if (request.isDone()) {
        return;
      }
      try {
        nextLook = timer.schedule(this::look, delayNs, TimeUnit.NANOSECONDS);
      } catch (RejectedExecutionException e) {
        // The store is closed, and its requests have come to rest.
      }
    }

    private void look() {
      long allowedNs = graceNs + (long) (movedBytes.getAsLong() * NS_PER_BYTE);
      long leftNs = startNs + allowedNs - clock.nanoTime();
      if (leftNs > 0) {
        lookIn(leftNs);
      } else if (!request.isDone()) {
        giveUp.run();
      }
    }

    private synchronized void end() {
      if (nextLook != null) {
        nextLook.cancel(false);
      }
    }
  }

  @Override
  public void close() {
    timer.shutdown();
  }
}
