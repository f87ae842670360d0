package io.batchweave.store;

import static io.batchweave.store.Outcomes.await;
import static io.batchweave.store.Outcomes.bytes;
import static io.batchweave.store.Outcomes.failure;
import static io.batchweave.store.Outcomes.payload;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.store.FaultStore.Fault;
import io.batchweave.store.file.FileObjectStore;
import io.batchweave.store.file.FileObjectStore.Durability;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.agrona.concurrent.SystemNanoClock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
final class RetryingStoreTest {
  private static final RetryPolicy FAST =
      new RetryPolicy(
          4,
          TimeUnit.MICROSECONDS.toNanos(100),
          TimeUnit.MILLISECONDS.toNanos(1),
          TimeUnit.SECONDS.toNanos(60));
  private static final RetryPolicy PATIENT =
      new RetryPolicy(
          1000, TimeUnit.HOURS.toNanos(1), TimeUnit.HOURS.toNanos(1), TimeUnit.DAYS.toNanos(1));

  @TempDir Path directory;

  private MeteredStore meter;
  private FaultStore faults;

  @BeforeEach
  void open() {
    faults =
        new FaultStore(
            FileObjectStore.open(directory.resolve("root"), Durability.PAGE_CACHE, 2), 1);
    meter = new MeteredStore(faults, SystemNanoClock.INSTANCE);
    await(faults.put("key", payload(1, 100)));
  }

  @AfterEach
  void close() {
    meter.close();
  }

  private RetryingStore retrying(RetryPolicy policy) {
    return new RetryingStore(meter, policy, SystemNanoClock.INSTANCE, new SplittableRandom(1));
  }

  @Test
  void shouldRepeatReadsUntilTheySucceed() throws Exception {
    RetryingStore store = retrying(FAST);
    Path file = Files.write(directory.resolve("target"), new byte[100]);
    faults.script(StoreOperation.GET, "key", Fault.THROTTLED_503);
    faults.script(StoreOperation.GET, "key", Fault.TRUNCATED);
    assertArrayEquals(bytes(1, 100), await(store.get("key", null, 100)).toByteArray());
    faults.script(StoreOperation.GET_INTO, "key", Fault.TRUNCATED);
    assertEquals(100L, await(store.getInto("key", new ByteRange(0, 100), file, 0)));
    assertArrayEquals(bytes(1, 100), Files.readAllBytes(file));
    faults.script(StoreOperation.HEAD, "key", Fault.ERROR_500);
    assertEquals(100, await(store.head("key")).sizeBytes());
    faults.script(StoreOperation.LIST, "", Fault.UNREACHABLE);
    assertEquals(1, await(store.list("", 10)).objects().size());
    assertEquals(3, meter.snapshot().of(StoreOperation.GET).requests());
    assertEquals(2, meter.snapshot().of(StoreOperation.GET_INTO).requests());
  }

  @Test
  void shouldRepeatUnconditionalWrites() {
    RetryingStore store = retrying(FAST);
    faults.script(StoreOperation.PUT, "data", Fault.ANSWER_LOST);
    await(store.put("data", payload(2, 10)));
    faults.script(StoreOperation.DELETE, "data", Fault.ANSWER_LOST);
    assertEquals(List.of(), await(store.delete(List.of("data"))));
    assertEquals(2, meter.snapshot().of(StoreOperation.PUT).requests());
    assertEquals(2, meter.snapshot().of(StoreOperation.DELETE).requests());
  }

  /** A1: a second attempt would turn the first one's success into "exists". */
  @Test
  void shouldNeverRepeatAConditionalCreate() {
    RetryingStore store = retrying(FAST);
    for (Fault fault :
        List.of(
            Fault.ANSWER_LOST,
            Fault.REQUEST_LOST,
            Fault.CONFLICT_409,
            Fault.THROTTLED_503,
            Fault.UNREACHABLE,
            Fault.ERROR_500)) {
      faults.script(StoreOperation.PUT_IF_ABSENT, key -> true, fault, 1);
      long before = meter.snapshot().of(StoreOperation.PUT_IF_ABSENT).requests();
      failure(store.putIfAbsent("v/" + fault.name(), payload(1, 1)));
      assertEquals(before + 1, meter.snapshot().of(StoreOperation.PUT_IF_ABSENT).requests());
    }
  }

  @Test
  void shouldNotRepeatWhatCannotSucceed() {
    RetryingStore store = retrying(FAST);
    assertEquals(StoreFailure.NOT_FOUND, failure(store.get("none", null, 1)).failure());
    faults.script(StoreOperation.GET, "key", Fault.ACCESS_DENIED_403);
    assertEquals(StoreFailure.ACCESS_DENIED, failure(store.get("key", null, 100)).failure());
    assertEquals(2, meter.snapshot().of(StoreOperation.GET).requests());
  }

  /** B6: a retry loop ends at its cap of attempts with the last failure. */
  @Test
  void shouldGiveUpAtTheCapOfAttempts() {
    RetryingStore store = retrying(FAST);
    faults.script(StoreOperation.GET, key -> true, Fault.ERROR_500, 100);
    StoreException failure = failure(store.get("key", null, 100));
    assertEquals(StoreFailure.UNCLEAR, failure.failure());
    assertEquals(4, failure.attempts());
    assertEquals(500, failure.httpStatus());
    assertTrue(failure.getMessage().contains("attempts=4"), failure.getMessage());
    assertEquals(4, meter.snapshot().of(StoreOperation.GET).requests());
  }

  /** B6: and at its deadline, whatever the attempts. */
  @Test
  void shouldGiveUpAtTheDeadline() {
    AtomicLong now = new AtomicLong();
    RetryPolicy policy = new RetryPolicy(1000, 1000, 1000, TimeUnit.SECONDS.toNanos(10));
    RetryingStore store =
        new RetryingStore(
            meter,
            policy,
            () -> now.getAndAdd(TimeUnit.SECONDS.toNanos(3)),
            new SplittableRandom(1));
    faults.script(StoreOperation.GET, key -> true, Fault.THROTTLED_429, 1000);
    StoreException failure = failure(store.get("key", null, 100));
    assertEquals(StoreFailure.THROTTLED, failure.failure());
    assertEquals(4, failure.attempts(), "at 3, 6 and 9 s it went on, at 12 s no more");
    assertTrue(failure.getMessage().contains("deadline"), failure.getMessage());
  }

  /** B6: and on shutdown, at once, typed. */
  @Test
  void shouldEndWaitsWhenClosed() {
    RetryingStore store = retrying(PATIENT);
    faults.script(StoreOperation.GET, key -> true, Fault.ERROR_500, 100);
    CompletableFuture<?> read = store.get("key", null, 100);
    assertFalse(read.isDone());
    store.close();
    StoreException failure = failure(read);
    assertEquals(StoreFailure.CLOSED, failure.failure());
    assertEquals(1, failure.attempts());
    assertEquals(StoreFailure.CLOSED, failure(store.get("key", null, 1)).failure());
  }

  @Test
  void shouldEndAWaitWhenCancelled() {
    RetryingStore store = retrying(PATIENT);
    faults.script(StoreOperation.GET, key -> true, Fault.ERROR_500, 100);
    CompletableFuture<?> read = store.get("key", null, 100);
    assertTrue(read.cancel(false));
    assertTrue(read.isCancelled());
    assertEquals(1, meter.snapshot().of(StoreOperation.GET).requests());
    store.close();
  }

  @Test
  void shouldDoubleItsWaitsUpToTheCap() {
    RetryPolicy policy = new RetryPolicy(10, 100, 1000, 1);
    assertEquals(50, policy.backoffNs(1, 0));
    assertEquals(99, policy.backoffNs(1, 0.999));
    assertEquals(100, policy.backoffNs(2, 0));
    assertEquals(400, policy.backoffNs(4, 0));
    assertEquals(500, policy.backoffNs(5, 0));
    assertEquals(500, policy.backoffNs(100, 0));
    assertEquals(750, policy.backoffNs(100, 0.5));
  }
}
