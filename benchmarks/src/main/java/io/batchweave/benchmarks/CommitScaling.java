package io.batchweave.benchmarks;

import io.batchweave.benchmarks.BenchRun.Pace;
import io.batchweave.simulate.Fleet;
import io.batchweave.simulate.Latencies;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;

/**
 * Do commits stay quick, few and fair from one producer to a thousand, and what becomes of four?
 * The real machines in virtual time, each producer a batch of 8 slices every 2 s from an empty log
 * on, on the latencies of S3 Standard and on a store that answers in 10 ms; beside them the same
 * load with {@link OptimisticLoop}. The figures are the same on every machine.
 *
 * <p>Ceiling: the 99th percentile of a lone producer on the same store, who waits for nobody.
 */
final class CommitScaling implements Bar {
  private static final long SECOND_NS = 1_000_000_000;
  private static final int ADAPT_COMMITS = 3;
  private static final long ADAPTED_NS = 3 * SECOND_NS / 2;

  /** How long so many producers are run, over how many seeds. */
  private record Load(int producers, int seconds, int seeds) {}

  private static final List<Load> FULL =
      List.of(
          new Load(1, 60, 4),
          new Load(4, 60, 8),
          new Load(16, 60, 8),
          new Load(64, 60, 4),
          new Load(256, 30, 2),
          new Load(1_024, 20, 1),
          new Load(4_096, 8, 1));

  private static final Plot.Axis ACROSS =
      new Plot.Axis(
          "producers, a batch every 2 s each",
          Plot.Scale.LOGARITHMIC,
          1,
          4_096,
          Stream.of(1, 4, 16, 64, 256, 1_024, 4_096)
              .map(producers -> new Plot.Tick(producers, String.format("%,d", producers)))
              .toList());

  private static final Plot.Axis UP =
      new Plot.Axis(
          "time",
          Plot.Scale.LOGARITHMIC,
          10,
          10_000_000,
          List.of(
              new Plot.Tick(10, "10 ms"),
              new Plot.Tick(100, "100 ms"),
              new Plot.Tick(1_000, "1 s"),
              new Plot.Tick(10_000, "10 s"),
              new Plot.Tick(100_000, "100 s"),
              new Plot.Tick(1_000_000, "1000 s"),
              new Plot.Tick(10_000_000, "10000 s")));

  private static final List<Load> QUICK =
      List.of(
          new Load(1, 60, 1),
          new Load(4, 60, 2),
          new Load(16, 30, 2),
          new Load(64, 20, 1),
          new Load(256, 10, 1));

  @Override
  public String name() {
    return "commit-scaling";
  }

  @Override
  public String question() {
    return "visibility, requests and fairness of commits with 1 to 1,024 producers, and 4,096";
  }

  @Override
  public Verdict measure(BenchRun run) throws IOException {
    boolean full = run.pace() == Pace.FULL;
    List<ScalingRow> rows = new ArrayList<>();
    run.say(ScalingRow.HEAD);
    for (String store : List.of("S3", "10 ms")) {
      Latencies latencies = store.equals("S3") ? Latencies.S3_STANDARD : Latencies.TEN_MS;
      for (Load load : full ? FULL : QUICK) {
        ScalingRow row =
            ScalingRow.of(store, latencies, load.producers(), load.seconds(), load.seeds())
                .beside(latencies, full ? 6 : 3);
        rows.add(row);
        run.say(row.line() + (!row.judged() ? "   reported" : row.met() ? "" : "   NOT MET"));
      }
    }
    List<ScalingRow> judged = rows.stream().filter(ScalingRow::judged).toList();
    boolean met = judged.stream().allMatch(ScalingRow::met);
    run.say("  commit requests per batch by kind:");
    rows.forEach(row -> run.say(row.kinds()));
    run.say("  simulated on this machine:");
    rows.forEach(row -> run.say(row.costs()));
    long adaptedNs = adaptation();
    run.say(
        String.format(
            "  62 of 64 producers die at once: from the third commit on at most %d ms",
            adaptedNs / 1_000_000));
    plot(run, rows);
    double worst = judged.stream().mapToLong(ScalingRow::p99Ms).max().orElse(-1);
    return new Verdict(
        name(),
        worst,
        "ms p99",
        rows.getFirst().p99Ms(),
        "< 1000, and all rows",
        met && adaptedNs < ADAPTED_NS);
  }

  /** The longest time to visibility once three versions exist after 62 of 64 producers died. */
  private static long adaptation() {
    Fleet fleet = new Fleet(8, Latencies.S3_STANDARD);
    fleet.startAll(64, 2 * SECOND_NS);
    fleet.run(12 * SECOND_NS);
    fleet.crashAllBut(2);
    int versions = fleet.versions() + ADAPT_COMMITS;
    for (int i = 0; i < 300 && fleet.versions() < versions; i++) {
      fleet.run(SECOND_NS / 10);
    }
    int before = fleet.batches();
    fleet.run(20 * SECOND_NS);
    List<Long> after = fleet.visibleNs().subList(before, fleet.batches());
    return after.isEmpty() ? Long.MAX_VALUE : Collections.max(after);
  }

  private void plot(BenchRun run, List<ScalingRow> rows) throws IOException {
    List<Plot.Curve> curves = new ArrayList<>();
    for (String store : List.of("S3", "10 ms")) {
      List<ScalingRow> here = rows.stream().filter(row -> row.store().equals(store)).toList();
      curves.add(curve("helping commits, " + store, here, ScalingRow::p99Ms));
    }
    for (String store : List.of("S3", "10 ms")) {
      List<ScalingRow> here =
          rows.stream()
              .filter(row -> row.store().equals(store) && row.loop().p99Ms() >= 0)
              .toList();
      curves.add(curve("optimistic loop per producer, " + store, here, row -> row.loop().p99Ms()));
    }
    Plot plot =
        new Plot(
            "p99 from adding a batch until every reader can see it, virtual clock",
            ACROSS,
            UP,
            curves);
    run.show(name(), plot);
  }

  private static Plot.Curve curve(
      String name, List<ScalingRow> rows, ToLongFunction<ScalingRow> millis) {
    return new Plot.Curve(
        name,
        rows.stream()
            .map(row -> new Plot.Point(row.producers(), millis.applyAsLong(row)))
            .toList());
  }
}
