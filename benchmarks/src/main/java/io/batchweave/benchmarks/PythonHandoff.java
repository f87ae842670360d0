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
 * into a dict. All in turn in one process, three in a row of each; the steps come through a real
 * daemon from a store of files.
 *
 * <p>The goal is for the steps that follow another. The first of a row comes after a pause in which
 * the data of the next ones passed through the caches, so that neither our code nor torch's is
 * there any more: then torch alone takes more than the goal, and the first step is judged by what
 * torch alone takes in that state.
 */
public final class PythonHandoff implements Bar {
  private static final double GOAL_MICROS = 20;
  private static final double GOAL_FASTER = 20;
  private static final double GOAL_FIRST = 2;
  private static final int[] MIB = {1, 16, 64};
  private static final int[] ROUNDS = {40, 20, 14};

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
    double ceiling = 0;
    double least = Double.MAX_VALUE;
    double mostFirst = 0;
    ObjectMapper json = new ObjectMapper();
    for (String line : PythonEnvironment.lines(builder)) {
      JsonNode size = json.readTree(line);
      run.say("  %3d MiB:".formatted(size.get("mib").asInt()));
      for (String place : List.of("following", "first")) {
        Sample next = sample(size, "next", place);
        double other = sample(size, "worker", place).median();
        double made = sample(size, "made", place).median();
        double faster = other / next.median();
        Sample.Interval interval = next.interval();
        run.say(
            "    %-9s next %.1f us [%.1f, %.1f], ten tensors alone %.1f, release %.1f, DataLoader worker %.0f us: %.0f times"
                .formatted(
                    place,
                    next.median(),
                    interval.low(),
                    interval.high(),
                    made,
                    sample(size, "release", place).median(),
                    other,
                    faster));
        least = Math.min(least, faster);
        if (place.equals("first")) {
          mostFirst = Math.max(mostFirst, next.median() / made);
        } else if (next.median() > most) {
          most = next.median();
          worst = next;
          ceiling = made;
        }
      }
    }
    if (worst.count() == 0) {
      throw new IOException("the Python program measured nothing");
    }
    return new Verdict(
            name(),
            most,
            "us/step",
            ceiling,
            "<= 20, a worker takes >= 20 times as long, after a pause <= 2 x ten tensors alone",
            most <= GOAL_MICROS && least >= GOAL_FASTER && mostFirst <= GOAL_FIRST)
        .within(worst.interval());
  }

  private static Sample sample(JsonNode size, String what, String place) {
    Sample sample = new Sample();
    size.required(what).required(place).forEach(value -> sample.add(value.asDouble()));
    return sample;
  }
}
