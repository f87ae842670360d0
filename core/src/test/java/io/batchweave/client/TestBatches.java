package io.batchweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.Bytes;
import io.batchweave.format.Grid;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SourceState;
import io.batchweave.log.ProducerState;
import io.batchweave.log.State;
import io.batchweave.produce.Tgb;
import io.batchweave.produce.TgbBuilder;
import io.batchweave.read.Coordinate;
import io.batchweave.read.StepResult;
import io.batchweave.store.ObjectStore;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Batches whose content is their producer and seq, with the source state equal to the seq, and the
 * check that a stream holds each exactly once, in order, readable.
 */
final class TestBatches {
  static final Grid GRID = new Grid(2, 1);
  static final long TIMEOUT_NS = TimeUnit.SECONDS.toNanos(60);

  private TestBatches() {}

  static Bytes bytes(String text) {
    return Bytes.wrap(text.getBytes(StandardCharsets.UTF_8));
  }

  static Tgb tgb(String producer, long seq) {
    TgbBuilder builder = new TgbBuilder(GRID).origin(producer + "#" + seq);
    for (int dp = 0; dp < GRID.dp(); dp++) {
      builder.slice(dp, 0, slice(producer, seq, dp), 1, 1, 1);
    }
    return builder.build();
  }

  static Bytes slice(String producer, long seq, int dp) {
    return bytes(producer + "#" + seq + "/" + dp);
  }

  /** The state after a batch: too large for a block at every fifth. */
  static Bytes stateAfter(long seq) {
    return bytes(seq % 5 == 0 ? seq + " ".repeat(6_000) : Long.toString(seq));
  }

  static long seqOf(Bytes state) {
    String text = new String(state.toByteArray(), StandardCharsets.UTF_8).strip();
    return text.isEmpty() ? 0 : Long.parseLong(text);
  }

  /**
   * Reads the whole stream.
   *
   * @return the last seq of every producer
   */
  static Map<String, Long> check(ObjectStore store) {
    try (StreamReader reader = StreamReader.open(new ReaderContext().store(store).seed(7))) {
      State state = reader.refresh(TIMEOUT_NS);
      Map<String, Long> lastSeqs = new HashMap<>();
      for (long step = 0; step < state.nextStep(); step++) {
        StepResult.Ready ready =
            assertInstanceOf(StepResult.Ready.class, reader.await(step, TIMEOUT_NS));
        String producer = ready.entry().object().producer();
        long seq = lastSeqs.getOrDefault(producer, 0L) + 1;
        assertEquals(seq, ready.entry().seq(), "each seq once, contiguous");
        lastSeqs.put(producer, seq);
        for (int dp = 0; dp < GRID.dp(); dp++) {
          assertEquals(slice(producer, seq, dp), reader.readSlice(ready, new Coordinate(dp, 0)));
        }
      }
      lastSeqs.forEach((producer, seq) -> checkSource(store, state.producer(producer), seq));
      assertEquals(0, state.voidVersions());
      return lastSeqs;
    }
  }

  private static void checkSource(
      ObjectStore store, @org.jspecify.annotations.Nullable ProducerState producer, long seq) {
    assertNotNull(producer);
    assertEquals(seq + 1, producer.nextSeq());
    Bytes source =
        switch (producer.sourceState()) {
          case SourceState.Inline(Bytes inline) -> inline;
          case SourceState.External external ->
              store.get(ObjectNames.state(external.object()), null, 1 << 20).join();
        };
    assertEquals(seq, seqOf(source), "source state matches the last seq");
    assertTrue(seq > 0);
  }
}
