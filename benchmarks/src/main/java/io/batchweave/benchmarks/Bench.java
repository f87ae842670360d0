package io.batchweave.benchmarks;

import io.batchweave.bridge.daemon.Crc32cBenchmark;
import io.batchweave.bridge.daemon.DaemonCpu;
import io.batchweave.bridge.daemon.FetchMemory;
import io.batchweave.bridge.daemon.FutexWakeBenchmark;
import io.batchweave.bridge.daemon.HandoffBenchmark;
import io.batchweave.bridge.daemon.HeapPerFetch;
import io.batchweave.bridge.daemon.KafkaPoll;
import io.batchweave.bridge.daemon.KafkaRead;
import io.batchweave.bridge.daemon.RingThroughputBenchmark;
import io.batchweave.bridge.daemon.StoreToRing;
import io.batchweave.bridge.daemon.Wake;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Runs bars and says what they came to; {@code ./batchweave bench --help} has the options. */
public final class Bench {
  private static final int EXIT_FAILED = 1;
  private static final int EXIT_USAGE = 2;

  private static final String HELP =
      """
      Usage: ./batchweave bench [--list] [--only NAME[,NAME]…] [--quick] [--json] [--out DIR]

      Measures named figures beside their ceilings on this machine. The last it prints is a table in
      Markdown: name, value, unit, ceiling, goal, met, spread (95 %), below machine, JDK, versions
      and commit. The same table (results.md), all figures as JSON (results.json) and the pictures
      of those that have one (NAME.png) are written into a directory. Several bars run one after
      the other, each in a JVM of its own; one that fails or hangs is reported, the others go on.

        --list       the names and what they ask
        --only NAME  these
        --quick      fewer rounds: whether it works and about where it stands
        --json       then also, for every bar, as the last line:
                     {"name":…,"value":…,"unit":…,"ceiling":…,"goal":…,"met":…}
                     value and ceiling are null where there was nothing to be measured
        --out DIR    that directory; it is made (default: benchmarks/target/bench)
      Exit code: 0, 1 when a goal is not met or nothing could be measured, 2 wrong usage.
      """;

  private Bench() {}

  /** What was asked for. */
  private record Request(List<Bar> bars, BenchRun.Pace pace, boolean json, Path directory) {}

  /** All bars, in the order in which they run. */
  static List<Bar> bars() {
    List<Bar> bars = new ArrayList<>();
    bars.add(new StoreToRing());
    bars.add(new HeapPerFetch());
    bars.add(new FetchMemory());
    bars.add(new Copies());
    bars.add(HandoffBenchmark.bar());
    bars.add(RingThroughputBenchmark.bar());
    bars.add(new CHandoff());
    bars.add(new PythonHandoff());
    bars.add(new PytorchPeers());
    bars.add(new EndToEnd());
    bars.add(new CleanRelease());
    bars.add(new Attach());
    bars.add(new Wake());
    bars.add(new IdleCpu());
    bars.add(FutexWakeBenchmark.bar());
    bars.add(Crc32cBenchmark.bar());
    bars.add(new Ingest());
    bars.add(new KafkaIngest());
    bars.add(new Amplification());
    bars.add(new KafkaRead());
    bars.add(new DaemonCpu());
    bars.add(new KafkaPoll());
    bars.add(new SmallBatches());
    bars.add(new FlatnessBar());
    bars.add(new CommitScaling());
    bars.add(new ReclaimBar());
    bars.add(StorePathsBenchmark.bar());
    bars.add(SnapshotBenchmark.bar());
    bars.add(FoldBenchmark.bar());
    bars.add(CodecBenchmark.bar());
    bars.add(SafetensorsBenchmark.bar());
    bars.add(new JcstressBar()); // long, and no figure of speed
    return bars;
  }

  /**
   * Runs.
   *
   * @param arguments see {@code --help}
   */
  public static void main(String[] arguments) {
    Locale.setDefault(Locale.ROOT);
    System.exit(run(bars(), BarProcess::of, System.out, arguments));
  }

  /**
   * Runs.
   *
   * @param bars what there is to choose from
   * @param apart how each is run where there are several
   * @param out where everything goes but usage errors
   * @return the exit code
   */
  static int run(List<Bar> bars, UnaryOperator<Bar> apart, PrintStream out, String... arguments) {
    Request request;
    try {
      request = parse(bars, out, arguments);
    } catch (IllegalArgumentException e) {
      System.err.println("bench: " + e.getMessage() + " (see ./batchweave bench --help)");
      return EXIT_USAGE;
    }
    if (request == null) {
      return 0;
    }
    try {
      Files.createDirectories(request.directory());
      boolean several = request.bars().size() > 1;
      List<Bar> chosen = several ? request.bars().stream().map(apart).toList() : request.bars();
      return measure(chosen, request, new BenchRun(request.pace(), out, request.directory()));
    } catch (IOException e) {
      System.err.println("bench: the results cannot be written: " + e);
      return EXIT_FAILED;
    }
  }

  private static int measure(List<Bar> bars, Request request, BenchRun run) throws IOException {
    Map<String, String> facts = Machine.facts();
    facts.put("pace", request.pace().toString().toLowerCase(Locale.ROOT));
    facts.forEach((name, value) -> run.say(name + ": " + value));
    Report report = new Report(facts);
    for (Bar bar : bars) {
      String load = Machine.load();
      run.say(
          "[%d/%d] %s: %s (load %s)"
              .formatted(report.count() + 1, bars.size(), bar.name(), bar.question(), load));
      long beganNs = System.nanoTime();
      try {
        Verdict verdict = bar.measure(run);
        double seconds = (System.nanoTime() - beganNs) / 1e9;
        report.add(verdict, load, seconds);
        run.say("%s: %s, %.0f s".formatted(bar.name(), verdict.outcome(), seconds));
      } catch (Throwable e) { // an error of one bar, too, is no reason to lose the others
        run.say(bar.name() + ": could not be measured: " + e);
        report.addUnmeasured(bar.name(), e.toString());
      }
      // Whoever stops a long run keeps what it has come to.
      report.write(request.directory());
    }
    run.say("");
    report.table().forEach(run::say);
    run.say("");
    run.say("written to " + request.directory());
    if (request.json()) {
      report.lines().forEach(run::say);
    }
    return report.met() ? 0 : EXIT_FAILED;
  }

  /** Null when everything asked for has been said. */
  private static @Nullable Request parse(List<Bar> all, PrintStream out, String... arguments) {
    List<Bar> bars = all;
    BenchRun.Pace pace = BenchRun.Pace.FULL;
    boolean json = false;
    Path directory = PythonEnvironment.root().resolve("benchmarks/target/bench");
    for (int i = 0; i < arguments.length; i++) {
      switch (arguments[i]) {
        case "--help", "-h" -> {
          out.print(HELP);
          return null;
        }
        case "--list" -> {
          all.forEach(bar -> out.printf("%-20s %s%n", bar.name(), bar.question()));
          return null;
        }
        case "--quick" -> pace = BenchRun.Pace.QUICK;
        case "--json" -> json = true;
        case "--only" -> bars = only(all, value(arguments, ++i));
        case "--out" -> directory = Path.of(value(arguments, ++i));
        default -> throw new IllegalArgumentException("unknown option: " + arguments[i]);
      }
    }
    return new Request(bars, pace, json, directory);
  }

  private static String value(String[] arguments, int index) {
    if (index == arguments.length) {
      throw new IllegalArgumentException(arguments[index - 1] + " needs a value");
    }
    return arguments[index];
  }

  private static List<Bar> only(List<Bar> bars, String names) {
    List<Bar> chosen = new ArrayList<>();
    for (String name : List.of(names.split(",", -1))) {
      chosen.add(
          bars.stream()
              .filter(bar -> bar.name().equals(name))
              .findFirst()
              .orElseThrow(() ->
                  new IllegalArgumentException(
                      "--only needs one of "
                          + bars.stream().map(Bar::name).collect(Collectors.joining(", "))
                          + ", not '"
                          + name
                          + "'")));
    }
    return chosen;
  }
}
