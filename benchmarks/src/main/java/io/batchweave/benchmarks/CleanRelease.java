package io.batchweave.benchmarks;

import java.util.Map;

/**
 * Question: what does it cost a rank with copy-on-write views to release a step that it has read
 * and not edited?
 *
 * <p>Ceiling: asking the kernel about the region's pages, which is what finds the edits.
 */
public final class CleanRelease implements Bar {
  private static final double GOAL_MICROS = 6;
  private static final long MIB = 1L << 20;
  private static final long[] SIZES = {MIB, 16 * MIB, 64 * MIB};
  private static final int ROUNDS = 100;

  /** Creates one. */
  public CleanRelease() {}

  @Override
  public String name() {
    return "release";
  }

  @Override
  public String question() {
    return "a rank releases a clean step of 1, 16 and 64 MiB: time per MiB";
  }

  @Override
  public Verdict measure(BenchRun run) throws Exception {
    Sample worst = new Sample();
    double most = 0;
    double ceiling = 0;
    for (long size : SIZES) {
      Map<CRank.Figure, Sample> samples = CRank.run(size, run.rounds(ROUNDS), CRank.Views.PRIVATE);
      double mib = size / (double) MIB * 1e3;
      Sample release =
          samples.getOrDefault(CRank.Figure.RELEASE, new Sample()).map(nanos -> nanos / mib);
      double kernel = samples.getOrDefault(CRank.Figure.PAGEMAP, new Sample()).median() / mib;
      double micros = release.median();
      Sample.Interval interval = release.interval();
      run.say(
          "  %9d bytes: %.2f us per MiB [%.2f, %.2f], of which the kernel %.2f"
              .formatted(size, micros, interval.low(), interval.high(), kernel));
      if (micros > most) {
        most = micros;
        ceiling = kernel;
        worst = release;
      }
    }
    return new Verdict(name(), most, "us/MiB", ceiling, "<= 6", most <= GOAL_MICROS)
        .within(worst.interval());
  }
}
