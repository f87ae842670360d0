package io.batchweave.bridge.daemon;

import io.batchweave.benchmarks.Bar;
import io.batchweave.benchmarks.BenchRun;
import io.batchweave.benchmarks.DirectoryTree;
import io.batchweave.benchmarks.KafkaBroker;
import io.batchweave.benchmarks.KafkaLoad;
import io.batchweave.benchmarks.KafkaReader;
import io.batchweave.benchmarks.KafkaSettings;
import io.batchweave.benchmarks.KafkaSettings.Checks;
import io.batchweave.benchmarks.KafkaSettings.Values;
import io.batchweave.benchmarks.Sample;
import io.batchweave.benchmarks.Verdict;
import io.batchweave.bridge.rank.RankRing;
import io.batchweave.bridge.rank.StepLease;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/**
 * Question: how much faster is a step in the ring handed to a Java rank than a record which the
 * consumer has fetched already is handed out by its poll(), for the same 1, 16 and 64 MiB?
 *
 * <p>A step is eight slices: taken, each slice found, released. A record is one value, out of a
 * fetch of several: the first one, which has to be waited for, is the cold figure, the others the
 * judged one. Two ways to have the value: copied into an array by the usual deserializer, or as a
 * view of what was received, which costs nothing per byte. Neither side looks at the bytes. In
 * turn, in one process, one thread.
 *
 * <p>Judged is the usual deserializer; views are reported. Ceiling: the same poll against the one
 * system call that a hand-off has in it, the ring of the doorbell.
 */
public final class KafkaPoll implements Bar {
  private static final double GOAL = 50;
  private static final int MIB = 1 << 20;
  private static final int SLICES = 8;
  private static final int BURST = 64;
  private static final int WARMUP = 50_000;
  private static final long TIMEOUT_NS = TimeUnit.MINUTES.toNanos(1);

  /**
   * Records of one size.
   *
   * @param perFetch how many come by one request
   * @param fetches how often that is done, at full pace
   */
  private record Size(int bytes, int perFetch, int fetches) {}

  private static final Size[] SIZES = {
    new Size(MIB, 32, 40), new Size(16 * MIB, 8, 40), new Size(64 * MIB, 3, 40)
  };

  /** What was taken for one size, seconds. */
  private static final class Taken {
    final Sample handOff = new Sample();
    final Sample doorbell = new Sample();
    final Sample arrays = new Sample();
    final Sample views = new Sample();
    final Sample coldArrays = new Sample();
    final Sample coldViews = new Sample();
  }

  /** Creates one. */
  public KafkaPoll() {}

  @Override
  public String name() {
    return "kafka-poll";
  }

  @Override
  public String question() {
    return "a Java rank takes a step that is ready, against a poll() of records already fetched";
  }

  @Override
  public Verdict measure(BenchRun run) throws IOException, InterruptedException {
    Path disk = DirectoryTree.make(Path.of(System.getProperty("java.io.tmpdir")));
    double arrays = Double.MAX_VALUE;
    Sample.Interval spread = new Sample.Interval(0, 0);
    double views = Double.MAX_VALUE;
    double ceiling = Double.MAX_VALUE;
    try (KafkaBroker broker = KafkaBroker.start(run, disk)) {
      run.say(
          "      bytes  hand-off us  poll us: arrays, views  x hand-off: arrays, views"
              + "   cold ms: arrays, views");
      for (Size size : SIZES) {
        Taken taken = measure(run, broker, size);
        double handOff = taken.handOff.median();
        double faster = taken.arrays.median() / handOff;
        if (faster < arrays) {
          arrays = faster;
          spread = taken.arrays.intervalOver(taken.handOff);
        }
        views = Math.min(views, taken.views.median() / handOff);
        ceiling = Math.min(ceiling, taken.arrays.median() / taken.doorbell.median());
        run.say(
            "  %9d  %11.3f  %8.1f, %8.1f       %9.0f, %6.0f         %8.2f, %8.2f   n %d"
                .formatted(
                    size.bytes(),
                    handOff * 1e6,
                    taken.arrays.median() * 1e6,
                    taken.views.median() * 1e6,
                    faster,
                    taken.views.median() / handOff,
                    taken.coldArrays.median() * 1e3,
                    taken.coldViews.median() * 1e3,
                    taken.handOff.count()));
      }
    } finally {
      DirectoryTree.delete(disk);
    }
    run.say("  against a poll() of views: %.1f x at least".formatted(views));
    return new Verdict(
            name(),
            arrays,
            "x faster than a poll() of arrays",
            ceiling,
            ">= " + (long) GOAL,
            arrays >= GOAL)
        .within(spread);
  }

  private static Taken measure(BenchRun run, KafkaBroker broker, Size size)
      throws IOException, InterruptedException {
    String topic = "records-" + size.bytes();
    broker.createTopic(topic, 1, KafkaSettings.Flush.LATER);
    try (KafkaLoad load = KafkaLoad.open(broker, size.bytes())) {
      load.produce(topic, 1, size.perFetch());
    }
    Taken taken = new Taken();
    try (KafkaReader arrays = reader(broker, size, Values.ARRAYS);
        KafkaReader views = reader(broker, size, Values.VIEWS);
        ReadyRing ring = new ReadyRing(new ReadyRing.Shape(SLICES, size.bytes() / SLICES, 1))) {
      for (int i = 0; i < WARMUP; i++) {
        handOff(ring);
        doorbell(ring);
      }
      int fetches = run.rounds(size.fetches());
      for (int fetch = -Math.max(2, fetches / 4); fetch < fetches; fetch++) {
        Taken into = fetch < 0 ? new Taken() : taken;
        poll(arrays, topic, size, into.coldArrays, into.arrays);
        poll(views, topic, size, into.coldViews, into.views);
        for (int i = 0; i < BURST; i++) {
          into.handOff.add(handOff(ring));
          into.doorbell.add(doorbell(ring));
        }
      }
    }
    broker.deleteTopic(topic);
    return taken;
  }

  private static KafkaReader reader(KafkaBroker broker, Size size, Values values) {
    return new KafkaReader(
        KafkaSettings.consumer(
            broker.bootstrap(), size.bytes(), size.perFetch(), values, Checks.NONE),
        size.bytes());
  }

  private static void poll(
      KafkaReader reader, String topic, Size size, Sample cold, Sample fetched) {
    reader.begin(topic, 0, 1);
    for (int i = 0; i < size.perFetch(); i++) {
      long beganNs = System.nanoTime();
      reader.next();
      (i == 0 ? cold : fetched).add((System.nanoTime() - beganNs) / 1e9);
    }
    reader.rest();
  }

  private static double doorbell(ReadyRing ring) {
    long beganNs = System.nanoTime();
    ring.ring();
    return (System.nanoTime() - beganNs) / 1e9;
  }

  private static double handOff(ReadyRing ring) {
    ring.publish();
    RankRing rank = ring.ranks().getFirst();
    long beganNs = System.nanoTime();
    StepLease lease = ReadyRing.take(rank, beganNs + TIMEOUT_NS);
    long bytes = 0;
    for (int i = 0; i < SLICES; i++) {
      bytes += lease.slice(lease.find(i, 0)).byteSize();
    }
    lease.release();
    double seconds = (System.nanoTime() - beganNs) / 1e9;
    if (bytes == 0) {
      throw new IllegalStateException("the step is empty");
    }
    return seconds;
  }
}
