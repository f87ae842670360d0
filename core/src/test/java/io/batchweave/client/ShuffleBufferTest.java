package io.batchweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.Bytes;
import io.batchweave.read.Coordinate;
import io.batchweave.read.StepResult;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Stores;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** H2: a source with a shuffle buffer, killed at random points, against an uninterrupted run. */
@Timeout(900)
class ShuffleBufferTest {
  @TempDir Path root;

  /** H2, fewer kills. */
  @Test
  void shouldMakeTheSameStreamWhenKilledAFewTimes() throws Exception {
    killed(3, 30);
  }

  /** H2. */
  @Test
  @Tag("full")
  void shouldMakeTheSameStreamWhenKilledTwentyTimes() throws Exception {
    killed(20, 12);
  }

  private void killed(int kills, int mostAcks) throws Exception {
    String url = "file:" + root.resolve("stream");
    SplittableRandom random = new SplittableRandom(kills);
    try (ObjectStore store = Stores.open(url, Map.of())) {
      Streams.create(store, ShuffleMain.GRID);
      for (int i = 0; i < kills; i++) {
        try (ChildProducer child = ChildProducer.start(Map.of(), ShuffleMain.class, url)) {
          child.awaitAcks(1 + random.nextInt(mostAcks));
          child.kill();
        }
      }
      try (ChildProducer child = ChildProducer.start(Map.of(), ShuffleMain.class, url)) {
        assertEquals(0, child.exitCode(), child::end);
        assertTrue(child.acks() > 0, child::end);
      }
      check(store);
    }
  }

  private static void check(ObjectStore store) {
    ShuffledSource uninterrupted = new ShuffledSource(Bytes.EMPTY);
    Set<Bytes> all = new HashSet<>();
    try (StreamReader reader = StreamReader.open(new ReaderContext().store(store))) {
      long steps = reader.refresh(TestBatches.TIMEOUT_NS).nextStep();
      assertEquals(ShuffledSource.BATCHES, steps);
      for (long step = 0; step < steps; step++) {
        StepResult.Ready ready =
            assertInstanceOf(StepResult.Ready.class, reader.await(step, TestBatches.TIMEOUT_NS));
        Bytes rows = uninterrupted.next();
        assertTrue(all.add(rows));
        assertEquals(rows, reader.readSlice(ready, new Coordinate(0, 0)), "step " + step);
      }
    }
    assertFalse(uninterrupted.hasNext());
  }
}
