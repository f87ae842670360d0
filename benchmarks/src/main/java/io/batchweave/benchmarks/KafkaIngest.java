package io.batchweave.benchmarks;

import io.batchweave.store.ObjectStore;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;

/**
 * Question: how fast, and for how much processor time, does one producer bring batches to the disk,
 * against a Kafka broker that flushes every append before it acknowledges it?
 *
 * <p>A batch is a record: the same bytes, acks=all, as many at a time as either client likes, on
 * the same disk. Kafka's processor time is that of client and broker; a store of files has no
 * server. Judged is the lowest ratio of 1, 8 and 64 MiB; 64 KiB is reported.
 *
 * <p>Ceiling: bare writes of the same bytes into files, each with fsync, against the same Kafka.
 * Beside it what waits for no disk on either side: Kafka as it flushes by itself, and S3 with the
 * bare puts of the CRT.
 */
final class KafkaIngest implements Bar {
  private static final double GOAL = 1;
  private static final double GOAL_CPU = 0.5;
  private static final int MIB = 1 << 20;
  private static final int ROUNDS = 5;
  private static final int QUICK_SHARE = 4;
  private static final int WARMUP_RECORDS = 4_000;

  /** Batches of one size, and whether they are judged. */
  private record Size(int batchBytes, int batches, boolean judged) {}

  private static final Size[] SIZES = {
    new Size(64 << 10, 512, false),
    new Size(MIB, 96, true),
    new Size(8 * MIB, 24, true),
    new Size(64 * MIB, 6, true)
  };

  /** Ways to bring them. */
  private enum Way {
    FILES("files, fsync"),
    KAFKA_FLUSHED("Kafka, flush=1"),
    BARE_FILES("bare files, fsync"),
    S3("S3"),
    KAFKA("Kafka, flush later"),
    BARE_S3("bare S3 puts");

    private final String label;

    Way(String label) {
      this.label = label;
    }

    /** A name for producers, topics and folders. */
    String key() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
  }

  /** What one way took. */
  private static final class Taken {
    final Sample seconds = new Sample();
    double cpuMillis;

    void add(double roundSeconds, long cpuNs) {
      seconds.add(roundSeconds);
      cpuMillis += cpuNs / 1e6;
    }
  }

  /** What the judged ways of one size came to. */
  private record Ratios(Sample ratio, double cpu, double ceiling) {
    double speed() {
      return ratio.median();
    }
  }

  @Override
  public String name() {
    return "kafka-ingest";
  }

  @Override
  public String question() {
    return "batches of 64 KiB to 64 MiB to the disk, against Kafka with a flush per append";
  }

  @Override
  public Verdict measure(BenchRun run) throws IOException, InterruptedException {
    Path disk = DirectoryTree.make(Path.of(System.getProperty("java.io.tmpdir")));
    Path buckets = disk.resolve("s3/buckets").resolve(LoopbackS3.BUCKET).resolve("root");
    Ratios worst = null;
    double cpu = 0;
    Map<Way, List<Plot.Point>> speeds = new EnumMap<>(Way.class);
    try (KafkaBroker broker = KafkaBroker.start(run, disk);
        LoopbackS3 server = LoopbackS3.start(disk.resolve("s3"))) {
      run.say(
          "      bytes  way                     n   MB/s [95 %]            x Kafka, flush=1   CPU ms/MiB");
      IngestTarget.S3 s3 = new IngestTarget.S3(server, buckets);
      IngestTarget.Directory files = new IngestTarget.Directory(disk);
      IngestLoad.warmUp(s3);
      IngestLoad.warmUp(files);
      warmUp(broker);
      for (Size size : SIZES) {
        int share = run.pace() == BenchRun.Pace.QUICK ? QUICK_SHARE : 1;
        int batches = Math.max(2, size.batches() / share);
        try (SizeRun rounds = new SizeRun(broker, s3, files, size.batchBytes(), batches)) {
          Map<Way, Taken> taken = rounds.measure(run.rounds(ROUNDS));
          Ratios ratios = report(run, size, batches, taken);
          double megabytes = size.batchBytes() / 1e6 * batches;
          taken.forEach((way, its) ->
              speeds
                  .computeIfAbsent(way, ignored -> new ArrayList<>())
                  .add(new Plot.Point(size.batchBytes(), megabytes / its.seconds.median())));
          if (size.judged()) {
            cpu = Math.max(cpu, ratios.cpu());
            worst = worst == null || ratios.speed() < worst.speed() ? ratios : worst;
          }
        }
      }
    } finally {
      DirectoryTree.delete(disk);
    }
    run.say("  processor time per MiB at most %.3f of Kafka's (client and broker)".formatted(cpu));
    plot(run, speeds);
    Ratios judged = Objects.requireNonNull(worst);
    return new Verdict(
            name(),
            judged.speed(),
            "x Kafka's MB/s",
            judged.ceiling(),
            ">= 1.0 with CPU per MiB <= 0.5 x",
            judged.speed() >= GOAL && cpu <= GOAL_CPU)
        .within(judged.ratio().interval());
  }

  private void plot(BenchRun run, Map<Way, List<Plot.Point>> speeds) throws IOException {
    List<Plot.Curve> curves = new ArrayList<>();
    for (Way way : List.of(Way.FILES, Way.BARE_FILES, Way.KAFKA_FLUSHED, Way.KAFKA)) {
      curves.add(new Plot.Curve(way.label, speeds.getOrDefault(way, List.of())));
    }
    Plot.Axis across =
        new Plot.Axis(
            "bytes of a batch",
            Plot.Scale.LOGARITHMIC,
            SIZES[0].batchBytes(),
            SIZES[SIZES.length - 1].batchBytes(),
            List.of(
                new Plot.Tick(64 << 10, "64 KiB"),
                new Plot.Tick(MIB, "1 MiB"),
                new Plot.Tick(8 * MIB, "8 MiB"),
                new Plot.Tick(64 * MIB, "64 MiB")));
    Plot.Axis up =
        new Plot.Axis(
            "MB/s",
            Plot.Scale.LOGARITHMIC,
            10,
            10_000,
            List.of(
                new Plot.Tick(10, "10"),
                new Plot.Tick(100, "100"),
                new Plot.Tick(1_000, "1,000"),
                new Plot.Tick(10_000, "10,000")));
    run.show(name(), new Plot("MB/s of one producer to the disk", across, up, curves));
  }

  /** Kafka's client and broker are compiled, too. */
  private static void warmUp(KafkaBroker broker) throws IOException, InterruptedException {
    try (KafkaLoad small = KafkaLoad.open(broker, SIZES[0].batchBytes())) {
      for (KafkaSettings.Flush flush : KafkaSettings.Flush.values()) {
        String topic = "warm-up-" + flush.name().toLowerCase(Locale.ROOT);
        broker.createTopic(topic, 1, flush);
        double _ = small.produce(topic, 1, WARMUP_RECORDS);
        broker.deleteTopic(topic);
      }
    }
    JitCompiler.awaitRest();
  }

  /** All ways for one size, in turn. */
  private static final class SizeRun implements AutoCloseable {
    private final KafkaBroker broker;
    private final IngestTarget.S3 s3;
    private final IngestTarget.Directory files;
    private final int batchBytes;
    private final int batches;
    private final IngestLoad load;
    private final KafkaLoad kafka;

    SizeRun(
        KafkaBroker broker,
        IngestTarget.S3 s3,
        IngestTarget.Directory files,
        int batchBytes,
        int batches) {
      this.broker = broker;
      this.s3 = s3;
      this.files = files;
      this.batchBytes = batchBytes;
      this.batches = batches;
      this.load = new IngestLoad(IngestLoad.EIGHT, batchBytes);
      this.kafka = KafkaLoad.open(broker, batchBytes);
    }

    /** The first round of all is not counted. */
    Map<Way, Taken> measure(int rounds) throws IOException, InterruptedException {
      Map<Way, Taken> taken = new EnumMap<>(Way.class);
      Way[] ways = Way.values();
      for (int round = 0; round <= rounds; round++) {
        for (int i = 0; i < ways.length; i++) {
          Way way = ways[Turns.of(round, i, ways.length)];
          Taken its = taken.computeIfAbsent(way, ignored -> new Taken());
          String fresh = way.key() + "-" + batchBytes + "-" + round;
          Taken into = round > 0 ? its : new Taken();
          switch (way) {
            case FILES -> produce(files, fresh, into);
            case S3 -> produce(s3, fresh, into);
            case BARE_FILES -> bare(files, fresh, into);
            case BARE_S3 -> bare(s3, fresh, into);
            case KAFKA -> kafka(KafkaSettings.Flush.LATER, fresh, into);
            case KAFKA_FLUSHED -> kafka(KafkaSettings.Flush.EVERY_APPEND, fresh, into);
          }
        }
      }
      return taken;
    }

    private void produce(IngestTarget target, String fresh, Taken into) throws IOException {
      try (ObjectStore store = load.newStream(target, fresh)) {
        long cpuNs = ProcessTime.nanos();
        double seconds = load.produce(store, batches);
        into.add(seconds, ProcessTime.nanos() - cpuNs);
      }
      DirectoryTree.delete(target.place().resolve(fresh));
    }

    private void bare(IngestTarget target, String fresh, Taken into) throws IOException {
      IngestTarget.Spent spent =
          target.bareWays(load.object().limit()).getFirst().bring(load.object(), batches, fresh);
      into.add(spent.seconds(), spent.cpuNs());
      DirectoryTree.delete(target.place().resolve(fresh));
    }

    private void kafka(KafkaSettings.Flush flush, String fresh, Taken into)
        throws IOException, InterruptedException {
      broker.createTopic(fresh, 1, flush);
      long cpuNs = ProcessTime.nanos() + broker.cpuNanos();
      double seconds = kafka.produce(fresh, 1, batches);
      into.add(seconds, ProcessTime.nanos() + broker.cpuNanos() - cpuNs);
      broker.deleteTopic(fresh);
    }

    @Override
    public void close() {
      kafka.close();
    }
  }

  private static Ratios report(BenchRun run, Size size, int batches, Map<Way, Taken> all) {
    double bytes = (double) size.batchBytes() * batches;
    Taken kafka = all.getOrDefault(Way.KAFKA_FLUSHED, new Taken());
    double kafkaCpu = kafka.cpuMillis;
    Map<Way, Sample> ratios = new EnumMap<>(Way.class);
    all.forEach((way, taken) -> {
      Sample speed = taken.seconds.map(seconds -> bytes / 1e6 / seconds);
      Sample ratio = kafka.seconds.over(taken.seconds);
      ratios.put(way, ratio);
      Sample.Interval spread = speed.interval();
      Sample.Interval interval = ratio.interval();
      run.say(
          "  %9d  %-20s %4d %6.0f [%.0f, %.0f]  %.3f [%.3f, %.3f]   %.3f"
              .formatted(
                  size.batchBytes(),
                  way.label,
                  taken.seconds.count(),
                  speed.median(),
                  spread.low(),
                  spread.high(),
                  ratio.median(),
                  interval.low(),
                  interval.high(),
                  taken.cpuMillis / (bytes / MIB * taken.seconds.count())));
    });
    return new Ratios(
        ratios.getOrDefault(Way.FILES, new Sample()),
        all.getOrDefault(Way.FILES, kafka).cpuMillis / kafkaCpu,
        ratios.getOrDefault(Way.BARE_FILES, new Sample()).median());
  }
}
