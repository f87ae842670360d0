package io.batchweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.Block.Takeover;
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
import java.util.concurrent.atomic.AtomicInteger;
import org.agrona.concurrent.SystemNanoClock;
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

  @Test
  void shouldServeSeveralClientsOnOneAgent() {
    try (ObjectStore store = FileObjectStore.open(root);
        MachineAgent agent = MachineAgent.start("shared", SystemNanoClock.INSTANCE)) {
      Streams.create(store, GRID);
      AtomicInteger changes = new AtomicInteger();
      try (Producer producer =
              Producer.open(new ProducerContext().store(store).producerId("p").agent(agent));
          Operator operator = Operator.open(new OperatorContext().store(store).agent(agent));
          StreamReader reader = StreamReader.open(new ReaderContext().store(store).agent(agent))) {
        reader.onChange(changes::incrementAndGet);
        assertInstanceOf(StepResult.NotYet.class, reader.lookup(0));
        producer.add(tgb(GRID, "x"), bytes("1"));
        assertInstanceOf(StepResult.Ready.class, reader.await(0, TIMEOUT_NS));
        // The waiting thread may be here before the agent has told its listener.
        long deadlineNs = System.nanoTime() + TIMEOUT_NS;
        while (changes.get() == 0 && System.nanoTime() - deadlineNs < 0) {
          Thread.onSpinWait();
        }
        assertTrue(changes.get() > 0);
        long view = operator.openSession("g", "one", 0, Takeover.REFUSE);
        assertEquals(view, operator.openSession("g", "one", 0, Takeover.REFUSE));
        assertEquals(
            Kind.CONFIG,
            assertThrows(
                    BatchWeaveException.class,
                    () -> operator.openSession("g", "two", 0, Takeover.REFUSE))
                .kind());
        assertTrue(operator.openSession("g", "two", 0, Takeover.SUPERSEDE) > view);
        assertEquals(
            Kind.CONFIG,
            assertThrows(
                    BatchWeaveException.class,
                    () -> operator.openSession("h", "one", 9, Takeover.REFUSE))
                .kind());
        assertEquals(1, reader.refresh(TIMEOUT_NS).nextStep());
      }
    }
  }

  @Test
  void shouldWakeWhoWaitsWhenTheAgentIsClosedUnderAClient() {
    try (ObjectStore store = FileObjectStore.open(root)) {
      Streams.create(store, GRID);
      MachineAgent agent = MachineAgent.start("shared", SystemNanoClock.INSTANCE);
      StreamReader reader = StreamReader.open(new ReaderContext().store(store).agent(agent));
      Thread closer = new Thread(agent::close);
      closer.start();
      assertEquals(
          Kind.UNKNOWN_OUTCOME,
          assertThrows(BatchWeaveException.class, () -> reader.await(0, TIMEOUT_NS)).kind());
      reader.close();
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
