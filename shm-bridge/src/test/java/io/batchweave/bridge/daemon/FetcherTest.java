package io.batchweave.bridge.daemon;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.Bytes;
import io.batchweave.bridge.daemon.DaemonContext.OnCorrupt;
import io.batchweave.bridge.memory.FileAccess;
import io.batchweave.bridge.memory.Headroom;
import io.batchweave.bridge.memory.Mapping;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.memory.Protection;
import io.batchweave.bridge.memory.RingAllocation;
import io.batchweave.bridge.memory.SharedFile;
import io.batchweave.bridge.ring.FailReason;
import io.batchweave.bridge.ring.FetchMode;
import io.batchweave.format.SliceEntry;
import io.batchweave.read.SlicePlan;
import io.batchweave.store.ByteRange;
import io.batchweave.store.FaultStore;
import io.batchweave.store.FaultStore.Fault;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Payload;
import io.batchweave.store.RangeReceiver;
import io.batchweave.store.RetryingStore;
import io.batchweave.store.StoreOperation;
import io.batchweave.store.Stores;
import io.batchweave.store.s3proxy.LocalS3;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.zip.CRC32C;
import org.agrona.concurrent.SystemNanoClock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The fetcher against a real store and a real ring in shared memory. */
@Timeout(180)
class FetcherTest {
  private static final NativeMemory MEMORY = NativeMemory.system();
  private static final SystemNanoClock CLOCK = SystemNanoClock.INSTANCE;
  private static final String KEY = "data/00/p/1.1-1.0.tgb";
  private static final int RING_BYTES = 4 << 20;
  private static final int ATTEMPTS = 3;

  @TempDir Path root;
  private Path directory;
  private Path ring;
  private Mapping mapping;
  private FaultStore store;
  private FetchMode mode = FetchMode.FRESH;
  private final DaemonMetrics metrics = new DaemonMetrics();
  private final AtomicInteger wakes = new AtomicInteger();
  private Fetcher fetcher;

  /** What a listener was told. */
  private static final class Outcome implements RegionFetch.Listener {
    private String said = "";
    private FetchFailure failure = FetchFailure.NONE;

    @Override
    public void onFetched(RegionFetch fetch) {
      said += "fetched ";
    }

    @Override
    public void onFailed(RegionFetch fetch, FetchFailure cause) {
      said += "failed ";
      failure = cause;
    }

    @Override
    public void onStopped(RegionFetch fetch) {
      said += "stopped ";
    }
  }

  @BeforeEach
  void open() throws IOException {
    directory = Files.createTempDirectory(Path.of("/dev/shm"), "bw-fetcher-");
    ring = directory.resolve("ring-0.data");
    new RingAllocation(MEMORY, new Headroom(MEMORY), 0).create(ring, RING_BYTES, 0600);
    try (SharedFile file = MEMORY.open(ring, FileAccess.READ_WRITE)) {
      mapping = file.map(RING_BYTES, Protection.READ_WRITE);
    }
    store = new FaultStore(Stores.open(root.toString(), Map.of()), 1);
    fetcher = newFetcher(OnCorrupt.FAIL);
  }

  @AfterEach
  void close() throws IOException {
    fetcher.close();
    store.close();
    mapping.close();
    Files.delete(ring);
    Files.delete(directory);
  }

  private Fetcher newFetcher(OnCorrupt onCorrupt) {
    return new Fetcher(
        new Fetcher.Settings(64, ATTEMPTS, onCorrupt, 1), CLOCK, metrics, wakes::incrementAndGet);
  }

  private static byte[] random(int length) {
    byte[] bytes = new byte[length];
    new SplittableRandom(length).nextBytes(bytes);
    return bytes;
  }

  private void upload(byte[] object) {
    store.put(KEY, Payload.of(Bytes.copyOf(object))).join();
  }

  private static SlicePlan.PlannedSlice slice(int dp, byte[] object, int from, int to, int start) {
    CRC32C crc = new CRC32C();
    crc.update(object, from, to - from);
    return new SlicePlan.PlannedSlice(
        dp,
        0,
        from - start,
        new SliceEntry(from, to - from, (int) crc.getValue(), 1, 1, to - from));
  }

  private static RegionPlan plan(byte[] object) {
    int half = object.length / 2 / 64 * 64;
    return RegionPlan.of(
        7,
        new SlicePlan(
            KEY,
            List.of(
                new SlicePlan.Range(
                    new ByteRange(0, object.length),
                    List.of(
                        slice(0, object, 0, half, 0), slice(1, object, half, object.length, 0))))));
  }

  private RegionFetch fetch(byte[] object, long position, Outcome outcome) {
    return region(store, plan(object), position, outcome);
  }

  private RegionFetch region(ObjectStore from, RegionPlan plan, long position, Outcome outcome) {
    RegionFetch fetch =
        new RegionFetch(from, plan, new RegionFetch.Target(ring, mapping, position), mode, outcome);
    fetcher.start(fetch);
    return fetch;
  }

  private void run(BooleanSupplier until) {
    long deadlineNs = CLOCK.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (!until.getAsBoolean()) {
      assertTrue(CLOCK.nanoTime() - deadlineNs < 0, "condition not met in time");
      if (fetcher.doWork() == 0) {
        LockSupport.parkNanos(100_000);
      }
    }
  }

  private byte[] ringBytes(long position, int length) {
    return mapping.segment().asSlice(position, length).toArray(ValueLayout.JAVA_BYTE);
  }

  private void assertDelivered(byte[] object, Outcome outcome) {
    run(() -> !outcome.said.isEmpty());
    assertEquals("fetched ", outcome.said, outcome.failure.text());
    int table = 3 * RegionPlan.TABLE_UNIT_BYTES;
    assertArrayEquals(object, ringBytes(table, object.length));
    assertEquals(0, fetcher.inFlight());
  }

  @Test
  void shouldReadStraightIntoItsPlaceAndTouchNothingElse() {
    byte[] object = random(100_003);
    upload(object);
    mapping.segment().fill((byte) 0x5a);
    Outcome outcome = new Outcome();

    RegionFetch fetch = fetch(object, 0, outcome);

    assertDelivered(object, outcome);
    int table = 3 * RegionPlan.TABLE_UNIT_BYTES;
    assertEquals(table + object.length, fetch.plan().lengthBytes());
    byte[] before = new byte[table];
    Arrays.fill(before, (byte) 0x5a);
    assertArrayEquals(before, ringBytes(0, table));
    byte[] after = new byte[4096];
    Arrays.fill(after, (byte) 0x5a);
    assertArrayEquals(after, ringBytes(table + object.length, after.length));
    assertEquals(1, metrics.fetches.sum());
    assertEquals(object.length, metrics.bytesFetched.sum());
  }

  @Test
  void shouldWakeTheAgentWhenAFetchHasEnded() {
    upload(random(50_000));
    fetch(random(50_000), 0, new Outcome());
    fetcher.doWork();

    long deadlineNs = CLOCK.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (wakes.get() == 0 && CLOCK.nanoTime() - deadlineNs < 0) {
      LockSupport.parkNanos(100_000);
    }

    assertEquals(1, wakes.get());
    assertEquals(1, fetcher.inFlight());
    assertTrue(fetcher.doWork() > 0);
    assertEquals(0, fetcher.inFlight());
  }

  /** U28. */
  @Test
  void shouldFetchAgainWhenABitIsFlipped() {
    byte[] object = random(50_000);
    upload(object);
    store.script(StoreOperation.GET_INTO, KEY, Fault.FLIPPED_BIT);
    Outcome outcome = new Outcome();

    fetch(object, 0, outcome);

    assertDelivered(object, outcome);
    assertEquals(1, metrics.checksumFailures.sum());
    assertEquals(1, metrics.refetches.sum());
  }

  /** U28: that all came right before, without the store's knowing, does not count. */
  @Test
  void shouldFetchAgainWhenABitIsFlippedInTheStoresSecondAttempt() {
    byte[] object = random(50_000);
    upload(object);
    store.script(StoreOperation.GET_INTO, KEY, Fault.ANSWER_LOST);
    store.script(StoreOperation.GET_INTO, KEY, Fault.FLIPPED_BIT);
    Outcome outcome = new Outcome();

    region(new RetryingStore(store, 1), plan(object), 0, outcome);

    assertDelivered(object, outcome);
    assertEquals(1, metrics.checksumFailures.sum());
    assertEquals(1, metrics.refetches.sum());
  }

  /** U28. */
  @Test
  void shouldFetchAgainWhenTheBodyIsShort() {
    byte[] object = random(50_000);
    upload(object);
    store.script(StoreOperation.GET_INTO, KEY, Fault.TRUNCATED);
    Outcome outcome = new Outcome();

    fetch(object, 0, outcome);

    assertDelivered(object, outcome);
    assertEquals(1, metrics.refetches.sum());
  }

  /** U28. */
  @Test
  void shouldFailWithObjectAndAttemptsWhenTheObjectIsShortByOneByte() {
    byte[] object = random(50_000);
    upload(Arrays.copyOf(object, object.length - 1));
    Outcome outcome = new Outcome();

    fetch(object, 0, outcome);

    run(() -> !outcome.said.isEmpty());
    assertEquals("failed ", outcome.said);
    assertEquals(FailReason.CORRUPT, outcome.failure.reason());
    String text = outcome.failure.text();
    assertTrue(text.contains("key=" + KEY), text);
    assertTrue(text.contains("attempts=" + ATTEMPTS), text);
    assertTrue(text.contains("step=7"), text);
  }

  /** U28. */
  @Test
  void shouldNameTheSliceWhenItsBytesStayWrong() {
    byte[] object = random(50_000);
    byte[] wrong = object.clone();
    wrong[object.length - 1] ^= 1;
    upload(wrong);
    Outcome outcome = new Outcome();

    fetch(object, 0, outcome);

    run(() -> !outcome.said.isEmpty());
    assertEquals("failed ", outcome.said);
    assertTrue(outcome.failure.text().contains("slice dp=1 cp=0"), outcome.failure.text());
    assertEquals(ATTEMPTS, metrics.checksumFailures.sum());
  }

  @Test
  void shouldGoOnTryingWhenToldSoThoughTheBytesStayWrong() {
    byte[] object = random(50_000);
    byte[] wrong = object.clone();
    wrong[0] ^= 1;
    upload(wrong);
    fetcher.close();
    fetcher = newFetcher(OnCorrupt.RETRY);
    Outcome outcome = new Outcome();
    RegionFetch fetch = fetch(object, 0, outcome);

    run(() -> metrics.checksumFailures.sum() > ATTEMPTS);
    assertEquals("", outcome.said);
    assertTrue(fetch.trouble().contains("slice dp=0 cp=0"), fetch.trouble());
    upload(object);
    assertDelivered(object, outcome);
  }

  @Test
  void shouldGoOnTryingWhileTheStoreIsAway() {
    byte[] object = random(50_000);
    upload(object);
    store.script(StoreOperation.GET_INTO, KEY::equals, Fault.UNREACHABLE, 5);
    Outcome outcome = new Outcome();
    RegionFetch fetch = fetch(object, 0, outcome);

    run(() -> !fetch.trouble().isEmpty());
    assertTrue(fetch.trouble().contains("UNREACHABLE"), fetch.trouble());
    assertDelivered(object, outcome);
    assertEquals("", fetch.trouble());
    assertEquals(5, metrics.fetchFailures.sum());
  }

  @Test
  void shouldFailAtOnceWhenTryingAgainIsPointless() {
    byte[] object = random(5_000);
    upload(object);
    store.script(StoreOperation.GET_INTO, KEY, Fault.ACCESS_DENIED_403);
    Outcome denied = new Outcome();
    fetch(object, 0, denied);
    run(() -> !denied.said.isEmpty());
    assertEquals("failed ", denied.said);
    assertEquals(FailReason.CONFIG, denied.failure.reason());
    store.delete(List.of(KEY)).join();
    Outcome missing = new Outcome();
    fetch(object, 0, missing);
    run(() -> !missing.said.isEmpty());
    assertEquals("failed ", missing.said);
    assertEquals(FailReason.MISSING, missing.failure.reason());
  }

  @Test
  void shouldSendNothingWhenTheRightBytesAreThere() {
    byte[] object = random(50_000);
    upload(object);
    fetch(object, 0, new Outcome());
    run(() -> metrics.bytesFetched.sum() > 0);
    mode = FetchMode.VERIFY_FIRST;
    Outcome kept = new Outcome();
    fetch(object, 0, kept);
    assertDelivered(object, kept);
    assertEquals(1, metrics.fetches.sum());
    mapping.segment().set(ValueLayout.JAVA_BYTE, 4_000, (byte) (object[0] ^ object[1] ^ 0x55));
    mapping.segment().set(ValueLayout.JAVA_BYTE, 4_001, (byte) (object[0] ^ object[1] ^ 0x33));
    Outcome again = new Outcome();
    fetch(object, 0, again);
    assertDelivered(object, again);
    assertEquals(2, metrics.fetches.sum());
    assertEquals(0, metrics.checksumFailures.sum());
  }

  /** U28: what was right when it first came does not count once it comes again. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void shouldCheckAgainWhatTheStoreBringsAgain(boolean lent) {
    byte[] object = random(900_000);
    byte[] wrong = object.clone();
    wrong[100] ^= 1;
    upload(object);
    Outcome outcome = new Outcome();
    AtomicInteger requests = new AtomicInteger();
    ObjectStore twice =
        (ObjectStore)
            Proxy.newProxyInstance(
                ObjectStore.class.getClassLoader(),
                new Class<?>[] {ObjectStore.class},
                (proxy, method, arguments) ->
                    method.getName().equals("getInto") && requests.getAndIncrement() == 0
                        ? bringTwice(object, wrong, lent, (RangeReceiver) arguments[4])
                        : method.invoke(store, arguments));
    region(twice, plan(object), 0, outcome);
    run(() -> metrics.checksumFailures.sum() == 1);
    assertDelivered(object, outcome);
    assertEquals(2, requests.get());
  }

  private CompletableFuture<Long> bringTwice(
      byte[] right, byte[] wrong, boolean lent, RangeReceiver receiver) {
    for (byte[] bytes : List.of(right, wrong)) {
      receiver.onBegin();
      if (lent) {
        receiver.onBytes(0, ByteBuffer.allocateDirect(bytes.length).put(bytes).flip());
      } else {
        int table = 3 * RegionPlan.TABLE_UNIT_BYTES;
        mapping.segment().asSlice(table, bytes.length).copyFrom(MemorySegment.ofArray(bytes));
        receiver.onWritten(bytes.length);
      }
    }
    return CompletableFuture.completedFuture((long) right.length);
  }

  @Test
  void shouldStopOnlyWhenNothingWritesAnyMore() {
    byte[] object = random(5_000);
    upload(object);
    store.script(StoreOperation.GET_INTO, KEY, Fault.HANG);
    Outcome outcome = new Outcome();
    RegionFetch fetch = fetch(object, 0, outcome);
    run(() -> fetcher.inFlight() == 1);

    fetcher.cancel(fetch);

    run(() -> !outcome.said.isEmpty());
    assertEquals("stopped ", outcome.said);
    assertEquals(0, fetcher.inFlight());
  }

  /** U33: adjacent, unaligned parts written at the same time by 64 requests. */
  @Test
  void shouldWriteNoWrongByteWithAdjacentUnalignedRangesAtOnce() {
    fetchAdjacent(store, 5);
  }

  /** U33 by the client of the AWS runtime, which writes the file itself. */
  @Test
  void shouldWriteNoWrongByteWithAdjacentUnalignedRangesAtOnceFromS3() {
    try (LocalS3 server = LocalS3.start(root.resolve("s3"))) {
      server.createBucket("corpus");
      try (ObjectStore s3 = Stores.open(server.url("corpus", "x"), server.environment())) {
        fetchAdjacent(s3, 3);
      }
    }
  }

  private void fetchAdjacent(ObjectStore from, int rounds) {
    int each = 10_007;
    byte[] object = random(64 * each);
    from.put(KEY, Payload.of(Bytes.copyOf(object))).join();
    for (int round = 0; round < rounds; round++) {
      mapping.segment().fill((byte) 0);
      List<RegionPlan.Part> parts = new ArrayList<>();
      for (int i = 0; i < 64; i++) {
        int start = i * each;
        parts.add(
            new RegionPlan.Part(
                new SlicePlan.Range(
                    new ByteRange(start, each),
                    List.of(slice(i, object, start, start + each, start))),
                start));
      }
      Outcome outcome = new Outcome();
      region(from, new RegionPlan(1, KEY, parts, object.length), 13, outcome);
      run(() -> !outcome.said.isEmpty());
      assertEquals("fetched ", outcome.said, outcome.failure.text());
      assertEquals(
          -1, mapping.segment().asSlice(13, object.length).mismatch(MemorySegment.ofArray(object)));
      assertEquals(0, mapping.segment().get(ValueLayout.JAVA_BYTE, 12));
      assertEquals(0, mapping.segment().get(ValueLayout.JAVA_BYTE, 13L + object.length));
    }
    assertEquals(0, metrics.checksumFailures.sum());
    assertEquals(rounds * 64L, metrics.fetches.sum());
  }
}
