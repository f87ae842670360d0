package io.batchweave.store.s3;

import io.batchweave.store.StoreFuture;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.agrona.concurrent.NanoClock;

/**
 * Ends requests that take too long. The native client bounds the wait for a connection and for the
 * next byte; this bounds the whole, so that an endpoint that sends a byte now and then, a
 * credentials provider that never answers, or a completion that gets lost keeps nobody waiting.
 *
 * <p>A request has a grace, and then a second more for every 256 KiB that it has moved. All are
 * looked at twice a second: a timer for each would wake a thread for each, which a small request
 * waits for.
 */
final class Patience implements AutoCloseable {
  /** What is slower than this on the whole counts as not moving. */
  static final long SLOWEST_BYTES_PER_S = 256 * 1024;

  private static final double NS_PER_BYTE = 1e9 / SLOWEST_BYTES_PER_S;
  private static final long LOOK_MS = 500;

  private final NanoClock clock;
  private final Set<Watched> watched = ConcurrentHashMap.newKeySet();
  private final ScheduledThreadPoolExecutor timer =
      new ScheduledThreadPoolExecutor(
          1, Thread.ofPlatform().daemon().name("batchweave-s3-patience").factory());

  Patience(NanoClock clock) {
    this.clock = clock;
  }

  /** Begins to look. */
  void start() {
    var _ = timer.scheduleWithFixedDelay(this::look, LOOK_MS, LOOK_MS, TimeUnit.MILLISECONDS);
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
    long endNs = clock.nanoTime() + TimeUnit.MILLISECONDS.toNanos(graceMs);
    Watched one = new Watched(endNs, movedBytes, giveUp);
    watched.add(one);
    var _ = request.whenComplete((value, thrown) -> watched.remove(one));
  }

  private void look() {
    long nowNs = clock.nanoTime();
    watched.removeIf(one -> one.endsIfOver(nowNs));
  }

  /** A request that has not ended; each is one of its own. */
  private static final class Watched {
    private final long endNs;
    private final LongSupplier movedBytes;
    private final Runnable giveUp;

    Watched(long endNs, LongSupplier movedBytes, Runnable giveUp) {
      this.endNs = endNs;
      this.movedBytes = movedBytes;
      this.giveUp = giveUp;
    }

    /** Says whether its time is over; then it has been told. */
    boolean endsIfOver(long nowNs) {
      try {
        if (nowNs - endNs - (long) (movedBytes.getAsLong() * NS_PER_BYTE) < 0) {
          return false;
        }
        giveUp.run();
      } catch (RuntimeException | Error e) {
        // It is not looked at again. The timer would stop, and all the others wait for ever.
      }
      return true;
    }
  }

  @Override
  public void close() {
    timer.shutdown();
  }
}
