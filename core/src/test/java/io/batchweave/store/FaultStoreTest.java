package io.batchweave.store;

import static io.batchweave.store.Outcomes.await;
import static io.batchweave.store.Outcomes.bytes;
import static io.batchweave.store.Outcomes.failure;
import static io.batchweave.store.Outcomes.payload;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.store.FaultStore.Fault;
import io.batchweave.store.file.FileObjectStore;
import io.batchweave.store.file.FileObjectStore.Durability;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
final class FaultStoreTest {
  @TempDir Path directory;

  private FaultStore store;

  @BeforeEach
  void open() {
    store = open(1);
    await(store.put("first", payload(1, 1)));
  }

  private FaultStore open(long seed) {
    return new FaultStore(
        FileObjectStore.open(directory.resolve("root"), Durability.PAGE_CACHE, 2), seed);
  }

  @AfterEach
  void close() {
    store.close();
  }

  @Test
  void shouldDistinguishLostAnswersFromLostRequests() {
    store.script(StoreOperation.PUT, "landed", Fault.ANSWER_LOST);
    store.script(StoreOperation.PUT, "lost", Fault.REQUEST_LOST);
    assertEquals(StoreFailure.UNCLEAR, failure(store.put("landed", payload(1, 5))).failure());
    assertEquals(StoreFailure.UNCLEAR, failure(store.put("lost", payload(1, 5))).failure());
    assertEquals(5, await(store.head("landed")).sizeBytes());
    assertEquals(StoreFailure.NOT_FOUND, failure(store.head("lost")).failure());
    assertEquals(1, store.injected(Fault.ANSWER_LOST));
  }

  @Test
  void shouldApplyLateWithTheBytesOfThen() {
    byte[] reused = bytes(1, 20);
    store.script(StoreOperation.PUT_IF_ABSENT, "v", Fault.APPLIED_LATE);
    Payload body = Payload.of(List.of(ByteBuffer.wrap(reused)));
    assertEquals(StoreFailure.UNCLEAR, failure(store.putIfAbsent("v", body)).failure());
    Arrays.fill(reused, (byte) 0);
    assertEquals(StoreFailure.NOT_FOUND, failure(store.head("v")).failure());
    await(store.applyLate());
    assertArrayEquals(bytes(1, 20), await(store.get("v", null, 20)).toByteArray());
    await(store.applyLate());
  }

  @Test
  void shouldAnswerExistsForItsOwnCreateWhenTold() {
    store.script(StoreOperation.PUT_IF_ABSENT, "v", Fault.LANDED_BUT_EXISTS);
    assertEquals(PutOutcome.EXISTS, await(store.putIfAbsent("v", payload(1, 20))));
    assertArrayEquals(bytes(1, 20), await(store.get("v", null, 20)).toByteArray());
  }

  @Test
  void shouldFlipExactlyOneBit() throws Exception {
    await(store.put("key", payload(1, 1000)));
    store.script(StoreOperation.GET, "key", Fault.FLIPPED_BIT);
    store.script(StoreOperation.GET_INTO, "key", Fault.FLIPPED_BIT);
    byte[] read = await(store.get("key", null, 1000)).toByteArray();
    assertEquals(1, differingBits(bytes(1, 1000), read));
    Path file = Files.write(directory.resolve("target"), new byte[1000]);
    await(store.getInto("key", new ByteRange(0, 1000), file, 0));
    assertEquals(1, differingBits(bytes(1, 1000), Files.readAllBytes(file)));
    assertArrayEquals(bytes(1, 1000), await(store.get("key", null, 1000)).toByteArray());
  }

  private static int differingBits(byte[] expected, byte[] actual) {
    int bits = 0;
    for (int i = 0; i < expected.length; i++) {
      bits += Integer.bitCount((expected[i] ^ actual[i]) & 0xFF);
    }
    return bits;
  }

  @Test
  void shouldWriteHalfWhenTruncated() throws Exception {
    await(store.put("key", payload(1, 1000)));
    store.script(StoreOperation.GET_INTO, "key", Fault.TRUNCATED);
    Path file = Files.write(directory.resolve("target"), new byte[1000]);
    StoreException failure = failure(store.getInto("key", new ByteRange(0, 1000), file, 0));
    assertEquals(StoreFailure.BAD_ANSWER, failure.failure());
    byte[] half = Arrays.copyOf(Arrays.copyOf(bytes(1, 1000), 500), 1000);
    assertArrayEquals(half, Files.readAllBytes(file));
  }

  @Test
  void shouldLeaveAHoleInAList() {
    for (int i = 0; i < 10; i++) {
      await(store.put("group/" + i, payload(1, 1)));
    }
    store.script(StoreOperation.LIST, "group/", Fault.LIST_HOLE);
    Listing holed = await(store.list("group/", 100));
    assertTrue(holed.objects().size() < 10);
    assertFalse(holed.truncated());
    assertEquals(10, await(store.list("group/", 100)).objects().size());
  }

  @Test
  void shouldHangUntilReleasedCancelledOrClosed() {
    await(store.put("key", payload(1, 10)));
    store.script(StoreOperation.GET, key -> true, Fault.HANG, 3);
    CompletableFuture<?> released = store.get("key", null, 10);
    CompletableFuture<?> cancelled = store.get("key", null, 10);
    assertFalse(released.isDone());
    assertTrue(cancelled.cancel(false));
    assertEquals(1, store.releaseHung());
    await(released);
    CompletableFuture<?> closed = store.get("key", null, 10);
    store.close();
    assertEquals(StoreFailure.CLOSED, failure(closed).failure());
  }

  @Test
  void shouldFailAlikeForTheSameSeed() {
    assertEquals(outcomes(7), outcomes(7));
    assertFalse(outcomes(7).equals(outcomes(8)), "another seed, other faults");
  }

  private List<String> outcomes(long seed) {
    List<String> outcomes = new ArrayList<>();
    try (FaultStore seeded = open(seed)) {
      await(seeded.put("key", payload(1, 10)));
      seeded.randomly(StoreOperation.HEAD, Fault.ERROR_500, 0.3);
      seeded.randomly(StoreOperation.HEAD, Fault.THROTTLED_429, 0.3);
      for (int i = 0; i < 50; i++) {
        outcomes.add(seeded.head("key").handle((info, thrown) -> String.valueOf(thrown)).join());
      }
      assertTrue(seeded.injected(Fault.ERROR_500) > 0);
      assertTrue(seeded.injected(Fault.THROTTLED_429) > 0);
      seeded.heal();
      await(seeded.head("key"));
    }
    return outcomes;
  }

  @Test
  void shouldRefuseFaultsThatCannotHappen() {
    assertThrows(
        IllegalArgumentException.class,
        () -> store.script(StoreOperation.GET, "key", Fault.APPLIED_LATE));
    assertThrows(
        IllegalArgumentException.class,
        () -> store.randomly(StoreOperation.PUT, Fault.LANDED_BUT_EXISTS, 0.1));
    assertThrows(
        IllegalArgumentException.class,
        () -> store.script(StoreOperation.HEAD, "key", Fault.LIST_HOLE));
  }
}
