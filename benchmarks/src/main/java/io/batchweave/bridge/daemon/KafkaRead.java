package io.batchweave.bridge.daemon;

import io.batchweave.benchmarks.Bar;
import io.batchweave.benchmarks.BenchRun;
import io.batchweave.benchmarks.Sample;
import io.batchweave.benchmarks.Turns;
import io.batchweave.benchmarks.Verdict;
import io.batchweave.bridge.daemon.ColdSteps.Way;
import java.io.IOException;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * Question: how long does a node wait for its 8 slices of 1 MiB of a step of 64 MiB that nobody has
 * prefetched?
 *
 * <p>The daemon's own way: looks the step up in its window of the log, plans, fetches into the ring
 * and checks; what follows until a rank has it is {@code handoff-java}. A node of Kafka is a
 * consumer that goes to a record and polls. In the natural layout the record is the whole batch, in
 * the best one it is the node's part, committed in a transaction. Each record has a partition of
 * its own, so that the consumer's read-ahead of the following one is in no figure, and a fetch
 * brings one record exactly. All in turn, in one process, everything in the page cache.
 *
 * <p>Ceiling: the store's own latency, a bare GET of the CRT; beside it a bare copy from file to
 * file; 8 MiB into the same ring.
 */
public final class KafkaRead implements Bar {
  private static final double GOAL = 0.25;
  private static final double TAIL = 0.99;
  private static final int ROUNDS = 150;
  private static final int NODES = 8;
  private static final List<Way> LATENCY =
      List.of(Way.S3, Way.BARE_S3, Way.FILES, Way.BARE_FILES, Way.NATURAL, Way.BEST);

  /** Creates one. */
  public KafkaRead() {}

  @Override
  public String name() {
    return "kafka-read";
  }

  @Override
  public String question() {
    return "a node's 8 MiB of a step that nobody prefetched: latency, against consumers";
  }

  @Override
  public Verdict measure(BenchRun run) throws IOException, InterruptedException {
    try (ColdSteps steps = new ColdSteps(run)) {
      steps.warmUp(run);
      Map<Way, Sample> latency = latency(steps, run.rounds(ROUNDS));
      Sample its = of(latency, Way.NATURAL);
      double natural = its.median();
      double naturalTail = its.quantile(TAIL);
      run.say(
          "  way                        n  p50 ms [95 %]          p99 ms   x natural layout: p50, p99");
      latency.forEach((way, sample) -> {
        Sample.Interval interval = sample.interval();
        run.say(
            "  %-22s %5d  %6.2f [%.2f, %.2f]   %8.2f   %.4f, %.4f"
                .formatted(
                    way.label(),
                    sample.count(),
                    sample.median() * 1e3,
                    interval.low() * 1e3,
                    interval.high() * 1e3,
                    sample.quantile(TAIL) * 1e3,
                    sample.median() / natural,
                    sample.quantile(TAIL) / naturalTail));
      });
      apart(run, latency, Way.S3, Way.BARE_S3);
      apart(run, latency, Way.FILES, Way.BARE_FILES);
      Ratio worst = new Ratio(0, 0, new Sample.Interval(0, 0));
      for (Way way : List.of(Way.S3, Way.FILES)) {
        Sample ours = of(latency, way);
        Sample bare = of(latency, way == Way.S3 ? Way.BARE_S3 : Way.BARE_FILES);
        worst =
            worst.or(
                new Ratio(
                    ours.median() / natural, bare.median() / natural, ours.intervalOver(its)));
        worst =
            worst.or(
                new Ratio(
                    ours.quantile(TAIL) / naturalTail,
                    bare.quantile(TAIL) / naturalTail,
                    ours.intervalOver(its, TAIL)));
      }
      return new Verdict(
              name(),
              worst.ours(),
              "x Kafka's natural layout",
              worst.ceiling(),
              "<= " + GOAL,
              worst.ours() <= GOAL)
          .within(worst.spread());
    }
  }

  /** A figure of ours and the bare way's, over the natural layout's. */
  private record Ratio(double ours, double ceiling, Sample.Interval spread) {
    Ratio or(Ratio other) {
      return other.ours > ours ? other : this;
    }
  }

  private static Sample of(Map<Way, Sample> samples, Way way) {
    return samples.getOrDefault(way, new Sample());
  }

  private static Map<Way, Sample> latency(ColdSteps steps, int rounds) throws IOException {
    Map<Way, Sample> latency = new EnumMap<>(Way.class);
    for (int round = 0; round < rounds; round++) {
      int step = Math.floorMod(round * 5, ColdSteps.STEPS);
      for (int i = 0; i < LATENCY.size(); i++) {
        Way way = LATENCY.get(Turns.of(round, i, LATENCY.size()));
        double seconds = steps.get(way, step, Math.floorMod(round, NODES));
        latency.computeIfAbsent(way, ignored -> new Sample()).add(seconds);
      }
    }
    return latency;
  }

  private static void apart(BenchRun run, Map<Way, Sample> latency, Way ours, Way bare) {
    double own = of(latency, ours).median() - of(latency, bare).median();
    run.say(
        "  %s less %s: %.2f ms; Kafka's best layout, all of it: %.2f ms"
            .formatted(
                ours.label(), bare.label(), own * 1e3, of(latency, Way.BEST).median() * 1e3));
  }
}
