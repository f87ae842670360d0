package io.batchweave.store;

import io.batchweave.Bytes;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.ToLongFunction;
import org.agrona.concurrent.NanoClock;
import org.jspecify.annotations.Nullable;

/**
 * Counts what goes through. Wrap it directly around a store to count what is sent, around a {@link
 * RetryingStore} to count what is asked for.
 */
public final class MeteredStore implements ObjectStore {
  /** Adders of one operation; each is only ever added to. */
  private static final class Adders {
    final LongAdder requests = new LongAdder();
    final LongAdder answered = new LongAdder();
    final LongAdder failed = new LongAdder();
    final LongAdder bytes = new LongAdder();
    final LongAdder items = new LongAdder();
    final LongAdder durationNs = new LongAdder();

    StoreMeter.Operation snapshot() {
      long done = answered.sum();
      long sent = requests.sum();
      return new StoreMeter.Operation(
          sent, failed.sum(), Math.max(0, sent - done), bytes.sum(), items.sum(), durationNs.sum());
    }
  }

  private final ObjectStore inner;
  private final NanoClock clock;
  private final Map<StoreOperation, Adders> operations = new EnumMap<>(StoreOperation.class);
  private final Map<StoreFailure, LongAdder> failures = new EnumMap<>(StoreFailure.class);

  /**
   * Wraps a store.
   *
   * @param inner does the work; closed with this one
   * @param clock measures durations
   */
  public MeteredStore(ObjectStore inner, NanoClock clock) {
    this.inner = inner;
    this.clock = clock;
    for (StoreOperation operation : StoreOperation.values()) {
      operations.put(operation, new Adders());
    }
    for (StoreFailure failure : StoreFailure.values()) {
      failures.put(failure, new LongAdder());
    }
  }

  /** The figures so far. */
  public StoreMeter snapshot() {
    Map<StoreOperation, StoreMeter.Operation> figures = new EnumMap<>(StoreOperation.class);
    operations.forEach((operation, adders) -> figures.put(operation, adders.snapshot()));
    Map<StoreFailure, Long> failed = new EnumMap<>(StoreFailure.class);
    failures.forEach((failure, adder) -> failed.put(failure, adder.sum()));
    return new StoreMeter(figures, failed);
  }

  private <T> CompletableFuture<T> count(
      StoreOperation operation,
      CompletableFuture<T> request,
      ToLongFunction<T> bytes,
      ToLongFunction<T> items) {
    Adders adders = adders(operation);
    adders.requests.increment();
    long start = clock.nanoTime();
    StoreFuture<T> counted = new StoreFuture<>();
    counted.onCancel(() -> request.cancel(false));
    var _ =
        request.whenComplete((value, thrown) -> {
          adders.durationNs.add(clock.nanoTime() - start);
          adders.answered.increment();
          if (thrown == null) {
            adders.bytes.add(bytes.applyAsLong(value));
            adders.items.add(items.applyAsLong(value));
            counted.complete(value);
          } else {
            adders.failed.increment();
            countFailure(StoreFuture.unwrap(thrown));
            counted.fail(thrown);
          }
        });
    return counted;
  }

  private void countFailure(Throwable thrown) {
    LongAdder adder = thrown instanceof StoreException e ? failures.get(e.failure()) : null;
    if (adder != null) {
      adder.increment();
    }
  }

  private Adders adders(StoreOperation operation) {
    Adders adders = operations.get(operation);
    if (adders == null) {
      throw new IllegalStateException("no adders: operation=" + operation);
    }
    return adders;
  }

  @Override
  public CompletableFuture<PutOutcome> putIfAbsent(String key, Payload body) {
    return count(
        StoreOperation.PUT_IF_ABSENT,
        inner.putIfAbsent(key, body),
        outcome -> outcome == PutOutcome.CREATED ? body.lengthBytes() : 0,
        outcome -> 1);
  }

  @Override
  public CompletableFuture<Void> put(String key, Payload body) {
    return count(StoreOperation.PUT, inner.put(key, body), done -> body.lengthBytes(), done -> 1);
  }

  @Override
  public CompletableFuture<Bytes> get(String key, @Nullable ByteRange range, long maxLengthBytes) {
    return count(
        StoreOperation.GET, inner.get(key, range, maxLengthBytes), Bytes::length, bytes -> 1);
  }

  @Override
  public CompletableFuture<Long> getInto(
      String key, ByteRange range, Path file, long position, RangeReceiver receiver) {
    return count(
        StoreOperation.GET_INTO,
        inner.getInto(key, range, file, position, receiver),
        length -> length,
        length -> 1);
  }

  @Override
  public CompletableFuture<ObjectInfo> head(String key) {
    return count(StoreOperation.HEAD, inner.head(key), info -> 0, info -> 1);
  }

  @Override
  public CompletableFuture<Listing> list(String prefix, int limit) {
    return count(
        StoreOperation.LIST,
        inner.list(prefix, limit),
        listing -> 0,
        listing -> listing.objects().size());
  }

  @Override
  public CompletableFuture<List<String>> delete(List<String> keys) {
    List<String> all = List.copyOf(keys);
    return count(
        StoreOperation.DELETE,
        inner.delete(all),
        failed -> 0,
        failed -> all.size() - failed.size());
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
    inner.close();
  }
}
