package io.batchweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.Block;
import io.batchweave.format.Block.Takeover;
import io.batchweave.format.Limits;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.TgbEntry;
import io.batchweave.log.LogWriter;
import io.batchweave.log.SnapshotPolicy;
import io.batchweave.read.Coordinate;
import io.batchweave.read.StepResult;
import io.batchweave.retain.CollectPolicy;
import io.batchweave.retain.CollectReport;
import io.batchweave.store.ByteRange;
import io.batchweave.store.ListedObject;
import io.batchweave.store.Listing;
import io.batchweave.store.ObjectInfo;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Payload;
import io.batchweave.store.PutOutcome;
import io.batchweave.store.RangeReceiver;
import io.batchweave.store.Stores;
import io.batchweave.store.s3.VersityGw;
import io.batchweave.store.s3proxy.LocalS3;
import io.batchweave.verify.Depth;
import io.batchweave.verify.Verifier;
import io.batchweave.verify.VerifyReport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.agrona.concurrent.SystemNanoClock;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The collector on every kind of store, beside real producers and readers. */
@Timeout(300)
class CollectorStoreTest {
  private static final int STEPS = 30;
  private static final int PACK = 5;
  private static final Coordinate PLACE = new Coordinate(1, 0);

  /** Fewer steps than a segment has. */
  private static final long LOG_VERSIONS = 120;

  private static final long SNAPSHOT_EVERY = 5;
  private static final CollectPolicy TRIM = CollectPolicy.DEFAULT.with(CollectPolicy.Versions.TRIM);

  /** Where the stream lives. */
  enum Place {
    FILE,
    S3PROXY,
    VERSITYGW
  }

  @TempDir Path directory;
  private final List<AutoCloseable> opened = new ArrayList<>();

  @AfterEach
  void close() throws Exception {
    for (AutoCloseable one : opened.reversed()) {
      one.close();
    }
  }

  private ObjectStore open(Place place) throws IOException {
    return switch (place) {
      case FILE -> keep(Stores.openRetrying(directory + "/stream?sync=none", Map.of()));
      case S3PROXY -> {
        LocalS3 s3 = keep(LocalS3.start(directory));
        s3.createBucket("bucket");
        yield keep(Stores.openRetrying(s3.url("bucket", "root"), s3.environment()));
      }
      case VERSITYGW -> {
        assumeTrue(
            Files.isExecutable(VersityGw.binary()),
            "no versitygw at " + VersityGw.binary() + "; set " + VersityGw.VARIABLE);
        VersityGw s3 = keep(VersityGw.start(Files.createDirectories(directory.resolve("buckets"))));
        s3.createBucket("bucket");
        yield keep(Stores.openRetrying(s3.url("bucket", "root"), s3.environment()));
      }
    };
  }

  private <T extends AutoCloseable> T keep(T one) {
    opened.add(one);
    return one;
  }

  /** In data objects of a few batches each. */
  private static void produce(ObjectStore store, String id, int count) {
    for (int made = 0; made < count; made += PACK) {
      ProducerContext context = new ProducerContext().store(store).producerId(id);
      try (Producer producer = Producer.open(context)) {
        long first = producer.nextSeq();
        for (long seq = first; seq < first + Math.min(PACK, count - made); seq++) {
          producer.add(TestBatches.tgb(id, seq), TestBatches.stateAfter(seq));
        }
      }
    }
  }

  private static CollectReport collect(ObjectStore store) {
    try (Collector collector = Collector.open(new CollectorContext().store(store))) {
      return collector.run();
    }
  }

  private static void requireSound(ObjectStore store) {
    VerifyReport report =
        new Verifier(store, Depth.BYTES, SystemNanoClock.INSTANCE, line -> {}).run();
    assertTrue(report.sound(), () -> report.findings().toString());
  }

  private static long objects(ObjectStore store) {
    return store.list(ObjectNames.DATA, 10_000).join().objects().size();
  }

  @ParameterizedTest
  @EnumSource
  void shouldDeleteWhatNobodyCanAskForAndLeaveASoundStream(Place place) throws IOException {
    ObjectStore store = open(place);
    Streams.create(store, TestBatches.GRID);
    produce(store, "p", STEPS);
    try (Operator operator = Operator.open(new OperatorContext().store(store))) {
      operator.operatorPin("g", "c", STEPS - 3);
    }
    long before = objects(store);
    CollectReport report = collect(store);
    assertEquals(STEPS - 3, report.horizon());
    assertTrue(report.data().objects() > 0, report::toString);
    long deleted = report.data().objects() + report.sourceStates().objects();
    assertEquals(before - deleted, objects(store));
    assertEquals(report.kept().objects(), objects(store));
    requireSound(store);
    produce(store, "p", 2);
    assertEquals(0, collect(store).movedSteps());
    requireSound(store);
    assertEquals(STEPS - 3, firstReadable(store));
  }

  /** Reads all that can be read; what cannot is RECLAIMED. */
  private static long firstReadable(ObjectStore store) {
    long first = -1;
    try (StreamReader reader = StreamReader.open(new ReaderContext().store(store))) {
      long nextStep = reader.refresh(TestBatches.TIMEOUT_NS).nextStep();
      for (long step = 0; step < nextStep; step++) {
        StepResult result = reader.await(step, TestBatches.TIMEOUT_NS);
        if (result instanceof StepResult.Ready ready) {
          first = first < 0 ? step : first;
          long seq = ready.entry().seq();
          assertEquals(TestBatches.slice("p", seq, 1), reader.readSlice(ready, PLACE));
        } else {
          assertInstanceOf(StepResult.Reclaimed.class, result);
          assertEquals(-1, first, "reclaimed above the first step that is readable");
        }
      }
    }
    return first;
  }

  /** D5: a reader opened before a reclaim reads slowly: its data or RECLAIMED, never a raw 404. */
  @ParameterizedTest
  @EnumSource
  void shouldTellASlowReaderThatItsStepWasReclaimed(Place place) throws IOException {
    ObjectStore store = open(place);
    Streams.create(store, TestBatches.GRID);
    produce(store, "p", STEPS);
    try (StreamReader reader = StreamReader.open(new ReaderContext().store(store));
        Operator operator = Operator.open(new OperatorContext().store(store))) {
      StepResult.Ready early =
          assertInstanceOf(StepResult.Ready.class, reader.await(2, TestBatches.TIMEOUT_NS));
      StepResult.Ready late =
          assertInstanceOf(StepResult.Ready.class, reader.await(25, TestBatches.TIMEOUT_NS));
      operator.operatorPin("g", "c", 25);
      CollectReport report = collect(store);
      assertTrue(report.data().objects() > 0, report::toString);
      assertEquals(TestBatches.slice("p", 26, 1), reader.readSlice(late, PLACE));
      BatchWeaveException thrown =
          assertThrows(BatchWeaveException.class, () -> reader.readSlice(early, PLACE));
      assertEquals(Kind.RECLAIMED, thrown.kind(), thrown::getMessage);
      assertTrue(String.valueOf(thrown.getMessage()).contains("horizon=25"));
      thrown = assertThrows(BatchWeaveException.class, () -> reader.readFooter(early));
      assertEquals(Kind.RECLAIMED, thrown.kind(), thrown::getMessage);
    }
  }

  /** D7: the newest checkpoint turns out corrupt; the job restores the one before. */
  @ParameterizedTest
  @EnumSource
  void shouldHaveTheDataOfTheCheckpointBeforeTheNewest(Place place) throws IOException {
    ObjectStore store = open(place);
    Streams.create(store, TestBatches.GRID);
    produce(store, "p", STEPS);
    try (Operator operator = Operator.open(new OperatorContext().store(store))) {
      long view = operator.openSession("g", "run-1", 0, Takeover.REFUSE);
      for (long step : new long[] {5, 12, 20}) {
        operator.propose(state -> new Block.Pin("g", "run-1", view, "at-" + step, step, 2));
        collect(store);
      }
      assertEquals(12, operator.state().horizon());
      operator.openSession("g", "run-2", 12, Takeover.SUPERSEDE);
      collect(store);
      assertEquals(12, firstReadable(store));
      assertEquals(
          Kind.RECLAIMED,
          assertThrows(
                  BatchWeaveException.class,
                  () -> operator.openSession("g", "run-3", 5, Takeover.SUPERSEDE))
              .kind());
    }
  }

  /** D13: delete fails for some keys; the next run deletes them. */
  @ParameterizedTest
  @EnumSource
  void shouldDeleteInTheNextRunWhatTheStoreDidNotDelete(Place place) throws IOException {
    ObjectStore store = open(place);
    Streams.create(store, TestBatches.GRID);
    for (int i = 0; i < 4; i++) {
      produce(store, "p", 3);
    }
    try (Operator operator = Operator.open(new OperatorContext().store(store))) {
      operator.operatorPin("g", "c", 12);
    }
    Stubborn stubborn = new Stubborn(store);
    CollectReport first = collect(stubborn);
    assertTrue(first.failedKeys() > 0, first::toString);
    assertEquals(stubborn.refused.size(), first.failedKeys());
    for (String key : stubborn.refused) {
      assertEquals(1, store.list(key, 1).join().objects().size(), key);
    }
    CollectReport second = collect(store);
    assertEquals(0, second.failedKeys());
    assertEquals(first.failedKeys(), second.data().objects() + second.sourceStates().objects());
    for (String key : stubborn.refused) {
      assertEquals(List.<ListedObject>of(), store.list(key, 1).join().objects());
    }
    requireSound(store);
  }

  /** Trimmed on a real store: opened cold, found sound, gone on with; no number is free again. */
  @ParameterizedTest
  @EnumSource
  void shouldTrimTheLogForGood(Place place) throws IOException {
    ObjectStore store = open(place);
    long oldest = LOG_VERSIONS - (SnapshotPolicy.KEPT - 1) * SNAPSHOT_EVERY;
    Bytes late = copyLongLog(store);
    try (Collector collector = Collector.open(new CollectorContext().store(store).policy(TRIM))) {
      CollectReport report = collector.run();
      assertEquals(oldest - 1, report.tombstones());
      assertEquals(0, report.failedKeys());
    }
    for (long version = 1; version <= oldest; version++) {
      String key = ObjectNames.version(version);
      Bytes left = store.get(key, null, Limits.VERSION_BYTES).join();
      assertEquals(version < oldest, left.length() == 0, key);
      assertEquals(PutOutcome.EXISTS, store.putIfAbsent(key, Payload.of(late)).join(), key);
      assertEquals(left, store.get(key, null, Limits.VERSION_BYTES).join(), key);
    }
    try (StreamReader reader = StreamReader.open(new ReaderContext().store(store))) {
      assertEquals(LOG_VERSIONS, reader.refresh(TestBatches.TIMEOUT_NS).version());
      assertInstanceOf(StepResult.Ready.class, reader.await(0, TestBatches.TIMEOUT_NS));
    }
    VerifyReport verified =
        new Verifier(store, Depth.LENGTHS, SystemNanoClock.INSTANCE, line -> {}).run();
    assertTrue(verified.sound(), () -> verified.findings().toString());
    assertEquals(oldest + 1, verified.firstVersion());
    try (Operator operator = Operator.open(new OperatorContext().store(store))) {
      operator.operatorPin("g", "c", 50);
    }
    assertEquals(50, collect(store).horizon());
  }

  /** A log of many snapshots with its data; returns what a late committer might still send. */
  private static Bytes copyLongLog(ObjectStore store) {
    Map<String, Bytes> objects = new HashMap<>();
    LogWriter log = new LogWriter(objects, 1);
    log.fill(LOG_VERSIONS, SNAPSHOT_EVERY);
    for (long step = 0; step < log.state().nextStep(); step++) {
      TgbEntry entry = log.state().entry(step);
      if (entry != null) {
        objects.put(
            ObjectNames.data(entry.object()), Bytes.wrap(new byte[(int) entry.lengthBytes()]));
      }
    }
    objects.forEach(
        (key, body) -> assertEquals(PutOutcome.CREATED, put(store, key, body), () -> key));
    return objects.getOrDefault(ObjectNames.version(3), Bytes.EMPTY);
  }

  private static PutOutcome put(ObjectStore store, String key, Bytes body) {
    return store.putIfAbsent(key, Payload.of(body)).join();
  }

  /** Does not delete every other key it is asked to. */
  private static final class Stubborn implements ObjectStore {
    private final ObjectStore inner;
    private final List<String> refused = new ArrayList<>();

    Stubborn(ObjectStore inner) {
      this.inner = inner;
    }

    @Override
    public CompletableFuture<List<String>> delete(List<String> keys) {
      List<String> refusing = new ArrayList<>();
      List<String> others = new ArrayList<>();
      for (int i = 0; i < keys.size(); i++) {
        (i % 2 == 0 ? refusing : others).add(keys.get(i));
      }
      refused.addAll(refusing);
      return inner
          .delete(others)
          .thenApply(failed -> {
            List<String> all = new ArrayList<>(failed);
            all.addAll(refusing);
            return all;
          });
    }

    @Override
    public CompletableFuture<PutOutcome> putIfAbsent(String key, Payload body) {
      return inner.putIfAbsent(key, body);
    }

    @Override
    public CompletableFuture<Void> put(String key, Payload body) {
      return inner.put(key, body);
    }

    @Override
    public CompletableFuture<Bytes> get(
        String key, @Nullable ByteRange range, long maxLengthBytes) {
      return inner.get(key, range, maxLengthBytes);
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
      return inner.list(prefix, limit);
    }

    @Override
    public String url() {
      return inner.url();
    }

    @Override
    public void close() {}
  }
}
