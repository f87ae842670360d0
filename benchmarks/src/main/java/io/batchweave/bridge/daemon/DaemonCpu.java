package io.batchweave.bridge.daemon;

import io.batchweave.benchmarks.Bar;
import io.batchweave.benchmarks.BenchRun;
import io.batchweave.benchmarks.ProcessTime;
import io.batchweave.benchmarks.Sample;
import io.batchweave.benchmarks.Turns;
import io.batchweave.benchmarks.Verdict;
import io.batchweave.bridge.daemon.ColdSteps.Way;
import java.io.IOException;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * Question: what processor time does a daemon take to bring a MiB into the ring, against a Kafka
 * consumer in its best layout?
 *
 * <p>That of this process for reading all steps one after the other, servers not included; nor what
 * it takes to follow the log, which a consumer need not, nor ranks, whose hand-off is {@code
 * handoff-java}. Judged is the daemon's way on S3 against a consumer that looks at checksums, as
 * the daemon does, and hands out views; beside it a consumer as it comes, which copies each value,
 * and one that looks at nothing.
 *
 * <p>Ceiling: the bare GET of the CRT, which takes most of it.
 */
public final class DaemonCpu implements Bar {
  private static final double GOAL = 0.5;
  private static final double MIB = (double) ColdSteps.STEPS * ColdSteps.NODE_BYTES / (1 << 20);
  private static final int ROUNDS = 25;
  private static final List<Way> WAYS =
      List.of(
          Way.S3,
          Way.BARE_S3,
          Way.FILES,
          Way.BARE_FILES,
          Way.BEST_CHECKED,
          Way.BEST_USUAL,
          Way.BEST);

  /** Creates one. */
  public DaemonCpu() {}

  @Override
  public String name() {
    return "daemon-cpu";
  }

  @Override
  public String question() {
    return "processor time per MiB of a daemon's fetches, against a Kafka consumer";
  }

  @Override
  public Verdict measure(BenchRun run) throws IOException, InterruptedException {
    Map<Way, Sample> millis = new EnumMap<>(Way.class);
    try (ColdSteps steps = new ColdSteps(run)) {
      steps.warmUp(run);
      for (int round = 0; round < run.rounds(ROUNDS); round++) {
        for (int i = 0; i < WAYS.size(); i++) {
          Way way = WAYS.get(Turns.of(round, i, WAYS.size()));
          long beforeNs = ProcessTime.nanos();
          steps.readAll(way);
          double taken = (ProcessTime.nanos() - beforeNs) / 1e6 / MIB;
          millis.computeIfAbsent(way, ignored -> new Sample()).add(taken);
        }
      }
    }
    double kafka = of(millis, Way.BEST_CHECKED).median();
    millis.forEach((way, sample) -> {
      Sample.Interval interval = sample.interval();
      run.say(
          "  %-22s %.3f CPU ms/MiB [%.3f, %.3f], %.3f of the consumer with checksums"
              .formatted(
                  way.label(),
                  sample.median(),
                  interval.low(),
                  interval.high(),
                  sample.median() / kafka));
    });
    double value = of(millis, Way.S3).median() / kafka;
    return new Verdict(
            name(),
            value,
            "x a Kafka consumer's",
            of(millis, Way.BARE_S3).median() / kafka,
            "<= " + GOAL,
            value <= GOAL)
        .within(of(millis, Way.S3).intervalOver(of(millis, Way.BEST_CHECKED)));
  }

  private static Sample of(Map<Way, Sample> samples, Way way) {
    return samples.getOrDefault(way, new Sample());
  }
}
