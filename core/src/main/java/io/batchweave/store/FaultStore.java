package io.batchweave.store;

import io.batchweave.Bytes;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A store that lies, for tests. Faults are scripted per operation and key ({@link #script}), or
 * drawn from a seed ({@link #randomly}); scripts go first, in the order given. Nothing waits by
 * itself: what is late or hung goes on when the test says so.
 */
public final class FaultStore implements ObjectStore {
  /** What goes wrong. */
  public enum Fault {
    /** Carried out, but the answer is lost: {@link StoreFailure#UNCLEAR}. */
    ANSWER_LOST,
    /** Lost on the way there: {@link StoreFailure#UNCLEAR} without any effect. */
    REQUEST_LOST,
    /**
     * {@link StoreFailure#UNCLEAR} now; carried out at {@link FaultStore#applyLate}. Writes only.
     */
    APPLIED_LATE,
    /** Something between repeated it: carried out, but answered "exists". Conditional puts only. */
    LANDED_BUT_EXISTS,
    /** 409: {@link StoreFailure#CONFLICT} without effect. */
    CONFLICT_409,
    /** 429: {@link StoreFailure#THROTTLED} without effect. */
    THROTTLED_429,
    /** 503: {@link StoreFailure#THROTTLED} without effect. */
    THROTTLED_503,
    /** 503, but a write was carried out all the same. */
    THROTTLED_503_BUT_LANDED,
    /** 500: {@link StoreFailure#UNCLEAR} without effect. */
    ERROR_500,
    /** {@link StoreFailure#UNREACHABLE}. */
    UNREACHABLE,
    /** 403: {@link StoreFailure#ACCESS_DENIED}. */
    ACCESS_DENIED_403,
    /** {@link StoreFailure#FULL} without effect. */
    FULL,
    /** {@link StoreFailure#NOT_FOUND}, whatever there is. Reads only. */
    NOT_FOUND_404,
    /** The first half arrives, then {@link StoreFailure#BAD_ANSWER}; get and getInto. */
    TRUNCATED,
    /** All arrives, one bit of it wrong, without an error; get and getInto. */
    FLIPPED_BIT,
    /** A LIST without some of what there is, at least one; without an error. */
    LIST_HOLE,
    /** No answer until {@link FaultStore#releaseHung}, cancel or close. */
    HANG
  }

  private static final Set<Fault> WRITE_ONLY =
      EnumSet.of(Fault.APPLIED_LATE, Fault.THROTTLED_503_BUT_LANDED);

  private static final class Script {
    final StoreOperation operation;
    final Predicate<String> key;
    final Fault fault;
    int remaining;

    Script(StoreOperation operation, Predicate<String> key, Fault fault, int times) {
      this.operation = operation;
      this.key = key;
      this.fault = fault;
      this.remaining = times;
    }
  }

  private record Chance(Fault fault, double probability) {}

  private record Hung(Runnable release, Runnable fail) {}

  private final ObjectStore inner;
  private final SplittableRandom random;
  private final List<Script> scripts = new ArrayList<>();
  private final Map<StoreOperation, List<Chance>> chances = new EnumMap<>(StoreOperation.class);
  private final List<Supplier<CompletableFuture<Boolean>>> late = new ArrayList<>();
  private final List<Hung> hung = new ArrayList<>();
  private final Map<Fault, Integer> injected = new EnumMap<>(Fault.class);

  /**
   * Wraps a store.
   *
   * @param inner does the work; closed with this one
   * @param seed of everything random
   */
  public FaultStore(ObjectStore inner, long seed) {
    this.inner = inner;
    this.random = new SplittableRandom(seed);
  }

  /**
   * Makes the next requests fail.
   *
   * @param operation which requests
   * @param key which keys; the prefix of a LIST, the first key of a delete
   * @param fault how
   * @param times how many of them
   * @return this
   */
  public synchronized FaultStore script(
      StoreOperation operation, Predicate<String> key, Fault fault, int times) {
    requireFits(operation, fault);
    scripts.add(new Script(operation, key, fault, times));
    return this;
  }

  /**
   * Makes the next request for one key fail.
   *
   * @param operation which request
   * @param key the key
   * @param fault how
   * @return this
   */
  public FaultStore script(StoreOperation operation, String key, Fault fault) {
    return script(operation, key::equals, fault, 1);
  }

  /**
   * Makes requests fail at random from now on.
   *
   * @param operation which requests
   * @param fault how
   * @param probability of each, 0 to 1; probabilities of one operation add up
   * @return this
   */
  public synchronized FaultStore randomly(
      StoreOperation operation, Fault fault, double probability) {
    requireFits(operation, fault);
    chances
        .computeIfAbsent(operation, ignored -> new ArrayList<>())
        .add(new Chance(fault, probability));
    return this;
  }

  /** Forgets all scripts and chances; what is late or hung stays so. */
  public synchronized void heal() {
    scripts.clear();
    chances.clear();
  }

  /**
   * How often a fault was injected.
   *
   * @param fault which
   */
  public synchronized int injected(Fault fault) {
    return injected.getOrDefault(fault, 0);
  }

  /** Carries out the writes that are late; completes when they are done. */
  public CompletableFuture<Void> applyLate() {
    List<Supplier<CompletableFuture<Boolean>>> due;
    synchronized (this) {
      due = List.copyOf(late);
      late.clear();
    }
    return CompletableFuture.allOf(
        due.stream().map(Supplier::get).toArray(CompletableFuture<?>[]::new));
  }

  /** Lets hung requests go on to the store; returns how many. */
  public int releaseHung() {
    List<Hung> released = takeHung();
    released.forEach(request -> request.release().run());
    return released.size();
  }

  private synchronized List<Hung> takeHung() {
    List<Hung> taken = List.copyOf(hung);
    hung.clear();
    return taken;
  }

  private static void requireFits(StoreOperation operation, Fault fault) {
    boolean read = operation == StoreOperation.GET || operation == StoreOperation.GET_INTO;
    boolean fits =
        switch (fault) {
          case LANDED_BUT_EXISTS -> operation == StoreOperation.PUT_IF_ABSENT;
          case TRUNCATED, FLIPPED_BIT -> read;
          case NOT_FOUND_404 -> read || operation == StoreOperation.HEAD;
          case LIST_HOLE -> operation == StoreOperation.LIST;
          default -> operation.mutating() || !WRITE_ONLY.contains(fault);
        };
    if (!fits) {
      throw new IllegalArgumentException(
          "that cannot happen to it: operation=" + operation + " fault=" + fault);
    }
  }

  private synchronized @Nullable Fault next(StoreOperation operation, String key) {
    for (Script script : scripts) {
      if (script.operation == operation && script.remaining > 0 && script.key.test(key)) {
        script.remaining--;
        injected.merge(script.fault, 1, Integer::sum);
        return script.fault;
      }
    }
    List<Chance> drawn = chances.getOrDefault(operation, List.of());
    double at = drawn.isEmpty() ? 1 : random.nextDouble();
    for (Chance chance : drawn) {
      at -= chance.probability();
      if (at < 0) {
        injected.merge(chance.fault(), 1, Integer::sum);
        return chance.fault();
      }
    }
    return null;
  }

  private synchronized long nextBelow(long bound) {
    return random.nextLong(bound);
  }

  /** Faults that are the same for every operation; {@code special} knows the others. */
  private <T> CompletableFuture<T> run(
      StoreOperation operation,
      String key,
      Supplier<CompletableFuture<T>> request,
      Function<Fault, CompletableFuture<T>> special) {
    Fault fault = next(operation, key);
    if (fault == null) {
      return request.get();
    }
    return switch (fault) {
      case ANSWER_LOST ->
          afterwards(request.get(), failure(StoreFailure.UNCLEAR, operation, key, fault, 0));
      case THROTTLED_503_BUT_LANDED ->
          afterwards(request.get(), failure(StoreFailure.THROTTLED, operation, key, fault, 503));
      case REQUEST_LOST -> failed(StoreFailure.UNCLEAR, operation, key, fault, 0);
      case ERROR_500 -> failed(StoreFailure.UNCLEAR, operation, key, fault, 500);
      case CONFLICT_409 -> failed(StoreFailure.CONFLICT, operation, key, fault, 409);
      case THROTTLED_429 -> failed(StoreFailure.THROTTLED, operation, key, fault, 429);
      case THROTTLED_503 -> failed(StoreFailure.THROTTLED, operation, key, fault, 503);
      case UNREACHABLE -> failed(StoreFailure.UNREACHABLE, operation, key, fault, 0);
      case ACCESS_DENIED_403 -> failed(StoreFailure.ACCESS_DENIED, operation, key, fault, 403);
      case FULL -> failed(StoreFailure.FULL, operation, key, fault, 0);
      case NOT_FOUND_404 -> failed(StoreFailure.NOT_FOUND, operation, key, fault, 404);
      case HANG -> hang(operation, key, request);
      case APPLIED_LATE, LANDED_BUT_EXISTS, TRUNCATED, FLIPPED_BIT, LIST_HOLE ->
          special.apply(fault);
    };
  }

  private static <T> CompletableFuture<T> unfit(Fault fault) {
    throw new IllegalStateException("a fault that does not fit: fault=" + fault);
  }

  private <T> CompletableFuture<T> later(
      StoreOperation operation, String key, Supplier<CompletableFuture<T>> request) {
    synchronized (this) {
      late.add(() -> request.get().handle((value, thrown) -> thrown == null));
    }
    return failed(StoreFailure.UNCLEAR, operation, key, Fault.APPLIED_LATE, 0);
  }

  /** The bytes as they are now: the caller may reuse its buffers once it was told of a failure. */
  private static Payload copy(StoreOperation operation, String key, Payload body) {
    ByteBuffer bytes = ByteBuffer.allocate(Math.toIntExact(body.lengthBytes()));
    try (Payload.Reader reader = body.open()) {
      while (!reader.read(bytes)) {
        // Every read takes what there is.
      }
    } catch (IOException e) {
      throw new StoreException(
          StoreFailure.CONFIG, operation, key, "cannot read the payload: " + e);
    }
    return Payload.of(List.of(bytes.flip()));
  }

  private static <T> CompletableFuture<T> afterwards(
      CompletableFuture<T> request, StoreException failure) {
    StoreFuture<T> lost = new StoreFuture<>();
    lost.onCancel(() -> request.cancel(false));
    var _ = request.whenComplete((value, thrown) -> lost.fail(failure));
    return lost;
  }

  private <T> CompletableFuture<T> hang(
      StoreOperation operation, String key, Supplier<CompletableFuture<T>> request) {
    StoreFuture<T> future = new StoreFuture<>();
    Hung waiting =
        new Hung(
            () -> {
              CompletableFuture<T> real = request.get();
              future.onCancel(() -> real.cancel(false));
              var _ =
                  real.whenComplete((value, thrown) -> {
                    if (thrown == null) {
                      future.complete(value);
                    } else {
                      future.fail(thrown);
                    }
                  });
            },
            () ->
                future.fail(
                    new StoreException(
                        StoreFailure.CLOSED, operation, key, "the store is closed")));
    synchronized (this) {
      hung.add(waiting);
    }
    future.onCancel(() -> {
      boolean mine;
      synchronized (this) {
        mine = hung.remove(waiting);
      }
      if (mine) {
        waiting.fail().run();
      }
    });
    return future;
  }

  private static <T> CompletableFuture<T> failed(
      StoreFailure failure, StoreOperation operation, String key, Fault fault, int status) {
    return StoreFuture.failed(failure(failure, operation, key, fault, status));
  }

  private static StoreException failure(
      StoreFailure failure, StoreOperation operation, String key, Fault fault, int status) {
    return new StoreException(failure, operation, key, "injected: fault=" + fault)
        .withHttpStatus(status);
  }

  @Override
  public CompletableFuture<PutOutcome> putIfAbsent(String key, Payload body) {
    return run(
        StoreOperation.PUT_IF_ABSENT,
        key,
        () -> inner.putIfAbsent(key, body),
        fault -> {
          if (fault == Fault.APPLIED_LATE) {
            Payload copy = copy(StoreOperation.PUT_IF_ABSENT, key, body);
            return later(StoreOperation.PUT_IF_ABSENT, key, () -> inner.putIfAbsent(key, copy));
          }
          return StoreFuture.follow(inner.putIfAbsent(key, body), outcome -> PutOutcome.EXISTS);
        });
  }

  @Override
  public CompletableFuture<Void> put(String key, Payload body) {
    return run(
        StoreOperation.PUT,
        key,
        () -> inner.put(key, body),
        fault -> {
          Payload copy = copy(StoreOperation.PUT, key, body);
          return later(StoreOperation.PUT, key, () -> inner.put(key, copy));
        });
  }

  @Override
  public CompletableFuture<Bytes> get(String key, @Nullable ByteRange range, long maxLengthBytes) {
    return run(
        StoreOperation.GET,
        key,
        () -> inner.get(key, range, maxLengthBytes),
        fault ->
            StoreFuture.follow(
                inner.get(key, range, maxLengthBytes), bytes -> damaged(key, bytes, fault)));
  }

  private Bytes damaged(String key, Bytes bytes, Fault fault) {
    if (fault == Fault.TRUNCATED) {
      throw failure(StoreFailure.BAD_ANSWER, StoreOperation.GET, key, fault, 0);
    }
    byte[] copy = bytes.toByteArray();
    if (copy.length > 0) {
      int bit = (int) nextBelow(copy.length * 8L);
      copy[bit / 8] ^= (byte) (1 << (bit % 8));
    }
    return Bytes.wrap(copy);
  }

  @Override
  public CompletableFuture<Long> getInto(
      String key, ByteRange range, Path file, long position, RangeReceiver receiver) {
    return run(
        StoreOperation.GET_INTO,
        key,
        () -> inner.getInto(key, range, file, position, receiver),
        fault -> {
          // Nobody hears of bytes that are not yet as they will be, but what was there is no more.
          receiver.onBegin();
          if (fault == Fault.FLIPPED_BIT) {
            return StoreFuture.follow(
                inner.getInto(key, range, file, position),
                length -> {
                  flipBit(file, position, length);
                  return length;
                });
          }
          StoreException cut =
              failure(StoreFailure.BAD_ANSWER, StoreOperation.GET_INTO, key, fault, 0);
          long half = range.lengthBytes() / 2;
          return half == 0
              ? StoreFuture.failed(cut)
              : afterwards(
                  inner.getInto(key, new ByteRange(range.offset(), half), file, position), cut);
        });
  }

  private void flipBit(Path file, long position, long lengthBytes) {
    long bit = nextBelow(lengthBytes * 8);
    ByteBuffer one = ByteBuffer.allocate(1);
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      channel.read(one, position + bit / 8);
      one.put(0, (byte) (one.get(0) ^ (1 << (bit % 8)))).rewind();
      channel.write(one, position + bit / 8);
    } catch (IOException e) {
      throw new StoreException(
          StoreFailure.CONFIG, StoreOperation.GET_INTO, file.toString(), "cannot damage it: " + e);
    }
  }

  @Override
  public CompletableFuture<ObjectInfo> head(String key) {
    return run(StoreOperation.HEAD, key, () -> inner.head(key), FaultStore::unfit);
  }

  @Override
  public CompletableFuture<Listing> list(String prefix, int limit) {
    return run(
        StoreOperation.LIST,
        prefix,
        () -> inner.list(prefix, limit),
        fault -> StoreFuture.follow(inner.list(prefix, limit), this::withHole));
  }

  private Listing withHole(Listing listing) {
    List<ListedObject> seen = new ArrayList<>(listing.objects());
    if (!seen.isEmpty()) {
      seen.remove((int) nextBelow(seen.size()));
      seen.removeIf(object -> nextBelow(4) == 0);
    }
    return new Listing(seen, listing.truncated());
  }

  @Override
  public CompletableFuture<List<String>> delete(List<String> keys) {
    List<String> all = List.copyOf(keys);
    return run(
        StoreOperation.DELETE,
        all.isEmpty() ? "" : all.getFirst(),
        () -> inner.delete(all),
        fault ->
            later(
                StoreOperation.DELETE,
                all.isEmpty() ? "" : all.getFirst(),
                () -> inner.delete(all)));
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
    takeHung().forEach(request -> request.fail().run());
    inner.close();
  }
}
