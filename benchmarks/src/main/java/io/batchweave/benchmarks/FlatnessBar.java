package io.batchweave.benchmarks;

import io.batchweave.simulate.Flatness;
import io.batchweave.simulate.Flatness.Cost;
import io.batchweave.simulate.Flatness.Figures;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;

/**
 * Does what it costs to commit, to open a stream and to find a step grow with its history? The real
 * machines in virtual time on the latencies of S3, at the same tail behind the newest snapshot and
 * the same fill of the unfinished segment; so the figures are the same on every machine. Ceiling:
 * 1, nothing grows.
 */
final class FlatnessBar implements Bar {
  private static final double WITHIN = 1.1;
  private static final int MAX_ROUND_TRIPS = 4;
  private static final long REST = 200;

  @Override
  public String name() {
    return "flatness";
  }

  @Override
  public String question() {
    return "what a commit, an open and a look-up cost at 1,000 to 1,000,000 committed TGBs";
  }

  @Override
  public Verdict measure(BenchRun run) {
    long[] histories =
        run.pace() == BenchRun.Pace.FULL
            ? new long[] {1_100, 10_000, 1_000_000}
            : new long[] {1_100, 10_000};
    List<Figures> all = new ArrayList<>();
    run.say(
        "  committed  round   open: ms      B  req   find: ms      B  req"
            + "  commit: ms      B   req  of 16: ms      B   req");
    for (long versions : LongStream.concat(LongStream.of(1), LongStream.of(histories)).toArray()) {
      long same =
          versions < Flatness.PERIOD_VERSIONS
              ? versions
              : versions / Flatness.PERIOD_VERSIONS * Flatness.PERIOD_VERSIONS + REST;
      Figures figures = Flatness.of(same);
      all.add(figures);
      run.say(line(figures));
    }
    Figures first = all.get(1);
    double worst = 1;
    boolean shallow = true;
    for (Figures figures : all) {
      shallow &= figures.roundTrips() <= MAX_ROUND_TRIPS;
      if (figures.versions() > first.versions()) {
        worst = Math.max(worst, figures.open().over(first.open()));
        worst = Math.max(worst, figures.find().over(first.find()));
        worst = Math.max(worst, figures.commit().over(first.commit()));
        worst = Math.max(worst, figures.crowded().over(first.crowded()));
      }
    }
    return new Verdict(name(), worst, "ratio", 1, "<= " + WITHIN, worst <= WITHIN && shallow);
  }

  private static String line(Figures figures) {
    return String.format("  %9d %6d", figures.steps(), figures.roundTrips())
        + cost("      %8.0f %6.0f %4.0f", figures.open())
        + cost("      %8.0f %6.0f %4.0f", figures.find())
        + cost("    %8.1f %6.0f %5.2f", figures.commit())
        + cost("   %8.1f %6.0f %5.2f", figures.crowded());
  }

  private static String cost(String format, Cost cost) {
    return String.format(format, cost.millis(), cost.bytes(), cost.requests());
  }
}
