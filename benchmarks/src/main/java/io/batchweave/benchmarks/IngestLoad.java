package io.batchweave.benchmarks;

import io.batchweave.Bytes;
import io.batchweave.client.Producer;
import io.batchweave.client.ProducerContext;
import io.batchweave.format.Grid;
import io.batchweave.produce.Tgb;
import io.batchweave.produce.TgbBuilder;
import io.batchweave.store.ObjectStore;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;

/** A batch of slices of random bytes, ready in memory, to be brought somewhere many times. */
public final class IngestLoad {
  /** What most streams of it are cut for. */
  static final Grid EIGHT = new Grid(8, 1);

  private static final long PENDING_BYTES = 1L << 30;
  private static final long TIMEOUT_NS = TimeUnit.MINUTES.toNanos(5);

  private final Grid grid;
  private final List<byte[]> slices = new ArrayList<>();
  private final ByteBuffer object;

  /**
   * Makes one.
   *
   * @param grid what it is cut for
   * @param batchBytes of its slices together
   */
  public IngestLoad(Grid grid, int batchBytes) {
    this.grid = grid;
    SplittableRandom random = new SplittableRandom(1);
    for (int i = 0; i < grid.sliceCount(); i++) {
      byte[] slice = new byte[batchBytes / grid.sliceCount()];
      random.nextBytes(slice);
      slices.add(slice);
    }
    object = ByteBuffer.allocate((int) tgb().lengthBytes());
    slices.forEach(object::put);
    object.clear();
  }

  private Tgb tgb() {
    TgbBuilder builder = new TgbBuilder(grid);
    for (int dp = 0; dp < slices.size(); dp++) {
      builder.slice(dp, 0, Bytes.wrap(slices.get(dp)), 1, 1, 1);
    }
    return builder.build();
  }

  /** As many bytes in one piece as the data object of a batch has. */
  ByteBuffer object() {
    return object.duplicate();
  }

  /**
   * Commits the batch so many times.
   *
   * @param store of a stream with this grid
   * @param batches how often
   * @param producerId one that has not been used in the stream
   * @return seconds from the first batch to the commit of the last
   */
  public double produce(ObjectStore store, int batches, String producerId) {
    try (Producer producer =
        Producer.open(
            new ProducerContext()
                .store(store)
                .producerId(producerId)
                .maxUploads(IngestTarget.IN_FLIGHT)
                .maxPendingBytes(PENDING_BYTES))) {
      long beganNs = System.nanoTime();
      for (int i = 0; i < batches; i++) {
        producer.add(tgb(), Bytes.EMPTY);
      }
      producer.flush(TIMEOUT_NS);
      return (System.nanoTime() - beganNs) / 1e9;
    }
  }
}
