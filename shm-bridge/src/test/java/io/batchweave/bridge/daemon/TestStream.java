package io.batchweave.bridge.daemon;

import io.batchweave.Bytes;
import io.batchweave.client.Operator;
import io.batchweave.client.OperatorContext;
import io.batchweave.client.Producer;
import io.batchweave.client.ProducerContext;
import io.batchweave.client.Streams;
import io.batchweave.format.Grid;
import io.batchweave.produce.TgbBuilder;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Stores;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.LongToIntFunction;

/**
 * A stream whose bytes tests can compute again: slice (step, dp, cp) is a function of all three.
 */
final class TestStream implements AutoCloseable {
  private static final long TIMEOUT_NS = TimeUnit.SECONDS.toNanos(30);

  private final Grid grid;
  private final LongToIntFunction sliceBytes;
  private final ObjectStore store;
  private final Producer producer;
  private final UUID streamId;
  private long added;

  TestStream(String url, Grid grid, int sliceBytes) {
    this(url, grid, step -> sliceBytes);
  }

  /** One whose slices are of another size in every step. */
  TestStream(String url, Grid grid, LongToIntFunction sliceBytes) {
    this.grid = grid;
    this.sliceBytes = sliceBytes;
    this.store = Stores.open(url, Map.of());
    this.streamId = Streams.create(store, grid).streamId();
    this.producer = Producer.open(new ProducerContext().store(store).producerId("p"));
  }

  Grid grid() {
    return grid;
  }

  UUID streamId() {
    return streamId;
  }

  /** Adds steps and waits until they are committed. */
  TestStream add(int count) {
    for (int i = 0; i < count; i++) {
      TgbBuilder builder = new TgbBuilder(grid);
      for (int dp = 0; dp < grid.dp(); dp++) {
        for (int cp = 0; cp < grid.cp(); cp++) {
          builder.slice(dp, cp, Bytes.wrap(slice(added, dp, cp)), 1, 1, dp + 1);
        }
      }
      producer.add(builder.build(), Bytes.EMPTY);
      added++;
    }
    producer.flush(TIMEOUT_NS);
    return this;
  }

  /** Ends the stream. */
  void seal() {
    try (Operator operator = Operator.open(new OperatorContext().store(store))) {
      operator.seal();
    }
  }

  /** What a slice must be. */
  byte[] slice(long step, int dp, int cp) {
    return slice(step, dp, cp, sliceBytes.applyAsInt(step));
  }

  static byte[] slice(long step, int dp, int cp, int sliceBytes) {
    // Lengths differ a little, so that neighbours are not aligned to each other.
    byte[] bytes = new byte[sliceBytes + (int) ((step * 7 + dp * 3L + cp) % 61)];
    new SplittableRandom(step * 1_000_003 + dp * 1_009L + cp).nextBytes(bytes);
    return bytes;
  }

  @Override
  public void close() {
    producer.close();
    store.close();
  }
}
