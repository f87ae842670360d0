package io.batchweave.benchmarks;

import java.util.Map;

/**
 * Question: what does a C rank pay for taking a step of eight slices that is ready, with a look at
 * each of its slices?
 *
 * <p>Ceiling: reading the clock twice, without which it cannot be measured.
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
    return "a C rank takes a step that is ready";
  }

  @Override
  public Verdict measure(BenchRun run) throws Exception {
    Map<CRank.Figure, Sample> samples = CRank.run(REGION_BYTES, run.rounds(ROUNDS));
    Sample take = samples.getOrDefault(CRank.Figure.TAKE, new Sample());
    Sample release = samples.getOrDefault(CRank.Figure.RELEASE, new Sample());
    double clock = samples.getOrDefault(CRank.Figure.CLOCK, new Sample()).median();
    run.say(
        "  take %.0f ns (reading the clock %.0f), release of 32 KiB %.0f, both %.0f; %d rounds"
            .formatted(
                take.median(),
                clock,
                release.median(),
                take.median() + release.median(),
                take.count()));
    return new Verdict(name(), take.median(), "ns/step", clock, "<= 1000", take.median() <= GOAL_NS)
        .within(take.interval());
  }
}
