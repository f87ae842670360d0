package io.batchweave.bridge.daemon;

import io.batchweave.benchmarks.BareS3;
import io.batchweave.benchmarks.BenchRun;
import io.batchweave.benchmarks.DirectoryTree;
import io.batchweave.benchmarks.JitCompiler;
import io.batchweave.benchmarks.KafkaBroker;
import io.batchweave.benchmarks.KafkaLoad;
import io.batchweave.benchmarks.KafkaReader;
import io.batchweave.benchmarks.KafkaSettings;
import io.batchweave.benchmarks.KafkaSettings.Checks;
import io.batchweave.benchmarks.KafkaSettings.Values;
import io.batchweave.format.Grid;
import io.batchweave.store.ByteRange;
import io.batchweave.store.Stores;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;

/**
 * Steps of 64 slices of 1 MiB on a loopback S3, in files and in a Kafka broker, and how a node gets
 * its eight slices of one, which nobody has asked for before.
 */
final class ColdSteps implements AutoCloseable {
  /** Bytes that a node needs of a step. */
  static final int NODE_BYTES = 8 << 20;

  /** How many there are. */
  static final int STEPS = 12;

  private static final int NODES = 8;
  private static final int RANKS = 8;
  private static final int STEP_BYTES = NODES * NODE_BYTES;
  private static final long RING_BYTES = 128L << 20;
  private static final Grid GRID = new Grid(NODES * RANKS, 1);
  private static final long WARMUP_BYTES = 64 << 10;
  private static final int WARMUP_SMALL = 3_000;
  private static final int WARMUP_LARGE = 12;
  private static final String NATURAL = "natural";
  private static final String BEST = "best";

  /** How a node gets them. */
  enum Way {
    /** As the daemon does it. */
    S3("ours, S3"),
    /** The same bytes in an object of their own, by the client alone. */
    BARE_S3("bare CRT GET"),
    /** As the daemon does it. */
    FILES("ours, files"),
    /** From file to file. */
    BARE_FILES("bare copy of files"),
    /** A consumer, a record is the batch. */
    NATURAL("Kafka, natural layout"),
    /** A consumer, a record is the node's part. */
    BEST("Kafka, best layout"),
    /** The same, and it looks at the checksums. */
    BEST_CHECKED("Kafka, best, checksums"),
    /** The same, and each value is copied into an array, as consumers come. */
    BEST_USUAL("Kafka, best, usual");

    private final String label;

    Way(String label) {
      this.label = label;
    }

    String label() {
      return label;
    }
  }

  private final OwnedParts parts = new OwnedParts();
  private final FetchRig rig;
  private final BareS3 bare;
  private final FetchRig.Subject subject;
  private final Path disk;
  private final StepStream s3;
  private final StepStream files;
  private final KafkaReader natural;
  private final KafkaReader best;
  private final KafkaReader checked;
  private final KafkaReader usual;

  /** Starts servers and writes all steps to each. */
  ColdSteps(BenchRun run) throws IOException, InterruptedException {
    try {
      disk = DirectoryTree.make(Path.of(System.getProperty("java.io.tmpdir")));
      parts.own(() -> DirectoryTree.delete(disk));
      KafkaBroker broker = parts.own(KafkaBroker.start(run, disk));
      rig = parts.own(new FetchRig(RING_BYTES));
      bare = parts.own(new BareS3(rig.server()));
      subject = rig.upload(NODE_BYTES / RANKS);
      String url = rig.server().url().replace("/root?", "/stream?");
      s3 = parts.own(stream(url, rig.server().environment()));
      files = parts.own(stream("file:" + disk.resolve("stream"), Map.of()));
      fill(broker);
      natural = parts.own(reader(broker, STEP_BYTES, Values.VIEWS, Checks.NONE));
      best = parts.own(reader(broker, NODE_BYTES, Values.VIEWS, Checks.NONE));
      checked = parts.own(reader(broker, NODE_BYTES, Values.VIEWS, Checks.CRC));
      usual = parts.own(reader(broker, NODE_BYTES, Values.ARRAYS, Checks.CRC));
    } catch (IOException | InterruptedException | RuntimeException e) {
      close();
      throw e;
    }
  }

  private static StepStream stream(String url, Map<String, String> environment) {
    return new StepStream(Stores.openRetrying(url, environment), GRID, STEP_BYTES, STEPS);
  }

  private static KafkaReader reader(
      KafkaBroker broker, int recordBytes, Values values, Checks checks) {
    return new KafkaReader(
        KafkaSettings.consumer(broker.bootstrap(), recordBytes, 1, values, checks), recordBytes);
  }

  private static void fill(KafkaBroker broker) throws IOException, InterruptedException {
    broker.createTopic(NATURAL, STEPS, KafkaSettings.Flush.LATER);
    broker.createTopic(BEST, STEPS, KafkaSettings.Flush.LATER);
    try (KafkaLoad load = KafkaLoad.open(broker, STEP_BYTES)) {
      load.produce(NATURAL, STEPS, STEPS);
    }
    try (KafkaLoad load = KafkaLoad.openTransactional(broker, NODE_BYTES)) {
      for (int step = 0; step < STEPS; step++) {
        load.produceTogether(BEST, step, step + 1);
      }
    }
  }

  /** Uses all ways until they are compiled, as they are where somebody has read for an hour. */
  void warmUp(BenchRun run) throws IOException {
    FetchRig.Subject small = rig.upload(WARMUP_BYTES / RANKS);
    for (int i = 0; i < run.rounds(WARMUP_SMALL); i++) {
      long position = rig.nextPosition(small.checked().lengthBytes());
      rig.fetch(small.checked(), position);
      bare.get(
          rig.server().objectPath(small.key()),
          small.lengthBytes(),
          rig.ringFile(),
          position + small.offset());
    }
    for (int i = 0; i < run.rounds(WARMUP_LARGE); i++) {
      for (Way way : Way.values()) {
        if (way != Way.NATURAL) {
          readAll(way);
        }
      }
      double _ = poll(natural, NATURAL, i % STEPS);
    }
    JitCompiler.awaitRest();
  }

  /**
   * Gets a node's part of a step.
   *
   * @return seconds until it was there
   */
  double get(Way way, int step, int node) throws IOException {
    long position = rig.nextPosition(subject.checked().lengthBytes());
    return switch (way) {
      case S3 -> fetch(s3, step, node, position);
      case FILES -> fetch(files, step, node, position);
      case BARE_S3 -> bareGet(position);
      case BARE_FILES -> copy(files.plan(step, node, RANKS), position);
      case NATURAL -> poll(natural, NATURAL, step);
      case BEST, BEST_CHECKED, BEST_USUAL -> poll(readerOf(way), BEST, step);
    };
  }

  private KafkaReader readerOf(Way way) {
    return switch (way) {
      case BEST_USUAL -> usual;
      case BEST_CHECKED -> checked;
      default -> best;
    };
  }

  private double fetch(StepStream stream, int step, int node, long position) {
    long beganNs = System.nanoTime();
    rig.fetchAll(stream.store(), stream.plan(step, node, RANKS), List.of(position));
    return (System.nanoTime() - beganNs) / 1e9;
  }

  private double bareGet(long position) {
    long beganNs = System.nanoTime();
    bare.get(
        rig.server().objectPath(subject.key()),
        subject.lengthBytes(),
        rig.ringFile(),
        position + subject.offset());
    return (System.nanoTime() - beganNs) / 1e9;
  }

  private double copy(RegionPlan plan, long position) throws IOException {
    RegionPlan.Part part = plan.parts().getFirst();
    ByteRange range = part.range().bytes();
    long beganNs = System.nanoTime();
    try (FileChannel from =
            FileChannel.open(disk.resolve("stream").resolve(plan.key()), StandardOpenOption.READ);
        FileChannel to = FileChannel.open(rig.ringFile(), StandardOpenOption.WRITE)) {
      to.position(position + part.offset());
      long done = 0;
      while (done < range.lengthBytes()) {
        done += from.transferTo(range.offset() + done, range.lengthBytes() - done, to);
      }
    }
    return (System.nanoTime() - beganNs) / 1e9;
  }

  private static double poll(KafkaReader reader, String topic, int step) {
    reader.begin(topic, step, step + 1);
    long beganNs = System.nanoTime();
    reader.next();
    double seconds = (System.nanoTime() - beganNs) / 1e9;
    reader.rest();
    return seconds;
  }

  /** Reads all steps for one node, one after the other, as fast as they come. */
  void readAll(Way way) throws IOException {
    switch (way) {
      case BEST, BEST_CHECKED, BEST_USUAL -> {
        KafkaReader reader = readerOf(way);
        reader.begin(BEST, 0, STEPS);
        for (int step = 0; step < STEPS; step++) {
          reader.next();
        }
        reader.rest();
      }
      default -> {
        for (int step = 0; step < STEPS; step++) {
          double _ = get(way, step, 0);
        }
      }
    }
  }

  @Override
  public void close() {
    parts.close();
  }
}
