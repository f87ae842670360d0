package io.batchweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.Grid;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.StreamCodec;
import io.batchweave.format.StreamDescriptor;
import io.batchweave.produce.TgbBuilder;
import io.batchweave.store.FaultStore;
import io.batchweave.store.FaultStore.Fault;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Payload;
import io.batchweave.store.RetryingStore;
import io.batchweave.store.StoreOperation;
import io.batchweave.store.Stores;
import io.batchweave.store.file.FileObjectStore;
import io.batchweave.store.s3proxy.LocalS3;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The clients over real stores that fail: files, and S3 in this process. */
@Timeout(120)
class ProducerFaultTest {

  @TempDir static Path root;
  private static LocalS3 localS3;
  private static int streams;

  @BeforeAll
  static void start() {
    localS3 = LocalS3.start(root.resolve("s3"));
    localS3.createBucket("bucket");
  }

  @AfterAll
  static void stop() {
    localS3.close();
  }

  private static FaultStore open(String kind) {
    String name = "stream-" + streams++;
    ObjectStore real =
        kind.equals("s3")
            ? Stores.open(localS3.url("bucket", name), localS3.environment())
            : FileObjectStore.open(root.resolve(name));
    Streams.create(real, TestBatches.GRID);
    return new FaultStore(real, 99);
  }

  private static void produce(ObjectStore store, long lastSeq) {
    List<Long> seqs = Collections.synchronizedList(new ArrayList<>());
    try (Producer producer =
        Producer.open(
            new ProducerContext()
                .store(store)
                .producerId("p")
                .commitListener((seq, step) -> seqs.add(seq)))) {
      for (long seq = producer.nextSeq(); seq <= lastSeq; seq++) {
        assertEquals(seq, producer.add(TestBatches.tgb("p", seq), TestBatches.stateAfter(seq)));
      }
      producer.flush(TestBatches.TIMEOUT_NS);
      assertEquals(lastSeq + 1, producer.committedSeq());
    }
    assertEquals(seqs.stream().sorted().distinct().toList(), seqs, "told once each, in order");
  }

  /** A1: the answer of a landed version is lost, and it is told "exists" for its own version. */
  @ParameterizedTest
  @ValueSource(strings = {"file", "s3"})
  void shouldCommitOnceWhenTheAnswerOfALandedVersionIsLost(String kind) {
    try (FaultStore store = open(kind)) {
      store.script(
          StoreOperation.PUT_IF_ABSENT, ProducerFaultTest::isVersion, Fault.ANSWER_LOST, 2);
      store.script(
          StoreOperation.PUT_IF_ABSENT, ProducerFaultTest::isVersion, Fault.LANDED_BUT_EXISTS, 2);
      produce(store, 12);
      assertEquals(2, store.injected(Fault.ANSWER_LOST));
      assertEquals(Map.of("p", 12L), TestBatches.check(store));
    }
  }

  /** A store that is silent is no trouble of its own: the error says what is waited for. */
  @Test
  void shouldSayWhatItWaitsForWhenItDoesNotOpen() {
    try (FaultStore store = open("file")) {
      store.script(StoreOperation.GET, ObjectNames.STREAM, Fault.HANG);
      long timeoutNs = TimeUnit.HOURS.toNanos(1);
      ProducerContext context =
          new ProducerContext()
              .store(store)
              .producerId("p")
              .openTimeoutNs(timeoutNs)
              .nanoClock(
                  () -> System.nanoTime() + (store.injected(Fault.HANG) > 0 ? timeoutNs : 0));
      BatchWeaveException thrown =
          assertThrows(BatchWeaveException.class, () -> Producer.open(context));
      assertEquals(Kind.RETRYABLE, thrown.kind());
      String message = String.valueOf(thrown.getMessage());
      assertTrue(message.contains("phase=OPENING lastTrouble=none"), message);
      assertTrue(message.contains(" oldest=stream sinceMs="), message);
      assertEquals(1, store.releaseHung());
    }
  }

  /** A6: 409 with the key still empty is tried again under the same version. */
  @ParameterizedTest
  @ValueSource(strings = {"file", "s3"})
  void shouldTryTheSameVersionAgainWhenTheStoreSaysConflict(String kind) {
    try (FaultStore store = open(kind)) {
      store.script(
          StoreOperation.PUT_IF_ABSENT, ProducerFaultTest::isVersion, Fault.CONFLICT_409, 5);
      produce(store, 6);
      assertEquals(5, store.injected(Fault.CONFLICT_409));
      assertEquals(Map.of("p", 6L), TestBatches.check(store));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"file", "s3"})
  void shouldKeepEveryPromiseWhenRequestsFailAtRandom(String kind) {
    try (FaultStore faults = open(kind);
        RetryingStore store = new RetryingStore(faults, 5)) {
      faults.randomly(StoreOperation.PUT_IF_ABSENT, Fault.ANSWER_LOST, 0.1);
      faults.randomly(StoreOperation.PUT_IF_ABSENT, Fault.REQUEST_LOST, 0.1);
      faults.randomly(StoreOperation.PUT_IF_ABSENT, Fault.APPLIED_LATE, 0.05);
      faults.randomly(StoreOperation.PUT_IF_ABSENT, Fault.CONFLICT_409, 0.1);
      faults.randomly(StoreOperation.PUT, Fault.ERROR_500, 0.2);
      faults.randomly(StoreOperation.GET, Fault.THROTTLED_503, 0.2);
      faults.randomly(StoreOperation.LIST, Fault.THROTTLED_503, 0.2);
      for (long lastSeq = 4; lastSeq <= 20; lastSeq += 4) {
        produce(store, lastSeq);
        faults.applyLate().join();
      }
      faults.heal();
      assertEquals(Map.of("p", 20L), TestBatches.check(faults));
    }
  }

  @Test
  void shouldReportUnknownOutcomeWhenClosedBeforeTheLogDecides() {
    try (FaultStore store = open("file")) {
      Producer producer =
          Producer.open(
              new ProducerContext()
                  .store(store)
                  .producerId("p")
                  .closeTimeoutNs(TimeUnit.MILLISECONDS.toNanos(300)));
      store.script(StoreOperation.PUT_IF_ABSENT, ProducerFaultTest::isVersion, Fault.HANG, 1);
      producer.add(TestBatches.tgb("p", 1), TestBatches.stateAfter(1));
      awaitHung(store);
      BatchWeaveException e = assertThrows(BatchWeaveException.class, producer::close);
      assertEquals(Kind.UNKNOWN_OUTCOME, e.kind());
      assertTrue(String.valueOf(e.getMessage()).contains("seqs=1-1"), e.getMessage());
      // The request goes on and lands: the batch is there, its object was not cleaned up.
      assertEquals(1, store.releaseHung());
      produce(store, 3);
      assertEquals(Map.of("p", 3L), TestBatches.check(store));
    }
  }

  /** C3: in one process. */
  @Test
  void shouldFenceTheOlderOfTwoLiveProducersOfOneId() {
    try (FaultStore store = open("file")) {
      Producer older = Producer.open(new ProducerContext().store(store).producerId("p"));
      older.add(TestBatches.tgb("p", 1), TestBatches.stateAfter(1));
      older.flush(TestBatches.TIMEOUT_NS);
      try (Producer newer = Producer.open(new ProducerContext().store(store).producerId("p"))) {
        assertEquals(2, newer.nextSeq());
        older.add(TestBatches.tgb("p", 2), TestBatches.stateAfter(2));
        BatchWeaveException e =
            assertThrows(BatchWeaveException.class, () -> older.flush(TestBatches.TIMEOUT_NS));
        assertEquals(Kind.FENCED, e.kind());
        newer.add(TestBatches.tgb("p", 2), TestBatches.stateAfter(2));
      }
      older.close();
      assertEquals(Map.of("p", 2L), TestBatches.check(store));
    }
  }

  /** B3: back-pressure by count: the third add waits until a hung upload goes on. */
  @Test
  void shouldWaitWhenMoreIsPendingThanAllowed() {
    try (FaultStore store = open("file")) {
      store.script(StoreOperation.PUT, key -> key.startsWith("data/"), Fault.HANG, 1);
      try (Producer producer =
          Producer.open(
              new ProducerContext()
                  .store(store)
                  .producerId("p")
                  .maxPendingBatches(2)
                  .stallTimeoutNs(TimeUnit.MILLISECONDS.toNanos(200)))) {
        producer.add(TestBatches.tgb("p", 1), TestBatches.stateAfter(1));
        producer.add(TestBatches.tgb("p", 2), TestBatches.stateAfter(2));
        awaitHung(store);
        BatchWeaveException e =
            assertThrows(
                BatchWeaveException.class,
                () -> producer.add(TestBatches.tgb("p", 3), TestBatches.stateAfter(3)));
        assertEquals(Kind.RETRYABLE, e.kind());
        // Batches that gathered share an object.
        assertTrue(store.releaseHung() >= 1);
        producer.flush(TestBatches.TIMEOUT_NS);
        assertEquals(3, producer.add(TestBatches.tgb("p", 3), TestBatches.stateAfter(3)));
      }
      assertEquals(Map.of("p", 3L), TestBatches.check(store));
    }
  }

  @Test
  void shouldSayWhatIsWrongWhenTheRootIsNoStream() {
    try (ObjectStore store = FileObjectStore.open(root.resolve("nothing"))) {
      Kind kind = Kind.CONFIG;
      assertEquals(kind, kindOf(() -> Streams.describe(store)));
      assertEquals(
          kind, kindOf(() -> Producer.open(new ProducerContext().store(store).producerId("p"))));
      assertEquals(kind, kindOf(() -> StreamReader.open(new ReaderContext().store(store))));
      assertEquals(kind, kindOf(() -> Operator.open(new OperatorContext().store(store))));
    }
  }

  @Test
  void shouldSayTooNewWhenTheStreamIsOfANewerFormat() {
    try (ObjectStore store = FileObjectStore.open(root.resolve("newer"))) {
      byte[] stream = StreamCodec.encode(new StreamDescriptor(UUID.randomUUID(), 1, 1, 1, 1L << 5));
      store.putIfAbsent(ObjectNames.STREAM, Payload.of(Bytes.wrap(stream))).join();
      assertEquals(Kind.TOO_NEW, kindOf(() -> Streams.describe(store)));
      assertEquals(Kind.TOO_NEW, kindOf(() -> StreamReader.open(new ReaderContext().store(store))));
    }
  }

  @Test
  void shouldKeepTheGridWhenAStreamIsCreatedAgain() {
    try (ObjectStore store = FileObjectStore.open(root.resolve("again"))) {
      StreamDescriptor first = Streams.create(store, new Grid(4, 2));
      assertEquals(first, Streams.create(store, new Grid(4, 2)));
      assertEquals(Kind.CONFIG, kindOf(() -> Streams.create(store, new Grid(2, 2))));
    }
  }

  @Test
  void shouldRefuseWhatDoesNotFitTheStream() {
    try (FaultStore store = open("file");
        Producer producer = Producer.open(new ProducerContext().store(store).producerId("p"))) {
      var other = new TgbBuilder(new Grid(1, 1)).slice(0, 0, TestBatches.bytes("x"), 1, 1, 1);
      assertEquals(Kind.CONFIG, kindOf(() -> producer.add(other.build(), Bytes.EMPTY)));
      try (Operator operator = Operator.open(new OperatorContext().store(store))) {
        assertEquals(0, operator.seal());
      }
      producer.add(TestBatches.tgb("p", 1), TestBatches.stateAfter(1));
      assertEquals(Kind.CONFIG, kindOf(() -> producer.flush(TestBatches.TIMEOUT_NS)));
    }
  }

  /** Waits until the request that is to hang was sent. */
  private static void awaitHung(FaultStore store) {
    long deadlineNs = System.nanoTime() + TestBatches.TIMEOUT_NS;
    while (store.injected(Fault.HANG) == 0) {
      assertTrue(System.nanoTime() - deadlineNs < 0, "nothing was sent");
      LockSupport.parkNanos(1_000_000);
    }
  }

  private static boolean isVersion(String key) {
    return key.startsWith("manifest/");
  }

  private static Kind kindOf(org.junit.jupiter.api.function.Executable action) {
    return assertThrows(BatchWeaveException.class, action).kind();
  }
}
