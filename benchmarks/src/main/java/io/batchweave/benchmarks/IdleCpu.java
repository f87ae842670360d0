package io.batchweave.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Question: what does waiting cost? A daemon with eight attached ranks, three in Java, three in C
 * and two PyTorch trainers, all waiting for a step that nobody commits, in percent of a core; and
 * each of these ranks. Daemon and ranks are processes of their own, as users start them. Before
 * that they have read two thousand steps and then waited for fifteen seconds, in which the JVMs
 * compile what the reading left to be compiled. What they do after that is counted, all threads of
 * a process, to the nanosecond of the kernel's account.
 *
 * <p>Judged is the daemon, and of each kind the rank that takes most.
 *
 * <p>Ceiling: nothing at all. What is left is the daemon's duty cycle (a look at the log now and
 * then, the driver's timers), each rank's look at the daemon's lock every 100 ms, and what a JVM
 * does by itself.
 */
final class IdleCpu implements Bar {
  private static final int RANKS = 8;
  private static final String SESSION = "idle";

  /** About 2,300 steps: daemon and ranks have run before they wait, as those of a job have. */
  private static final int LINES = 400_000;

  private static final int WINDOWS = 10;
  private static final long WINDOW_NS = TimeUnit.SECONDS.toNanos(3);
  private static final long WARM_UP_NS = TimeUnit.SECONDS.toNanos(15);
  private static final String LONG_S = "600";
  private static final double GOAL_DAEMON_PERCENT = 2;
  private static final double GOAL_RANK_PERCENT = 1;

  /** What a rank is written in. */
  private enum Kind {
    JAVA("Java"),
    C("C"),
    PYTHON("PyTorch");

    private final String label;

    Kind(String label) {
      this.label = label;
    }

    static Kind of(int rank) {
      return values()[rank % values().length];
    }
  }

  /** A rank, a file with a line for each step it has taken, and what it takes. */
  private record Rank(Kind kind, Process process, Path said, Sample percent) {
    long saidBytes() throws IOException {
      return Files.size(said);
    }
  }

  /** What the ranks attach to, and with. */
  private record Node(PythonEnvironment python, Path trainer, String url, Path directory) {
    ProcessBuilder rank(Kind kind, int rank) {
      String dp = Integer.toString(rank);
      String ranks = Integer.toString(RANKS);
      return switch (kind) {
        case JAVA -> new ProcessBuilder(java(dp, ranks));
        case C -> new ProcessBuilder(c(dp, ranks));
        case PYTHON ->
            python.program("idle.py", directory.toString(), url, SESSION, dp, ranks, LONG_S);
      };
    }

    private List<String> java(String dp, String ranks) {
      List<String> line = new ArrayList<>(Command.line("rank", url, "--dir", directory.toString()));
      line.addAll(List.of("--group", SESSION, "--session", SESSION, "--dp", dp));
      line.addAll(List.of("--dp-size", ranks, "--local-ranks", ranks, "--deadline", LONG_S));
      return line;
    }

    private List<String> c(String dp, String ranks) {
      List<String> line = new ArrayList<>();
      line.addAll(List.of(trainer.toString(), "--dir", directory.toString(), "--stream", url));
      line.addAll(List.of("--group", SESSION, "--session", SESSION, "--rank", dp));
      line.addAll(List.of("--world", ranks, "--local", ranks, "--seconds", LONG_S));
      return line;
    }
  }

  @Override
  public String name() {
    return "idle-cpu";
  }

  @Override
  public String question() {
    return "percent of a core that an idle daemon with 8 waiting ranks takes, and each such rank";
  }

  @Override
  public Verdict measure(BenchRun run) throws IOException, InterruptedException {
    PythonEnvironment python = PythonEnvironment.find();
    python.buildExtension(run);
    Path folder = DirectoryTree.make(Path.of("/dev/shm"));
    Path programs = DirectoryTree.make(Path.of(System.getProperty("java.io.tmpdir")));
    try {
      Path trainer = CProgram.compile("example/trainer.c", programs);
      Node node =
          new Node(python, trainer, "file:" + folder.resolve("stream"), folder.resolve("d"));
      Command.makeStream(node.url(), folder, RANKS, LINES);
      try (NodeDaemon daemon = NodeDaemon.start(Map.of(), node.url(), node.directory(), "1MiB")) {
        return measure(run, daemon, node, folder);
      }
    } finally {
      DirectoryTree.delete(folder);
      DirectoryTree.delete(programs);
    }
  }

  private Verdict measure(BenchRun run, NodeDaemon daemon, Node node, Path folder)
      throws IOException, InterruptedException {
    List<Rank> ranks = new ArrayList<>();
    try {
      for (int i = 0; i < RANKS; i++) {
        Kind kind = Kind.of(i);
        Path said = folder.resolve("said-" + i);
        ProcessBuilder builder =
            node.rank(kind, i)
                .redirectOutput(said.toFile())
                .redirectError(ProcessBuilder.Redirect.INHERIT);
        ranks.add(new Rank(kind, ChildProcess.start(builder), said, new Sample()));
      }
      long said;
      do {
        said = requireAlive(ranks);
        pass(WARM_UP_NS);
      } while (saidNothing(ranks) || said != requireAlive(ranks));
      Sample daemonPercent = new Sample();
      while (daemonPercent.count() < run.rounds(WINDOWS)) {
        measureWindow(daemon, daemonPercent, ranks);
        if (said != requireAlive(ranks)) {
          throw new IllegalStateException("a rank did not wait");
        }
      }
      return report(run, daemonPercent, ranks);
    } finally {
      for (Rank rank : ranks) {
        ChildProcess.end(rank.process());
        rank.process().waitFor();
      }
    }
  }

  private static void measureWindow(NodeDaemon daemon, Sample daemonPercent, List<Rank> ranks) {
    long beganNs = System.nanoTime();
    long daemonBefore = ProcessTime.nanos(daemon.pid());
    long[] before =
        ranks.stream().mapToLong(rank -> ProcessTime.nanos(rank.process().pid())).toArray();
    pass(WINDOW_NS);
    double hundredthNs = (System.nanoTime() - beganNs) / 100.0;
    daemonPercent.add((ProcessTime.nanos(daemon.pid()) - daemonBefore) / hundredthNs);
    for (int i = 0; i < before.length; i++) {
      Rank rank = ranks.get(i);
      rank.percent().add((ProcessTime.nanos(rank.process().pid()) - before[i]) / hundredthNs);
    }
  }

  private Verdict report(BenchRun run, Sample daemonPercent, List<Rank> ranks) {
    say(run, "daemon with 8 ranks", daemonPercent, GOAL_DAEMON_PERCENT);
    boolean met = daemonPercent.median() < GOAL_DAEMON_PERCENT;
    Map<Kind, Sample> most = new EnumMap<>(Kind.class);
    for (Rank rank : ranks) {
      most.merge(rank.kind(), rank.percent(), (a, b) -> a.median() < b.median() ? b : a);
    }
    for (Map.Entry<Kind, Sample> entry : most.entrySet()) {
      say(run, "a rank in " + entry.getKey().label, entry.getValue(), GOAL_RANK_PERCENT);
      met &= entry.getValue().median() < GOAL_RANK_PERCENT;
    }
    return new Verdict(
            name(),
            daemonPercent.median(),
            "% of a core",
            0,
            "< 2, a rank in Java, C or PyTorch each < 1",
            met)
        .within(daemonPercent.interval());
  }

  private static void say(BenchRun run, String who, Sample percent, double goal) {
    Sample.Interval interval = percent.interval();
    run.say(
        "  %-20s %.3f %% of a core [%.3f, %.3f], goal < %.0f"
            .formatted(who, percent.median(), interval.low(), interval.high(), goal));
  }

  /** Bytes that all have said so far. */
  private static long requireAlive(List<Rank> ranks) throws IOException {
    long bytes = 0;
    for (Rank rank : ranks) {
      if (!rank.process().isAlive()) {
        throw new IOException("a rank has ended before the measurement did: " + rank.kind().label);
      }
      bytes += rank.saidBytes();
    }
    return bytes;
  }

  private static boolean saidNothing(List<Rank> ranks) throws IOException {
    for (Rank rank : ranks) {
      if (rank.saidBytes() == 0) {
        return true;
      }
    }
    return false;
  }

  private static void pass(long durationNs) {
    long untilNs = System.nanoTime() + durationNs;
    for (long leftNs = durationNs; leftNs > 0; leftNs = untilNs - System.nanoTime()) {
      LockSupport.parkNanos(leftNs);
    }
  }
}
