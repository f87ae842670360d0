package io.batchweave.benchmarks;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.ObjectMapper;

/**
 * Question: what does {@code next()} of a Python rank cost when the step, of ten tensors, is ready,
 * and how much slower is a worker of torch's DataLoader at handing over the same tensors?
 *
 * <p>Ceiling: what torch takes to make ten tensors of memory that is there, by DLPack, and put them
 * into a dict. All in turn in one process; the steps come through a real daemon from a store of
 * files.
 */
public final class PythonHandoff implements Bar {
  private static final double GOAL_MICROS = 20;
  private static final double GOAL_FASTER = 20;
  private static final int[] MIB = {1, 16, 64};
  private static final int[] ROUNDS = {40, 20, 8};

  /** Creates one. */
  public PythonHandoff() {}

  @Override
  public String name() {
    return "handoff-python";
  }

  @Override
  public String question() {
    return "next() of a Python rank with ten tensors ready, against a DataLoader worker";
  }

  @Override
  public Verdict measure(BenchRun run) throws Exception {
    PythonEnvironment python = PythonEnvironment.find();
    python.buildExtension(run);
    List<String> arguments = new ArrayList<>();
    arguments.add(PythonEnvironment.root().resolve("batchweave").toString());
    for (int i = 0; i < MIB.length; i++) {
      arguments.add(MIB[i] + ":" + run.rounds(ROUNDS[i]));
    }
    ProcessBuilder builder = python.program("handoff.py", arguments.toArray(String[]::new));
    Sample worst = new Sample();
    double most = 0;
    double least = Double.MAX_VALUE;
    double ceiling = 0;
    ObjectMapper json = new ObjectMapper();
    for (String line : PythonEnvironment.lines(builder)) {
      JsonNode size = json.readTree(line);
      Sample next = sample(size.get("next"));
      Sample release = sample(size.get("release"));
      Sample other = sample(size.get("worker"));
      double made = sample(size.get("made")).median();
      Sample.Interval interval = next.interval();
      double faster = other.median() / next.median();
      run.say(
          "  %3d MiB: next %.1f us [%.1f, %.1f], ten tensors alone %.1f, release %.1f, DataLoader worker %.0f us: %.0f times"
              .formatted(
                  size.get("mib").asInt(),
                  next.median(),
                  interval.low(),
                  interval.high(),
                  made,
                  release.median(),
                  other.median(),
                  faster));
      if (next.median() > most) {
        most = next.median();
        worst = next;
        ceiling = made;
      }
      least = Math.min(least, faster);
    }
    if (worst.count() == 0) {
      throw new IOException("the Python program measured nothing");
    }
    return new Verdict(
            name(),
            most,
            "us/step",
            ceiling,
            "<= 20 and a worker takes >= 20 times as long",
            most <= GOAL_MICROS && least >= GOAL_FASTER)
        .within(worst.interval());
  }

  private static Sample sample(JsonNode values) {
    Sample sample = new Sample();
    values.forEach(value -> sample.add(value.asDouble()));
    return sample;
  }
}
