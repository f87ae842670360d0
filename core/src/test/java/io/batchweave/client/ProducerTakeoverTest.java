package io.batchweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.log.ProducerState;
import io.batchweave.log.State;
import io.batchweave.read.StepResult;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Stores;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Real producer processes of one id: the newest owns it, whatever the others do. */
@Timeout(600)
class ProducerTakeoverTest {
  /** Where a process that owns its epoch is stopped; the occurrence counts within one process. */
  private static final List<String> POINTS =
      List.of("before:put:.tgb:1", "before:create:manifest/:2", "after:create:manifest/:2");

  private static final List<String> MORE_POINTS =
      List.of("after:put:.tgb:1", "before:put:.state:1", "after:create:manifest/:3");

  private static final String ENDLESS = "1000000";

  @TempDir Path root;

  private static ChildProducer start(String url, String lastSeq, String seed, String... point)
      throws Exception {
    List<String> arguments =
        new ArrayList<>(List.of("-Dproducer.pending=4", url, "p", lastSeq, "0", seed));
    arguments.addAll(List.of(point));
    return ChildProducer.start(Map.of(), ProducerMain.class, arguments.toArray(String[]::new));
  }

  private String url(int stream) {
    return "file:" + root.resolve("stream" + stream);
  }

  /** The epochs of all steps. */
  private static List<Integer> epochs(ObjectStore store) {
    List<Integer> epochs = new ArrayList<>();
    try (StreamReader reader = StreamReader.open(new ReaderContext().store(store))) {
      long steps = reader.refresh(TestBatches.TIMEOUT_NS).nextStep();
      for (long step = 0; step < steps; step++) {
        StepResult.Ready ready =
            assertInstanceOf(StepResult.Ready.class, reader.await(step, TestBatches.TIMEOUT_NS));
        epochs.add(ready.entry().object().epoch());
      }
    }
    return epochs;
  }

  private static ProducerState producer(ObjectStore store) {
    try (StreamReader reader = StreamReader.open(new ReaderContext().store(store))) {
      State state = reader.refresh(TestBatches.TIMEOUT_NS);
      ProducerState producer = state.producer("p");
      assertNotNull(producer);
      return producer;
    }
  }

  /**
   * C1: stopped at a point of the commit path, replaced, continued: nothing of the old epoch after
   * the fence, and it says that it is fenced.
   */
  @Test
  void shouldAddNothingAndSayFencedWhenStoppedAcrossItsReplacement() throws Exception {
    stoppedAcrossItsReplacement(POINTS);
  }

  /** C1 at the other points. */
  @Test
  @Tag("full")
  void shouldAddNothingAndSayFencedWhenStoppedAtOtherPoints() throws Exception {
    stoppedAcrossItsReplacement(MORE_POINTS);
  }

  private void stoppedAcrossItsReplacement(List<String> points) throws Exception {
    List<ChildProducer> stopped = new ArrayList<>();
    List<ChildProducer> replacements = new ArrayList<>();
    try {
      for (int i = 0; i < points.size(); i++) {
        try (ObjectStore store = Stores.open(url(i), Map.of())) {
          Streams.create(store, TestBatches.GRID);
        }
        stopped.add(start(url(i), ENDLESS, "1", "stop-" + points.get(i)));
      }
      for (int i = 0; i < points.size(); i++) {
        stopped.get(i).awaitStopped();
        replacements.add(start(url(i), "60", "2"));
      }
      for (int i = 0; i < points.size(); i++) {
        int code = replacements.get(i).exitCode();
        assertEquals(0, code, replacements.get(i).end());
        stopped.get(i).signal("CONT");
      }
      for (int i = 0; i < points.size(); i++) {
        ChildProducer old = stopped.get(i);
        assertEquals(ProducerMain.FENCED, old.exitCode(), old.end());
        assertTrue(old.lines().getLast().startsWith("failed FENCED"), old.end());
        try (ObjectStore store = Stores.open(url(i), Map.of())) {
          assertEquals(Map.of("p", 60L), TestBatches.check(store), points.get(i));
          assertEquals(2, producer(store).epoch());
          List<Integer> epochs = epochs(store);
          assertEquals(epochs.stream().sorted().toList(), epochs, "old epochs come first");
          assertEquals(2, epochs.getLast());
        }
      }
    } finally {
      stopped.forEach(ChildProducer::close);
      replacements.forEach(ChildProducer::close);
    }
  }

  /** C3: two live processes of one id: one is fenced and stays down; no ping-pong. */
  @Test
  void shouldKeepOneDownWhenTwoProcessesHaveOneId() throws Exception {
    try (ObjectStore store = Stores.open(url(0), Map.of())) {
      Streams.create(store, TestBatches.GRID);
      try (ChildProducer older = start(url(0), ENDLESS, "1")) {
        older.awaitAcks(5);
        try (ChildProducer newer = start(url(0), ENDLESS, "2")) {
          assertEquals(ProducerMain.FENCED, older.exitCode(), older.end());
          newer.awaitAcks(newer.acks() + 50);
          assertEquals(2, producer(store).epoch(), "the older one stays down");
          newer.kill();
        }
      }
      startTogether(store);
    }
  }

  /** Both fence in the same moment: each may win, one goes on. */
  private void startTogether(ObjectStore store) throws Exception {
    try (ChildProducer one = start(url(0), ENDLESS, "3");
        ChildProducer other = start(url(0), ENDLESS, "4")) {
      ChildProducer loser = firstToEnd(one, other);
      ChildProducer winner = loser.equals(one) ? other : one;
      assertEquals(ProducerMain.FENCED, loser.exitCode(), loser.end());
      winner.awaitAcks(winner.acks() + 50);
      assertEquals(4, producer(store).epoch(), "each fenced once");
      winner.kill();
    }
    assertTrue(TestBatches.check(store).getOrDefault("p", 0L) >= 105);
  }

  private static ChildProducer firstToEnd(ChildProducer one, ChildProducer other) throws Exception {
    CompletableFuture.anyOf(one.onExit(), other.onExit())
        .get(TestBatches.TIMEOUT_NS, TimeUnit.NANOSECONDS);
    return one.running() ? other : one;
  }
}
