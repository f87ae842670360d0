package io.batchweave.benchmarks;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.ObjectMapper;

/**
 * Question: what does {@code next()} of a Python rank cost when the step, of ten tensors, is ready,
 * and how much slower is a worker of torch's DataLoader at handing over the same tensors?
 *
 * <p>Ceiling: none; a worker's time stands in its place, for the largest step. Both in turn in one
 * process; the steps come through a real daemon from a store of files.
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
    Path root = Path.of(environment("BATCHWEAVE_ROOT", "."));
    Path python = python();
    Path sources = root.resolve("shm-bridge/python");
    for (String line :
        lines(
            new ProcessBuilder(python.toString(), "setup.py", "-q", "build_ext", "--inplace")
                .directory(sources.toFile()))) {
      run.say("  " + line);
    }
    List<String> command = new ArrayList<>();
    command.add(python.toString());
    command.add(root.resolve("benchmarks/src/main/python/handoff.py").toString());
    command.add(root.resolve("batchweave").toString());
    for (int i = 0; i < MIB.length; i++) {
      command.add(MIB[i] + ":" + run.rounds(ROUNDS[i]));
    }
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().put("PYTHONPATH", sources.resolve("src").toString());
    builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
    double most = 0;
    double least = Double.MAX_VALUE;
    double worker = 0;
    ObjectMapper json = new ObjectMapper();
    for (String line : lines(builder)) {
      JsonNode size = json.readTree(line);
      Sample next = sample(size.get("next"));
      Sample release = sample(size.get("release"));
      Sample other = sample(size.get("worker"));
      Sample.Interval interval = next.interval();
      double faster = other.median() / next.median();
      run.say(
          "  %3d MiB: next %.1f us [%.1f, %.1f], release %.1f, DataLoader worker %.0f us: %.0f times"
              .formatted(
                  size.get("mib").asInt(),
                  next.median(),
                  interval.low(),
                  interval.high(),
                  release.median(),
                  other.median(),
                  faster));
      most = Math.max(most, next.median());
      least = Math.min(least, faster);
      worker = other.median();
    }
    if (worker == 0) {
      throw new IOException("the Python program measured nothing");
    }
    return new Verdict(
        name(),
        most,
        "us/step",
        worker,
        "<= 20 and a worker takes >= 20 times as long",
        most <= GOAL_MICROS && least >= GOAL_FASTER);
  }

  private static Sample sample(JsonNode values) {
    Sample sample = new Sample();
    values.forEach(value -> sample.add(value.asDouble()));
    return sample;
  }

  private static List<String> lines(ProcessBuilder builder)
      throws IOException, InterruptedException {
    Path errors = Files.createTempFile("batchweave-bench-", ".err");
    try {
      Process process = builder.redirectError(errors.toFile()).start();
      List<String> lines = new ArrayList<>();
      try (BufferedReader out =
          new BufferedReader(
              new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
        out.lines().forEach(lines::add);
      }
      int exit = process.waitFor();
      if (exit != 0) {
        throw new IOException("Python ended: exit=" + exit + " said=" + Files.readString(errors));
      }
      return lines;
    } finally {
      Files.delete(errors);
    }
  }

  /** The environment that the tests made, unless another one is named. */
  private static Path python() throws IOException {
    String named = System.getenv("BATCHWEAVE_PYTHON");
    if (named != null && !named.isEmpty()) {
      return Path.of(named);
    }
    Path cache =
        Path.of(
            environment(
                "BATCHWEAVE_CACHE", System.getProperty("user.home") + "/.cache/batchweave"));
    Path found = found(cache);
    if (found == null) {
      throw new IOException(
          "no Python with torch: run ./batchweave test --python once, or set BATCHWEAVE_PYTHON");
    }
    return found;
  }

  private static @Nullable Path found(Path cache) throws IOException {
    if (!Files.isDirectory(cache)) {
      return null;
    }
    try (Stream<Path> entries = Files.list(cache)) {
      return entries
          .filter(entry -> Files.exists(entry.resolve("complete")))
          .map(entry -> entry.resolve("bin/python"))
          .findFirst()
          .orElse(null);
    }
  }

  private static String environment(String name, String otherwise) {
    String value = System.getenv(name);
    return value == null || value.isEmpty() ? otherwise : value;
  }
}
