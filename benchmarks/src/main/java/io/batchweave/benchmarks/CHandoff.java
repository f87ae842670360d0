package io.batchweave.benchmarks;

import java.util.Map;

/**
 * Question: what does a C rank pay for a step of eight slices that is ready: for taking it, with a
 * look at each of its slices, and for releasing it?
 *
 * <p>Judged are both together where it maps the ring read-only, as a Java rank does, and the take
 * alone where its views are copy-on-write, which is the default. To release a step of such views is
 * to ask the kernel which of its pages were edited: that takes the longer the larger the step is,
 * is judged by {@code release}, and printed here for 32 KiB.
 *
 * <p>Ceiling: reading the clock, which is in each of both figures once.
 */
public final class CHandoff implements Bar {
  private static final double GOAL_NS = 1000;
  private static final long REGION_BYTES = 32 << 10;
  private static final int ROUNDS = 20_000;

  /** Creates one. */
  public CHandoff() {}

  @Override
  public String name() {
    return "handoff-c";
  }

  @Override
  public String question() {
    return "a C rank takes and releases a step that is ready";
  }

  @Override
  public Verdict measure(BenchRun run) throws Exception {
    int rounds = run.rounds(ROUNDS);
    Map<CRank.Figure, Sample> shared = CRank.run(REGION_BYTES, rounds, CRank.Views.SHARED);
    Map<CRank.Figure, Sample> copyOnWrite = CRank.run(REGION_BYTES, rounds, CRank.Views.PRIVATE);
    say(run, "read-only", shared);
    say(run, "copy-on-write", copyOnWrite);
    Sample handOff = handOff(shared);
    double nanos = handOff.median();
    return new Verdict(
            name(),
            nanos,
            "ns/step",
            of(shared, CRank.Figure.CLOCK).median(),
            "<= 1000, the take alone of copy-on-write views, too",
            nanos <= GOAL_NS && of(copyOnWrite, CRank.Figure.TAKE).median() <= GOAL_NS)
        .within(handOff.interval());
  }

  /** Take and release of each round together. */
  private static Sample handOff(Map<CRank.Figure, Sample> samples) {
    return of(samples, CRank.Figure.TAKE).with(of(samples, CRank.Figure.RELEASE), Double::sum);
  }

  private static Sample of(Map<CRank.Figure, Sample> samples, CRank.Figure figure) {
    return samples.getOrDefault(figure, new Sample());
  }

  private static void say(BenchRun run, String views, Map<CRank.Figure, Sample> samples) {
    Sample handOff = handOff(samples);
    run.say(
        "  %-13s take %.0f ns, release of 32 KiB %.0f, both %.0f (p99 %.0f); reading the clock %.0f; %d rounds"
            .formatted(
                views,
                of(samples, CRank.Figure.TAKE).median(),
                of(samples, CRank.Figure.RELEASE).median(),
                handOff.median(),
                handOff.quantile(0.99),
                of(samples, CRank.Figure.CLOCK).median(),
                handOff.count()));
  }
}
