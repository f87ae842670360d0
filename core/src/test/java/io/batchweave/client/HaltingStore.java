package io.batchweave.client;

import io.batchweave.Bytes;
import io.batchweave.store.ByteRange;
import io.batchweave.store.Listing;
import io.batchweave.store.ObjectInfo;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Payload;
import io.batchweave.store.PutOutcome;
import io.batchweave.store.RangeReceiver;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Halts the process at a point of the commit path, as a SIGKILL there would: before the n-th
 * request of a kind is sent, or after it has taken effect and before anybody hears of it. The point
 * reads {@code when:operation:part-of-key:n}, for example {@code after:create:manifest/:2}. With
 * {@code stop-} before it the process stops there, as a SIGSTOP would make it, and can go on.
 */
final class HaltingStore implements ObjectStore {
  private final ObjectStore inner;
  private final boolean stops;
  private final boolean before;
  private final String operation;
  private final String keyPart;
  private final AtomicInteger countdown;

  HaltingStore(ObjectStore inner, String point) {
    this.stops = point.startsWith("stop-");
    String[] parts = point.substring(stops ? "stop-".length() : 0).split(":", -1);
    this.inner = inner;
    this.before = parts[0].equals("before");
    this.operation = parts[1];
    this.keyPart = parts[2];
    this.countdown = new AtomicInteger(Integer.parseInt(parts[3]));
  }

  private <T> CompletableFuture<T> at(
      String name, String key, Supplier<CompletableFuture<T>> request) {
    boolean here =
        name.equals(operation) && key.contains(keyPart) && countdown.decrementAndGet() == 0;
    if (here && before) {
      haltOrStop();
    }
    CompletableFuture<T> future = request.get();
    if (here && !before) {
      future.join();
      haltOrStop();
    }
    return future;
  }

  private void haltOrStop() {
    if (!stops) {
      Runtime.getRuntime().halt(ProducerMain.HALTED);
    }
    try {
      String pid = Long.toString(ProcessHandle.current().pid());
      new ProcessBuilder("kill", "-STOP", pid).start().waitFor();
    } catch (IOException | InterruptedException e) {
      throw new IllegalStateException("cannot stop", e);
    }
  }

  @Override
  public CompletableFuture<PutOutcome> putIfAbsent(String key, Payload body) {
    return at("create", key, () -> inner.putIfAbsent(key, body));
  }

  @Override
  public CompletableFuture<Void> put(String key, Payload body) {
    return at("put", key, () -> inner.put(key, body));
  }

  @Override
  public CompletableFuture<Bytes> get(String key, @Nullable ByteRange range, long maxLengthBytes) {
    return at("get", key, () -> inner.get(key, range, maxLengthBytes));
  }

  @Override
  public CompletableFuture<Long> getInto(
      String key, ByteRange range, Path file, long position, RangeReceiver receiver) {
    return inner.getInto(key, range, file, position, receiver);
  }

  @Override
  public CompletableFuture<ObjectInfo> head(String key) {
    return inner.head(key);
  }

  @Override
  public CompletableFuture<Listing> list(String prefix, int limit) {
    return at("list", prefix, () -> inner.list(prefix, limit));
  }

  @Override
  public CompletableFuture<List<String>> delete(List<String> keys) {
    return at("delete", keys.getFirst(), () -> inner.delete(keys));
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
