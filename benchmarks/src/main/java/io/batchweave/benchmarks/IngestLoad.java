package io.batchweave.benchmarks;

import io.batchweave.Bytes;
import io.batchweave.client.Producer;
import io.batchweave.client.ProducerContext;
import io.batchweave.client.Streams;
import io.batchweave.format.Grid;
import io.batchweave.produce.Tgb;
import io.batchweave.produce.TgbBuilder;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Stores;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A batch of slices of random bytes, ready in memory, to be brought somewhere many times. */
public final class IngestLoad {
  /** What most streams of it are cut for. */
  static final Grid EIGHT = new Grid(8, 1);

  private static final String PRODUCER = "p";
  private static final int WARMUP_BATCH_BYTES = 8 << 10;
  private static final String WARMUP = "warm-up-";
  private static final int WARMUP_PRODUCERS = 16;
  private static final int WARMUP_BATCHES = 4;
  private static final long WARMUP_NS = TimeUnit.SECONDS.toNanos(8);
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
   * Commits many small batches, until what decides about batches is compiled. A producer commits
   * thirty times a second at most, which would take minutes: so many do it side by side, each into
   * a stream of its own.
   *
   * @param target where; its folders are deleted again
   */
  static void warmUp(IngestTarget target) throws IOException {
    IngestLoad small = new IngestLoad(EIGHT, WARMUP_BATCH_BYTES);
    long untilNs = System.nanoTime() + WARMUP_NS;
    try (ExecutorService threads = Executors.newFixedThreadPool(WARMUP_PRODUCERS)) {
      List<Future<@Nullable Void>> all = new ArrayList<>();
      for (int i = 0; i < WARMUP_PRODUCERS; i++) {
        String own = WARMUP + i;
        all.add(threads.submit(() -> small.warmUpUntil(untilNs, target, own)));
      }
      for (Future<@Nullable Void> producer : all) {
        producer.get();
      }
    } catch (InterruptedException | ExecutionException e) {
      throw new IOException("the producers that warm up failed", e);
    }
    for (int i = 0; i < WARMUP_PRODUCERS; i++) {
      DirectoryTree.delete(target.place().resolve(WARMUP + i));
    }
    JitCompiler.awaitRest();
  }

  private @Nullable Void warmUpUntil(long untilNs, IngestTarget target, String folder)
      throws IOException {
    try (ObjectStore store = newStream(target, folder);
        Producer producer = open(store)) {
      while (System.nanoTime() - untilNs < 0) {
        for (int i = 0; i < WARMUP_BATCHES; i++) {
          producer.add(tgb(), Bytes.EMPTY);
        }
        producer.flush(TIMEOUT_NS);
      }
    }
    return null;
  }

  /**
   * Makes a stream for this batch, whose producer is the only one that it has ever had: one that
   * sees others waits for them.
   *
   * @param target where
   * @param folder a fresh one
   * @return its root, to be closed
   */
  ObjectStore newStream(IngestTarget target, String folder) throws IOException {
    target.age(folder, PRODUCER);
    ObjectStore store = Stores.openRetrying(target.url(folder), target.environment());
    Streams.create(store, grid);
    return store;
  }

  /**
   * Commits the batch so many times.
   *
   * @param store of a stream with this grid
   * @param batches how often
   * @return seconds from the first batch to the commit of the last
   */
  public double produce(ObjectStore store, int batches) {
    try (Producer producer = open(store)) {
      long beganNs = System.nanoTime();
      for (int i = 0; i < batches; i++) {
        producer.add(tgb(), Bytes.EMPTY);
      }
      producer.flush(TIMEOUT_NS);
      return (System.nanoTime() - beganNs) / 1e9;
    }
  }

  private static Producer open(ObjectStore store) {
    return Producer.open(
        new ProducerContext()
            .store(store)
            .producerId(PRODUCER)
            .maxUploads(IngestTarget.IN_FLIGHT)
            .maxPendingBytes(PENDING_BYTES));
  }
}
