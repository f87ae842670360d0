package io.batchweave.benchmarks;

import io.batchweave.bridge.daemon.Daemon;
import io.batchweave.bridge.daemon.DaemonContext;
import io.batchweave.client.Streams;
import io.batchweave.format.Grid;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Stores;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Question: how many bytes leave the server for each byte of payload when 64 ranks on 8 nodes read
 * every step, slices of 1 MiB, everything included: protocol, log of the stream, checks?
 *
 * <p>Eight daemons with eight ranks each, all of one session, read from S3. A node of Kafka is a
 * consumer, and gets its 8 MiB of a step in either of two layouts: the natural one, a record is the
 * whole batch, and the best one, a partition per node, whose records of a step are committed in one
 * transaction, so that all of them become visible or none.
 *
 * <p>What a server sent is the kernel's count of what its process wrote while nothing was written
 * to it but what reading writes; the readers' own counts stand beside it. Judged is the larger one.
 * Ceiling: 1, each byte once.
 */
final class Amplification implements Bar {
  private static final double GOAL = 1.01;
  private static final int MIB = 1 << 20;
  private static final int NODES = 8;
  private static final int RANKS = 8;
  private static final int NODE_BYTES = RANKS * MIB;
  private static final int STEP_BYTES = NODES * NODE_BYTES;
  private static final int STEPS = 24;
  private static final int QUICK_STEPS = 6;
  private static final long RING_BYTES = 32L * MIB;
  private static final Grid GRID = new Grid(NODES * RANKS, 1);

  /** What readers got for each byte of payload, by two accounts. */
  private record Counted(double sent, double received) {
    static Counted of(long sentBytes, long receivedBytes, int steps) {
      double payload = (double) STEP_BYTES * steps;
      return new Counted(sentBytes / payload, receivedBytes / payload);
    }
  }

  @Override
  public String name() {
    return "amplification";
  }

  @Override
  public String question() {
    return "bytes that 64 ranks on 8 nodes fetch per byte of payload, against Kafka consumers";
  }

  @Override
  public Verdict measure(BenchRun run)
      throws IOException, InterruptedException, ExecutionException {
    int steps = run.pace() == BenchRun.Pace.QUICK ? QUICK_STEPS : STEPS;
    run.say("  %d steps of 64 x 1 MiB; bytes per byte of payload".formatted(steps));
    run.say("  way                                    sent by the server  received, readers say");
    Path disk = DirectoryTree.make(Path.of(System.getProperty("java.io.tmpdir")));
    Counted ours;
    try {
      try (LoopbackS3 server = LoopbackS3.start(disk.resolve("s3"))) {
        ours = ours(server, steps);
        say(run, server.server() + ", 8 daemons", ours);
      }
      DirectoryTree.delete(disk.resolve("s3"));
      try (KafkaBroker broker = KafkaBroker.start(run, disk)) {
        say(run, "Kafka, a record is a batch", natural(broker, steps));
        say(run, "Kafka, a partition per node", best(broker, steps));
      }
    } finally {
      DirectoryTree.delete(disk);
    }
    double value = Math.max(ours.sent(), ours.received());
    return new Verdict(name(), value, "bytes per byte", 1, "<= " + GOAL, value <= GOAL);
  }

  private static void say(BenchRun run, String way, Counted counted) {
    run.say("  %-38s %18.4f %22.4f".formatted(way, counted.sent(), counted.received()));
  }

  private static Counted ours(LoopbackS3 server, int steps)
      throws IOException, InterruptedException, ExecutionException {
    try (ObjectStore store = Stores.openRetrying(server.url(), server.environment())) {
      Streams.create(store, GRID);
      var _ = new IngestLoad(GRID, STEP_BYTES).produce(store, steps);
    }
    Path memory = DirectoryTree.make(Path.of("/dev/shm"));
    List<Daemon> daemons = new ArrayList<>();
    try {
      long before = server.writtenBytes();
      for (int node = 0; node < NODES; node++) {
        daemons.add(
            Daemon.launch(
                new DaemonContext()
                    .streams(List.of(server.url()))
                    .environment(server.environment())
                    .directory(memory.resolve("node" + node))
                    .memoryBytes(RING_BYTES)
                    .reserveBytes(0)));
      }
      readAll(server.url(), daemons, steps);
      long received = 0;
      for (Daemon daemon : daemons) {
        received += daemon.storeMeter(server.url()).bytesRead();
      }
      return Counted.of(server.writtenBytes() - before, received, steps);
    } finally {
      daemons.forEach(Daemon::close);
      DirectoryTree.delete(memory);
    }
  }

  private static void readAll(String url, List<Daemon> daemons, int steps)
      throws InterruptedException, ExecutionException {
    try (ExecutorService threads = Executors.newFixedThreadPool(NODES * RANKS)) {
      List<Future<?>> ranks = new ArrayList<>();
      for (int rank = 0; rank < NODES * RANKS; rank++) {
        Path directory = daemons.get(rank / RANKS).directory();
        int dp = rank;
        ranks.add(threads.submit(() -> read(url, directory, dp, steps)));
      }
      for (Future<?> rank : ranks) {
        rank.get();
      }
    }
  }

  private static void read(String url, Path directory, int dp, int steps) {
    long taken = new JavaRank(url, directory, NODES * RANKS, RANKS).take(dp, steps);
    if (taken != (long) MIB * steps) {
      throw new IllegalStateException("not the slices of a rank: dp=" + dp + " bytes=" + taken);
    }
  }

  private static Counted natural(KafkaBroker broker, int steps)
      throws IOException, InterruptedException {
    broker.createTopic("natural", 1, KafkaSettings.Flush.LATER);
    try (KafkaLoad load = KafkaLoad.open(broker, STEP_BYTES)) {
      load.produce("natural", 1, steps);
    }
    Counted counted = consume(broker, "natural", STEP_BYTES, 1, steps);
    broker.deleteTopic("natural");
    return counted;
  }

  private static Counted best(KafkaBroker broker, int steps)
      throws IOException, InterruptedException {
    broker.createTopic("best", NODES, KafkaSettings.Flush.LATER);
    try (KafkaLoad load = KafkaLoad.openTransactional(broker, NODE_BYTES)) {
      for (int step = 0; step < steps; step++) {
        load.produceTogether("best", 0, NODES);
      }
    }
    return consume(broker, "best", NODE_BYTES, NODES, steps);
  }

  /** Every node reads every step from its partition, or from the only one. */
  private static Counted consume(
      KafkaBroker broker, String topic, int recordBytes, int partitions, int steps)
      throws IOException {
    long before = broker.writtenBytes();
    long received = 0;
    for (int node = 0; node < NODES; node++) {
      try (KafkaReader reader =
          new KafkaReader(
              KafkaSettings.consumer(
                  broker.bootstrap(),
                  recordBytes,
                  1,
                  KafkaSettings.Values.VIEWS,
                  KafkaSettings.Checks.NONE),
              recordBytes)) {
        int partition = node % partitions;
        reader.begin(topic, partition, partition + 1);
        for (int step = 0; step < steps; step++) {
          reader.next();
        }
        received += reader.receivedBytes();
      }
    }
    return Counted.of(broker.writtenBytes() - before, received, steps);
  }
}
