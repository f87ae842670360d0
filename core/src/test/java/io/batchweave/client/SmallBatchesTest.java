package io.batchweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.Bytes;
import io.batchweave.format.DataObject;
import io.batchweave.format.Grid;
import io.batchweave.produce.Tgb;
import io.batchweave.produce.TgbBuilder;
import io.batchweave.read.Coordinate;
import io.batchweave.read.StepResult;
import io.batchweave.store.FaultStore;
import io.batchweave.store.FaultStore.Fault;
import io.batchweave.store.StoreOperation;
import io.batchweave.store.Stores;
import io.batchweave.store.s3proxy.LocalS3;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Small batches share data objects and blocks; a reader sees nothing of it. */
@Timeout(120)
class SmallBatchesTest {
  private static final Grid GRID = new Grid(1, 1);
  private static final int BATCHES = 5_000;

  @TempDir Path root;

  private static Bytes slice(long seq) {
    byte[] bytes = new byte[1_024];
    Arrays.fill(bytes, (byte) seq);
    bytes[0] = (byte) (seq >> 8);
    return Bytes.wrap(bytes);
  }

  private static Tgb tgb(long seq) {
    return new TgbBuilder(GRID).slice(0, 0, slice(seq), 1, 1, 1).build();
  }

  @ParameterizedTest
  @ValueSource(strings = {"file", "s3"})
  void shouldShareObjectsWhenUploadsAreSlow(String kind) throws Exception {
    try (LocalS3 localS3 = LocalS3.start(root.resolve("s3"))) {
      localS3.createBucket("bucket");
      boolean s3 = kind.equals("s3");
      String url = s3 ? localS3.url("bucket", "stream") : "file:" + root.resolve("stream");
      Map<String, String> environment = s3 ? localS3.environment() : Map.of();
      try (FaultStore store = new FaultStore(Stores.open(url, environment), 1)) {
        Streams.create(store, GRID);
        store.script(StoreOperation.PUT, key -> key.startsWith("data/"), Fault.HANG, 2);
        try (Producer producer =
            Producer.open(new ProducerContext().store(store).producerId("p"))) {
          for (long seq = 1; seq <= BATCHES; seq++) {
            assertEquals(seq, producer.add(tgb(seq), Bytes.EMPTY));
          }
          for (int released = 0; released < 2; Thread.onSpinWait()) {
            released += store.releaseHung();
          }
          producer.flush(TestBatches.TIMEOUT_NS);
        }
        check(store);
      }
    }
  }

  private static void check(FaultStore store) {
    Set<DataObject> objects = new LinkedHashSet<>();
    try (StreamReader reader = StreamReader.open(new ReaderContext().store(store))) {
      assertEquals(BATCHES, reader.refresh(TestBatches.TIMEOUT_NS).nextStep());
      for (int step = 0; step < BATCHES; step++) {
        StepResult.Ready ready =
            assertInstanceOf(StepResult.Ready.class, reader.await(step, TestBatches.TIMEOUT_NS));
        assertEquals(step + 1, ready.entry().seq());
        objects.add(ready.entry().object());
        if (step % 50 == 0 || step == BATCHES - 1) {
          assertEquals(slice(step + 1), reader.readSlice(ready, new Coordinate(0, 0)));
        }
      }
      assertTrue(objects.size() <= 20, "objects=" + objects.size());
      assertTrue(reader.refresh(TestBatches.TIMEOUT_NS).version() <= 30);
    }
  }
}
