package io.batchweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import io.batchweave.Bytes;
import io.batchweave.format.Grid;
import io.batchweave.produce.Tgb;
import io.batchweave.produce.TgbBuilder;
import io.batchweave.read.Coordinate;
import io.batchweave.read.StepResult;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.file.FileObjectStore;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Producer, StreamReader and Operator end to end on a file store. */
@Timeout(60)
class ProducerReaderTest {
  private static final Grid GRID = new Grid(2, 2);
  private static final long TIMEOUT_NS = TimeUnit.SECONDS.toNanos(20);

  @TempDir Path root;

  private static Bytes bytes(String text) {
    return Bytes.wrap(text.getBytes(StandardCharsets.UTF_8));
  }

  private static Tgb tgb(Grid grid, String text) {
    TgbBuilder builder = new TgbBuilder(grid).origin(text);
    for (int dp = 0; dp < grid.dp(); dp++) {
      for (int cp = 0; cp < grid.cp(); cp++) {
        builder.slice(dp, cp, bytes(text + "/" + dp + "," + cp), 1, 1, 8);
      }
    }
    return builder.build();
  }

  @Test
  void shouldReadBackEveryStepWhenTwoProducersAddedThem() {
    List<Long> steps = Collections.synchronizedList(new ArrayList<>());
    try (ObjectStore store = FileObjectStore.open(root)) {
      Streams.create(store, GRID);
      try (Producer a = open(store, "a", steps);
          Producer b = open(store, "b", steps)) {
        for (int i = 1; i <= 20; i++) {
          assertEquals(i, a.add(tgb(GRID, "a" + i), bytes("a@" + i)));
          assertEquals(i, b.add(tgb(GRID, "b" + i), bytes("b@" + i)));
        }
      }
      assertEquals(40, steps.size());
      try (Operator operator = Operator.open(new OperatorContext().store(store))) {
        assertEquals(40, operator.seal());
        assertEquals(40, operator.seal());
      }
      try (StreamReader reader = StreamReader.open(new ReaderContext().store(store))) {
        long nextA = 1;
        long nextB = 1;
        for (long step = 0; step < 40; step++) {
          StepResult.Ready ready =
              assertInstanceOf(StepResult.Ready.class, reader.await(step, TIMEOUT_NS));
          String producer = ready.entry().object().producer();
          long seq = producer.equals("a") ? nextA++ : nextB++;
          assertEquals(seq, ready.entry().seq());
          assertEquals(
              bytes(producer + seq + "/1,0"), reader.readSlice(ready, new Coordinate(1, 0)));
        }
        assertInstanceOf(StepResult.End.class, reader.await(40, TIMEOUT_NS));
      }
    }
  }

  @Test
  void shouldGoOnFromTheCommittedSourceStateWhenOpenedAgain() {
    Bytes large = Bytes.wrap(new byte[100_000]);
    try (ObjectStore store = FileObjectStore.open(root)) {
      Streams.create(store, GRID);
      try (Producer producer = open(store, "p", new ArrayList<>())) {
        assertEquals(1, producer.nextSeq());
        assertEquals(Bytes.EMPTY, producer.sourceState());
        producer.add(tgb(GRID, "x"), bytes("one"));
      }
      try (Producer producer = open(store, "p", new ArrayList<>())) {
        assertEquals(2, producer.nextSeq());
        assertEquals(2, producer.epoch());
        assertEquals(bytes("one"), producer.sourceState());
        producer.add(tgb(GRID, "y"), large);
      }
      try (Producer producer = open(store, "p", new ArrayList<>())) {
        assertEquals(3, producer.nextSeq());
        assertEquals(large, producer.sourceState());
      }
    }
  }

  private static Producer open(ObjectStore store, String id, List<Long> steps) {
    return Producer.open(
        new ProducerContext()
            .store(store)
            .producerId(id)
            .commitListener((seq, step) -> steps.add(step)));
  }
}
