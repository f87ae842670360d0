package io.batchweave.bridge.daemon;

import io.batchweave.benchmarks.IngestLoad;
import io.batchweave.client.ReaderContext;
import io.batchweave.client.StreamReader;
import io.batchweave.client.Streams;
import io.batchweave.format.Grid;
import io.batchweave.read.Coordinate;
import io.batchweave.read.StepResult;
import io.batchweave.store.ObjectStore;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/** A stream with steps of 64 slices in it, and the reader by which a daemon follows one. */
final class StepStream implements AutoCloseable {
  private static final long TIMEOUT_NS = TimeUnit.MINUTES.toNanos(1);

  private final Grid grid;
  private final ObjectStore store;
  private final StreamReader reader;

  /**
   * Makes the stream.
   *
   * @param store its root, empty; closed with this
   * @param grid what it is cut for
   * @param stepBytes of a step
   * @param steps how many
   */
  StepStream(ObjectStore store, Grid grid, int stepBytes, int steps) {
    this.grid = grid;
    this.store = store;
    Streams.create(store, grid);
    var _ = new IngestLoad(grid, stepBytes).produce(store, steps);
    this.reader = StreamReader.open(new ReaderContext().store(store));
  }

  ObjectStore store() {
    return store;
  }

  /** What a daemon plans for a node of so many ranks. */
  RegionPlan plan(int step, int node, int ranks) {
    if (!(reader.await(step, TIMEOUT_NS) instanceof StepResult.Ready ready)) {
      throw new IllegalStateException("no step to be read: step=" + step);
    }
    List<Coordinate> places =
        IntStream.range(node * ranks, (node + 1) * ranks)
            .mapToObj(dp -> new Coordinate(dp, 0))
            .toList();
    return RegionPlan.of(step, reader.plan(ready, grid, places));
  }

  @Override
  public void close() {
    reader.close();
    store.close();
  }
}
