package io.batchweave.bridge.daemon;

import io.batchweave.Bytes;
import io.batchweave.benchmarks.Bar;
import io.batchweave.benchmarks.BenchRun;
import io.batchweave.benchmarks.DirectoryTree;
import io.batchweave.benchmarks.ProcessTime;
import io.batchweave.benchmarks.Sample;
import io.batchweave.benchmarks.Verdict;
import io.batchweave.bridge.handshake.AeronAttacher;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.rank.RankClient;
import io.batchweave.bridge.rank.RankContext;
import io.batchweave.bridge.rank.RankIdentity;
import io.batchweave.bridge.rank.StepLease;
import io.batchweave.bridge.rank.StepTimeoutException;
import io.batchweave.bridge.ring.Coordinate;
import io.batchweave.format.Block.Takeover;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import org.agrona.concurrent.SystemNanoClock;

/**
 * Question: what does waiting cost? A daemon with eight attached ranks, all waiting for a step that
 * nobody commits, in percent of a core; and one such rank. Before that they have read a few
 * thousand steps and then waited for fifteen seconds, in which the JVM compiles what the reading
 * left to be compiled. What it does after that is counted, with every other thread of the process,
 * to the nanosecond of the kernel's account.
 *
 * <p>Ceiling: nothing at all. What is left is the daemon's duty cycle (a look at the log now and
 * then, the driver's timers) and each rank's look at the daemon's lock every 100 ms.
 */
public final class IdleCpu implements Bar {
  private static final int RANKS = 8;

  /** About 2,300 steps: daemon and ranks have run before they wait, as those of a job have. */
  private static final int LINES = 400_000;

  private static final int WINDOWS = 10;
  private static final long WINDOW_NS = TimeUnit.SECONDS.toNanos(3);
  private static final long WARM_UP_NS = TimeUnit.SECONDS.toNanos(15);
  private static final long SOON_NS = TimeUnit.SECONDS.toNanos(120);
  private static final double GOAL_DAEMON_PERCENT = 2;
  private static final double GOAL_RANK_PERCENT = 1;

  /** Creates one. */
  public IdleCpu() {}

  @Override
  public String name() {
    return "idle-cpu";
  }

  @Override
  public String question() {
    return "percent of a core that an idle daemon with 8 waiting ranks takes, and one such rank";
  }

  @Override
  public Verdict measure(BenchRun run) throws IOException, InterruptedException {
    Path folder = DirectoryTree.make(Path.of("/dev/shm"));
    try {
      String url = "file:" + folder.resolve("stream");
      Path text = Files.writeString(folder.resolve("a.txt"), "a few words\n".repeat(LINES));
      end(start("init", url, "--dp", "1"));
      end(start("ingest", url, text.toString(), "--seq-len", "256", "--global-batch", "8"));
      Path directory = folder.resolve("d");
      Process daemon =
          start("serve", url, "--dir", directory.toString(), "--memory", "1MiB", "--reserve", "0");
      try {
        return measure(run, daemon, directory, url);
      } finally {
        daemon.destroyForcibly().waitFor();
      }
    } finally {
      DirectoryTree.delete(folder);
    }
  }

  private Verdict measure(BenchRun run, Process daemon, Path directory, String url)
      throws InterruptedException {
    List<Thread> threads = new ArrayList<>();
    LongAdder taken = new LongAdder();
    for (int i = 0; i < RANKS; i++) {
      int rank = i;
      threads.add(Thread.ofPlatform().start(() -> waitForSteps(directory, url, rank, taken)));
    }
    try {
      Sample daemonPercent = new Sample();
      Sample rankPercent = new Sample();
      long read;
      do {
        read = taken.sum();
        pass(WARM_UP_NS);
        requireAlive(threads);
      } while (read == 0 || read != taken.sum());
      while (daemonPercent.count() < run.rounds(WINDOWS)) {
        long beganNs = SystemNanoClock.INSTANCE.nanoTime();
        long daemonBefore = ProcessTime.nanos(daemon);
        long ranksBefore = ProcessTime.nanos();
        pass(WINDOW_NS);
        double hundredthNs = (SystemNanoClock.INSTANCE.nanoTime() - beganNs) / 100.0;
        daemonPercent.add((ProcessTime.nanos(daemon) - daemonBefore) / hundredthNs);
        rankPercent.add((ProcessTime.nanos() - ranksBefore) / hundredthNs / RANKS);
        requireAlive(threads);
        if (read != taken.sum()) {
          throw new IllegalStateException("a rank did not wait: taken=" + taken.sum());
        }
      }
      double one = rankPercent.median();
      double whole = daemonPercent.median();
      run.say("  daemon %.2f %%, one rank %.2f %% of a core".formatted(whole, one));
      return new Verdict(
              name(),
              whole,
              "% of a core",
              0,
              "< 2, one rank < 1",
              whole < GOAL_DAEMON_PERCENT && one < GOAL_RANK_PERCENT)
          .within(daemonPercent.interval());
    } finally {
      for (Thread thread : threads) {
        thread.interrupt();
      }
    }
  }

  private static void requireAlive(List<Thread> ranks) {
    if (!ranks.stream().allMatch(Thread::isAlive)) {
      throw new IllegalStateException("a rank has ended before the measurement did");
    }
  }

  private static void pass(long durationNs) {
    long untilNs = SystemNanoClock.INSTANCE.nanoTime() + durationNs;
    for (long leftNs = durationNs; leftNs > 0; ) {
      LockSupport.parkNanos(leftNs);
      leftNs = untilNs - SystemNanoClock.INSTANCE.nanoTime();
    }
  }

  /** Ends when it is interrupted, or when the daemon is gone. */
  private static void waitForSteps(Path directory, String url, int rank, LongAdder taken) {
    SystemNanoClock clock = SystemNanoClock.INSTANCE;
    RankContext context =
        new RankContext()
            .directory(directory)
            .identity(
                new RankIdentity(url, "idle", "idle", new Coordinate(0, 0), 1, 1, RANKS, rank))
            .attacher(
                new AeronAttacher(
                    NativeMemory.system(), directory, clock, Bytes.EMPTY, Takeover.SUPERSEDE));
    try (RankClient client = RankClient.open(context, SOON_NS)) {
      while (!Thread.currentThread().isInterrupted()) {
        try {
          StepLease lease = client.next(SOON_NS);
          if (lease == null) {
            return;
          }
          lease.release();
          taken.increment();
        } catch (StepTimeoutException late) {
          return;
        }
      }
    } catch (RuntimeException ended) {
      // The daemon was stopped at the end of the measurement.
    }
  }

  private static Process start(String... arguments) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(
        List.of(
            "--enable-native-access=ALL-UNNAMED",
            "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED",
            "-XX:+UseSerialGC",
            "-cp",
            System.getProperty("java.class.path"),
            "io.batchweave.cli.Main"));
    command.addAll(List.of(arguments));
    return new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
        .start();
  }

  private static void end(Process process) throws InterruptedException {
    int code = process.waitFor();
    if (code != 0) {
      throw new IllegalStateException("a command of the preparation failed: exit code=" + code);
    }
  }
}
