package io.batchweave.benchmarks;

import io.batchweave.Bytes;
import io.batchweave.client.Collector;
import io.batchweave.client.CollectorContext;
import io.batchweave.format.Block;
import io.batchweave.format.DataObject;
import io.batchweave.format.Envelope;
import io.batchweave.format.ManifestCodec;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SegmentCodec;
import io.batchweave.format.SegmentRecord;
import io.batchweave.format.SliceEntry;
import io.batchweave.format.SnapshotCodec;
import io.batchweave.format.SourceState;
import io.batchweave.format.StreamCodec;
import io.batchweave.format.StreamDescriptor;
import io.batchweave.format.TgbEntry;
import io.batchweave.format.VersionHeader;
import io.batchweave.log.Bits;
import io.batchweave.log.Fold;
import io.batchweave.log.FoldOutcome;
import io.batchweave.log.State;
import io.batchweave.retain.CollectPolicy;
import io.batchweave.retain.CollectReport;
import io.batchweave.store.MeteredStore;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.StoreMeter;
import io.batchweave.store.StoreOperation;
import io.batchweave.store.Stores;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.agrona.concurrent.SystemNanoClock;

/**
 * How many requests does it take to reclaim steps that are an object each, and does memory grow
 * with their number? On versitygw, which deletes in bulk. Ceiling: a LIST and a DELETE of 1,000
 * keys each per 1,000 objects, and nothing else.
 */
final class ReclaimBar implements Bar {
  private static final int STEPS = 100_000;
  private static final int QUICK_STEPS = 20_000;
  private static final int KEPT_STEPS = 300;
  private static final int STEPS_PER_VERSION = 1_000;
  private static final int OBJECT_BYTES = 64;
  private static final int KEYS_PER_REQUEST = 1_000;

  /** A LIST for each group of data objects, and what opening, committing and marking takes. */
  private static final int CONSTANT = ObjectNames.DATA_GROUPS + 50;

  private static final long GOAL_HEAP_BYTES = 16 << 20;

  /** Requests and the most live heap of one collection. */
  private record Figures(int steps, long requests, long heapBytes, double seconds) {}

  @Override
  public String name() {
    return "reclaim";
  }

  @Override
  public String question() {
    return "requests to S3 and live heap to reclaim 100,000 steps, an object each";
  }

  @Override
  public Verdict measure(BenchRun run) throws IOException {
    int steps = run.pace() == BenchRun.Pace.FULL ? STEPS : QUICK_STEPS;
    Figures few = collect(run, steps / 5);
    Figures many = collect(run, steps);
    double goal = steps / 500.0 + CONSTANT;
    long growth = many.heapBytes() - few.heapBytes();
    run.say("  live heap grew by %d KiB".formatted(growth >> 10));
    return new Verdict(
        name(),
        many.requests(),
        "requests",
        2.0 * steps / KEYS_PER_REQUEST,
        "<= %.0f, and live heap grows by at most 16 MiB".formatted(goal),
        many.requests() <= goal && growth <= GOAL_HEAP_BYTES);
  }

  private static Figures collect(BenchRun run, int steps) throws IOException {
    Path directory = DirectoryTree.make(Path.of(System.getProperty("java.io.tmpdir")));
    try (LoopbackS3 server = LoopbackS3.start(directory)) {
      Path root = directory.resolve("buckets").resolve(LoopbackS3.BUCKET).resolve("root");
      new Stream(root).write(steps + KEPT_STEPS);
      try (ObjectStore store = Stores.open(server.url(), server.environment());
          MeteredStore metered = new MeteredStore(store, SystemNanoClock.INSTANCE)) {
        return collect(run, server, metered, steps);
      }
    } finally {
      DirectoryTree.delete(directory);
    }
  }

  private static Figures collect(BenchRun run, LoopbackS3 server, MeteredStore store, int steps) {
    long[] heap = {liveHeap()};
    long before = heap[0];
    CollectorContext context =
        new CollectorContext()
            .store(store)
            .policy(CollectPolicy.DEFAULT.withDeletesPerSecond(Integer.MAX_VALUE))
            .progress((phase, report) -> heap[0] = Math.max(heap[0], liveHeap()));
    long startNs = System.nanoTime();
    CollectReport report;
    try (Collector collector = Collector.open(context)) {
      report = collector.run();
    }
    double seconds = (System.nanoTime() - startNs) / 1e9;
    if (report.data().objects() != steps || report.failedKeys() != 0) {
      throw new IllegalStateException("not what was to be deleted: " + report);
    }
    long requests = requests(store.snapshot());
    run.say(
        "  %7d objects on %s: %d requests, %d KiB of live heap, %.1f s"
            .formatted(steps, server.server(), requests, (heap[0] - before) >> 10, seconds));
    return new Figures(steps, requests, heap[0] - before, seconds);
  }

  /** What goes over the wire: a call that lists or deletes more than 1,000 keys takes several. */
  private static long requests(StoreMeter meter) {
    return meter.requests() + meter.of(StoreOperation.LIST).items() / KEYS_PER_REQUEST;
  }

  private static long liveHeap() {
    System.gc();
    return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
  }

  /** Writes a stream the short way: the server's files are its objects. */
  private static final class Stream {
    private static final UUID ID = new UUID(5, 6);
    private static final String PRODUCER = "producer";

    private final Path root;
    private final Bits bits = new Bits(1);
    private final State state = State.empty(ID);
    private final byte[] body = new byte[OBJECT_BYTES];

    Stream(Path root) {
      this.root = root;
    }

    void write(int steps) throws IOException {
      put(
          ObjectNames.STREAM,
          StreamCodec.encode(new StreamDescriptor(ID, Envelope.FORMAT, 1, 1, 0)));
      commit(List.of(new Block.Fence(PRODUCER, 1, bits.nextId())));
      for (int seq = 1; seq <= steps; seq += STEPS_PER_VERSION) {
        List<TgbEntry> entries = new ArrayList<>();
        for (int i = seq; i < seq + STEPS_PER_VERSION && i <= steps; i++) {
          DataObject object = new DataObject(PRODUCER, 1, i, i, bits.nextLong());
          put(ObjectNames.data(object), body);
          SliceEntry slice = new SliceEntry(0, OBJECT_BYTES, 0, 1, 1, 1);
          entries.add(new TgbEntry(object, i, 0, 2 * OBJECT_BYTES, 40, 7, List.of(slice)));
        }
        commit(List.of(new Block.Produce(PRODUCER, 1, seq, entries, SourceState.NONE)));
      }
      commit(List.of(new Block.OperatorPin("group", "kept", steps - KEPT_STEPS, 0)));
      put(ObjectNames.snapshot(state.version()), SnapshotCodec.encode(state.toRecord()));
    }

    private void commit(List<Block> blocks) throws IOException {
      VersionHeader header = state.nextHeader(bits.nextId(), 0, 100);
      String name = ObjectNames.version(header.version());
      byte[] bytes = ManifestCodec.encode(header, blocks);
      put(name, bytes);
      FoldOutcome outcome = Fold.apply(state, ManifestCodec.decode(name, Bytes.wrap(bytes)));
      if (outcome.isVoid() || !outcome.blocks().getFirst().accepted()) {
        throw new IllegalStateException("the log was not made as the fold wants it: " + outcome);
      }
      for (SegmentRecord segment : outcome.completed()) {
        put(ObjectNames.segment(segment.index()), SegmentCodec.encode(segment));
      }
    }

    private void put(String key, byte[] bytes) throws IOException {
      Path file = root.resolve(key);
      Files.createDirectories(file.getParent());
      Files.write(file, bytes);
    }
  }
}
