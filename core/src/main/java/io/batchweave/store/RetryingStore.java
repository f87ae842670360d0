package io.batchweave.store;

import io.batchweave.Bytes;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.agrona.concurrent.NanoClock;
import org.agrona.concurrent.SystemNanoClock;
import org.jspecify.annotations.Nullable;

/**
 * Sends reads, lists, unconditional puts and deletes again while their failure is retryable (reads
 * also after {@link StoreFailure#BAD_ANSWER}), with jittered, doubling waits, up to the attempts
 * and the deadline of its {@link RetryPolicy}. A {@code putIfAbsent} is <em>never</em> sent twice:
 * its second attempt would turn the first one's success into "exists".
 *
 * <p>The last failure is the one reported, with the number of attempts. {@link #close()} ends all
 * waits at once with {@link StoreFailure#CLOSED}. One daemon thread starts the attempts.
 */
public final class RetryingStore implements ObjectStore {
  private final ObjectStore inner;
  private final RetryPolicy policy;
  private final NanoClock clock;
  private final RandomGenerator random;
  private final ScheduledThreadPoolExecutor timer;
  private final Set<Attempts<?>> waiting = ConcurrentHashMap.newKeySet();
  private volatile boolean closed;

  /**
   * Wraps a store with the default policy.
   *
   * @param inner sends every request once; closed with this one
   * @param seed of the jitter
   */
  public RetryingStore(ObjectStore inner, long seed) {
    this(inner, RetryPolicy.DEFAULT, SystemNanoClock.INSTANCE, new SplittableRandom(seed));
  }

  /**
   * Wraps a store.
   *
   * @param inner sends every request once; closed with this one
   * @param policy attempts, waits, deadline
   * @param clock measures the deadline
   * @param random of the jitter; used under a lock
   */
  public RetryingStore(
      ObjectStore inner, RetryPolicy policy, NanoClock clock, RandomGenerator random) {
    this.inner = inner;
    this.policy = policy;
    this.clock = clock;
    this.random = random;
    this.timer =
        new ScheduledThreadPoolExecutor(
            1, Thread.ofPlatform().daemon().name("batchweave-store-retry").factory());
    this.timer.setRemoveOnCancelPolicy(true);
    this.timer.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
  }

  /** One request and its attempts. */
  private final class Attempts<T> {
    private final StoreOperation operation;
    private final String key;
    private final Supplier<CompletableFuture<T>> request;
    private final StoreFuture<T> result = new StoreFuture<>();
    private final long startNs = clock.nanoTime();
    private int made;
    private @Nullable ScheduledFuture<?> wait;

    Attempts(StoreOperation operation, String key, Supplier<CompletableFuture<T>> request) {
      this.operation = operation;
      this.key = key;
      this.request = request;
    }

    void send() {
      if (made > 0 && !waiting.remove(this)) {
        return; // Stopped meanwhile, and answered.
      }
      if (closed || result.cancelRequested()) {
        result.fail(closedFailure(operation, key, made));
        return;
      }
      made++;
      CompletableFuture<T> attempt;
      try {
        attempt = request.get();
      } catch (IllegalArgumentException e) {
        if (made == 1) {
          throw e;
        }
        result.fail(new StoreException(StoreFailure.CONFIG, operation, key, "" + e.getMessage()));
        return;
      } catch (RuntimeException e) {
        if (made == 1) {
          throw e;
        }
        result.fail(e); // On the timer's thread nobody would hear of it.
        return;
      }
      result.onCancel(() -> attempt.cancel(false));
      var _ =
          attempt.whenComplete((value, thrown) -> {
            if (thrown == null) {
              result.complete(value);
            } else {
              onFailure(StoreFuture.unwrap(thrown));
            }
          });
    }

    private void onFailure(Throwable thrown) {
      if (!(thrown instanceof StoreException e) || !worthRetrying(e) || result.cancelRequested()) {
        result.fail(thrown instanceof StoreException e ? e.withAttempts(made, "") : thrown);
        return;
      }
      if (made >= policy.maxAttempts()) {
        result.fail(e.withAttempts(made, "gave up at the cap of attempts"));
        return;
      }
      long delayNs = policy.backoffNs(made, nextRandom());
      long elapsedNs = clock.nanoTime() - startNs;
      if (elapsedNs + delayNs > policy.deadlineNs()) {
        result.fail(
            e.withAttempts(
                made,
                "gave up at the deadline, elapsedMs=" + TimeUnit.NANOSECONDS.toMillis(elapsedNs)));
        return;
      }
      waitThenSend(delayNs);
    }

    private void waitThenSend(long delayNs) {
      waiting.add(this);
      result.onCancel(this::stopWaiting);
      try {
        ScheduledFuture<?> scheduled = timer.schedule(this::send, delayNs, TimeUnit.NANOSECONDS);
        synchronized (this) {
          wait = scheduled;
        }
      } catch (RejectedExecutionException e) {
        stopWaiting();
      }
      if (closed) {
        stopWaiting();
      }
    }

    /** Ends a wait; whoever takes it out of the set answers. */
    void stopWaiting() {
      if (waiting.remove(this)) {
        ScheduledFuture<?> scheduled;
        synchronized (this) {
          scheduled = wait;
        }
        if (scheduled != null) {
          scheduled.cancel(false);
        }
        result.fail(closedFailure(operation, key, made));
      }
    }
  }

  private static StoreException closedFailure(StoreOperation operation, String key, int made) {
    return new StoreException(
            StoreFailure.CLOSED, operation, key, "the store was closed between two attempts")
        .withAttempts(made, "");
  }

  private static boolean worthRetrying(StoreException e) {
    return e.failure().retryable()
        || (e.failure() == StoreFailure.BAD_ANSWER && !e.operation().mutating());
  }

  private double nextRandom() {
    synchronized (random) {
      return random.nextDouble();
    }
  }

  private <T> CompletableFuture<T> retry(
      StoreOperation operation, String key, Supplier<CompletableFuture<T>> request) {
    Attempts<T> attempts = new Attempts<>(operation, key, request);
    attempts.send();
    return attempts.result;
  }

  @Override
  public CompletableFuture<PutOutcome> putIfAbsent(String key, Payload body) {
    return inner.putIfAbsent(key, body);
  }

  @Override
  public CompletableFuture<Void> put(String key, Payload body) {
    return retry(StoreOperation.PUT, key, () -> inner.put(key, body));
  }

  @Override
  public CompletableFuture<Bytes> get(String key, @Nullable ByteRange range, long maxLengthBytes) {
    return retry(StoreOperation.GET, key, () -> inner.get(key, range, maxLengthBytes));
  }

  @Override
  public CompletableFuture<Long> getInto(
      String key, ByteRange range, Path file, long position, RangeReceiver receiver) {
    return retry(
        StoreOperation.GET_INTO, key, () -> inner.getInto(key, range, file, position, receiver));
  }

  @Override
  public CompletableFuture<ObjectInfo> head(String key) {
    return retry(StoreOperation.HEAD, key, () -> inner.head(key));
  }

  @Override
  public CompletableFuture<Listing> list(String prefix, int limit) {
    return retry(StoreOperation.LIST, prefix, () -> inner.list(prefix, limit));
  }

  @Override
  public CompletableFuture<List<String>> delete(List<String> keys) {
    List<String> all = List.copyOf(keys);
    return retry(
        StoreOperation.DELETE, all.isEmpty() ? "" : all.getFirst(), () -> inner.delete(all));
  }

  @Override
  public CompletableFuture<StoreTraits> traits(String scratchKey) {
    return inner.traits(scratchKey);
  }

  @Override
  public String url() {
    return inner.url();
  }

  @Override
  public void close() {
    closed = true;
    timer.shutdown();
    for (Attempts<?> attempts : waiting) {
      attempts.stopWaiting();
    }
    inner.close();
  }
}
