package io.batchweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.Grid;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.TgbLayout;
import io.batchweave.produce.Tgb;
import io.batchweave.produce.TgbBuilder;
import io.batchweave.read.Coordinate;
import io.batchweave.read.StepResult;
import io.batchweave.store.FaultStore;
import io.batchweave.store.FaultStore.Fault;
import io.batchweave.store.StoreOperation;
import io.batchweave.store.file.FileObjectStore;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Grids whose slice table is in the footer, and streams of several segments. */
@Timeout(120)
class LargeGridTest {
  private static final Grid LARGE = new Grid(300, 1);

  @TempDir Path root;

  private static Tgb large(int step) {
    TgbBuilder builder = new TgbBuilder(LARGE);
    for (int dp = 0; dp < LARGE.dp(); dp++) {
      builder.slice(dp, 0, TestBatches.bytes(step + "/" + dp), 1, 1, dp);
    }
    return builder.build();
  }

  @Test
  void shouldFetchTheFooterWhenTheTableIsNotInTheEntry() throws Exception {
    try (FaultStore store = new FaultStore(FileObjectStore.open(root), 1)) {
      Streams.create(store, LARGE);
      try (Producer producer = Producer.open(new ProducerContext().store(store).producerId("p"))) {
        for (int step = 0; step < 3; step++) {
          producer.add(large(step), Bytes.EMPTY);
        }
      }
      store.script(StoreOperation.GET, key -> key.startsWith("data/"), Fault.THROTTLED_503, 2);
      try (StreamReader reader = StreamReader.open(new ReaderContext().store(store))) {
        StepResult.Ready ready =
            assertInstanceOf(StepResult.Ready.class, reader.await(1, TestBatches.TIMEOUT_NS));
        assertEquals(300, ready.entry().slices().size());
        assertEquals(TestBatches.bytes("1/299"), reader.readSlice(ready, new Coordinate(299, 0)));
        damageFooter(
            assertInstanceOf(StepResult.Ready.class, reader.await(2, TestBatches.TIMEOUT_NS)));
      }
      try (StreamReader reader = StreamReader.open(new ReaderContext().store(store))) {
        assertInstanceOf(StepResult.Ready.class, reader.await(0, TestBatches.TIMEOUT_NS));
        StepResult.Failed failed =
            assertInstanceOf(StepResult.Failed.class, reader.await(2, TestBatches.TIMEOUT_NS));
        assertEquals(Kind.CORRUPT, failed.cause().kind());
      }
    }
  }

  private void damageFooter(StepResult.Ready ready) throws Exception {
    Path object = root.resolve(ObjectNames.data(ready.entry().object()));
    byte[] bytes = Files.readAllBytes(object);
    bytes[(int) TgbLayout.footerRange(ready.entry()).offset() + 40] ^= 1;
    Files.write(object, bytes);
  }

  @Test
  void shouldReadThroughSegmentsWhenFarBehindTheHead() {
    Grid one = new Grid(1, 1);
    int steps = 1_100;
    try (FaultStore store = new FaultStore(FileObjectStore.open(root), 1)) {
      Streams.create(store, one);
      try (Producer producer =
          Producer.open(
              new ProducerContext().store(store).producerId("p").maxPendingBatches(2_000))) {
        for (int step = 0; step < steps; step++) {
          Bytes slice = TestBatches.bytes("s" + step);
          producer.add(new TgbBuilder(one).slice(0, 0, slice, 1, 1, 1).build(), Bytes.EMPTY);
        }
      }
      try (StreamReader reader =
          StreamReader.open(new ReaderContext().store(store).windowSteps(64))) {
        for (int step = 0; step < steps; step++) {
          StepResult.Ready ready =
              assertInstanceOf(StepResult.Ready.class, reader.await(step, TestBatches.TIMEOUT_NS));
          assertEquals(step + 1, ready.entry().seq());
        }
        // And back again, as a job that restarts from an old checkpoint does.
        StepResult.Ready ready =
            assertInstanceOf(StepResult.Ready.class, reader.await(3, TestBatches.TIMEOUT_NS));
        assertEquals(TestBatches.bytes("s3"), reader.readSlice(ready, new Coordinate(0, 0)));
      }
    }
  }
}
