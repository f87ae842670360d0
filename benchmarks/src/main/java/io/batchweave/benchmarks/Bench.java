package io.batchweave.benchmarks;

import io.batchweave.bridge.daemon.Copies;
import io.batchweave.bridge.daemon.Crc32cBenchmark;
import io.batchweave.bridge.daemon.DaemonCpu;
import io.batchweave.bridge.daemon.FetchMemory;
import io.batchweave.bridge.daemon.HandoffBenchmark;
import io.batchweave.bridge.daemon.HeapPerFetch;
import io.batchweave.bridge.daemon.IdleCpu;
import io.batchweave.bridge.daemon.KafkaPoll;
import io.batchweave.bridge.daemon.KafkaRead;
import io.batchweave.bridge.daemon.RingThroughputBenchmark;
import io.batchweave.bridge.daemon.StoreToRing;
import io.batchweave.bridge.daemon.Wake;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Runs bars and says what they came to; {@code ./batchweave bench --help} has the options. */
public final class Bench {
  private static final int EXIT_FAILED = 1;
  private static final int EXIT_USAGE = 2;

  private static final String HELP =
      """
      Usage: ./batchweave bench [--list] [--only NAME] [--quick] [--json]

      Measures named figures beside their ceilings on this machine.

        --list       the names and what they ask
        --only NAME  one of them
        --quick      fewer rounds: whether it works and about where it stands
        --json       the last line is {"name":…,"value":…,"unit":…,"ceiling":…,"goal":…,"met":…},
                     for every figure one
      Exit code: 0, 1 when a goal is not met or nothing could be measured, 2 wrong usage.
      """;

  private Bench() {}

  /** What was asked for. */
  private record Request(List<Bar> bars, BenchRun.Pace pace, boolean json) {}

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
    bars.add(new Wake());
    bars.add(new IdleCpu());
    bars.add(Crc32cBenchmark.bar());
    bars.add(new Ingest());
    bars.add(new KafkaIngest());
    bars.add(new Amplification());
    bars.add(new KafkaRead());
    bars.add(new DaemonCpu());
    bars.add(new KafkaPoll());
    bars.add(new JcstressBar());
    bars.add(new SmallBatches());
    bars.add(new FlatnessBar());
    bars.add(new CommitScaling());
    bars.add(new ReclaimBar());
    bars.add(StorePathsBenchmark.bar());
    bars.add(SnapshotBenchmark.bar());
    bars.add(FoldBenchmark.bar());
    bars.add(CodecBenchmark.bar());
    bars.add(SafetensorsBenchmark.bar());
    return bars;
  }

  /**
   * Runs.
   *
   * @param arguments see {@code --help}
   */
  public static void main(String[] arguments) {
    Locale.setDefault(Locale.ROOT);
    System.exit(run(arguments));
  }

  private static int run(String[] arguments) {
    Request request;
    try {
      request = parse(arguments);
    } catch (IllegalArgumentException e) {
      System.err.println("bench: " + e.getMessage() + " (see ./batchweave bench --help)");
      return EXIT_USAGE;
    }
    if (request == null) {
      return 0;
    }
    BenchRun run = new BenchRun(request.pace(), System.out);
    run.say(Machine.describe());
    List<Verdict> verdicts = new ArrayList<>();
    boolean failed = false;
    for (Bar bar : request.bars()) {
      run.say(bar.name() + ": " + bar.question() + " (load " + Machine.load() + ")");
      try {
        verdicts.add(bar.measure(run));
      } catch (Exception e) {
        failed = true;
        run.say("  could not be measured: " + e);
      }
    }
    verdicts.forEach(verdict -> run.say(request.json() ? verdict.json() : verdict.text()));
    return failed || !verdicts.stream().allMatch(Verdict::met) ? EXIT_FAILED : 0;
  }

  /** Null when everything asked for has been said. */
  private static @Nullable Request parse(String[] arguments) {
    List<Bar> bars = bars();
    BenchRun.Pace pace = BenchRun.Pace.FULL;
    boolean json = false;
    for (int i = 0; i < arguments.length; i++) {
      switch (arguments[i]) {
        case "--help", "-h" -> {
          System.out.print(HELP);
          return null;
        }
        case "--list" -> {
          bars.forEach(bar -> System.out.printf("%-20s %s%n", bar.name(), bar.question()));
          return null;
        }
        case "--quick" -> pace = BenchRun.Pace.QUICK;
        case "--json" -> json = true;
        case "--only" -> {
          i++;
          bars = only(bars, i < arguments.length ? arguments[i] : "");
        }
        default -> throw new IllegalArgumentException("unknown option: " + arguments[i]);
      }
    }
    return new Request(bars, pace, json);
  }

  private static List<Bar> only(List<Bar> bars, String name) {
    List<Bar> chosen = bars.stream().filter(bar -> bar.name().equals(name)).toList();
    if (chosen.isEmpty()) {
      throw new IllegalArgumentException(
          "--only needs one of "
              + bars.stream().map(Bar::name).collect(Collectors.joining(", "))
              + ", not '"
              + name
              + "'");
    }
    return chosen;
  }
}
