package io.batchweave.bridge.daemon;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.bridge.NativeProgram;
import io.batchweave.bridge.NativeProgram.Build;
import io.batchweave.bridge.SmallFileSystem;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.rank.RankClient;
import io.batchweave.bridge.rank.StepLease;
import io.batchweave.format.Grid;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A whole node that is killed and started again, and rings as small as they may be. */
@Timeout(300)
class NodeRestartTest extends DaemonFixture {
  private static final int SMALL_SLICE_BYTES = 3_000;
  private static final long MEMORY = 2 << 20;

  private final List<Trainer> trainers = new ArrayList<>();

  /** A rank in C in a process of its own, which prints every step. */
  private final class Trainer {
    private final Process process;
    private final Path output;

    Trainer(int dp, int ranks, long from) throws IOException {
      output = Files.createTempFile(root, "rank", ".out");
      List<String> command = new ArrayList<>();
      command.add(NativeProgram.compile("test/trainer_killable.c", Build.C).toString());
      command.addAll(List.of("--dir", directory.toString(), "--stream", url()));
      command.addAll(List.of("--group", "train", "--session", "run-0", "--seconds", "100"));
      command.addAll(List.of("--rank", Integer.toString(dp), "--world", Integer.toString(ranks)));
      command.addAll(List.of("--local", Integer.toString(ranks), "--from", Long.toString(from)));
      process = NativeProgram.start(command, Map.of(), output);
      trainers.add(this);
    }

    /** The steps that it has read, from whole lines. */
    List<Long> steps() {
      return NativeProgram.stepsIn(output);
    }

    List<Long> kill() throws InterruptedException {
      process.destroyForcibly();
      process.waitFor();
      return steps();
    }

    void end() throws Exception {
      assertTrue(process.waitFor(100, TimeUnit.SECONDS), () -> "hangs at " + steps());
      assertEquals(0, process.exitValue(), () -> "after " + steps());
    }
  }

  @AfterEach
  void killAll() {
    trainers.forEach(trainer -> trainer.process.destroyForcibly());
  }

  private long directoryBytes() throws IOException {
    try (Stream<Path> files = Files.walk(directory)) {
      long sum = 0;
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        sum += Files.size(file);
      }
      return sum;
    }
  }

  private static List<Long> steps(long from, long to) {
    return LongStream.range(from, to).boxed().toList();
  }

  /** U1, shortened: everything is killed at a random moment, again and again. */
  @Test
  void shouldServeTheNextStepWheneverEverythingWasKilled() throws Exception {
    killEverything(3, 8);
  }

  /** U1. */
  @Test
  @Tag("full")
  @Timeout(1_800)
  void shouldServeTheNextStepTwentyTimesWheneverEverythingWasKilled() throws Exception {
    killEverything(20, 8);
  }

  private void killEverything(int rounds, int ranks) throws Exception {
    SplittableRandom random = new SplittableRandom(7);
    long[] next = new long[ranks];
    long bytes = 0;
    try (TestStream stream = new TestStream(url(), new Grid(ranks, 1), SMALL_SLICE_BYTES)) {
      for (int round = 1; round <= rounds; round++) {
        stream.add(5);
        ServedDaemon daemon = ServedDaemon.serving(directory, url(), MEMORY);
        long now = directoryBytes();
        assertTrue(round == 1 || now <= bytes + (256 << 10), "grows: " + bytes + " to " + now);
        bytes = now;
        List<Trainer> running = new ArrayList<>();
        for (int dp = 0; dp < ranks; dp++) {
          running.add(new Trainer(dp, ranks, next[dp]));
        }
        await("a step", () -> running.stream().anyMatch(trainer -> !trainer.steps().isEmpty()));
        LockSupport.parkNanos(random.nextLong(20_000_000));
        daemon.kill();
        for (int dp = 0; dp < ranks; dp++) {
          List<Long> read = running.get(dp).kill();
          assertEquals(steps(next[dp], next[dp] + read.size()), read);
          next[dp] += read.size();
        }
      }
      stream.seal();
      try (ServedDaemon last = ServedDaemon.serving(directory, url(), MEMORY)) {
        List<Trainer> running = new ArrayList<>();
        for (int dp = 0; dp < ranks; dp++) {
          running.add(new Trainer(dp, ranks, next[dp]));
        }
        for (int dp = 0; dp < ranks; dp++) {
          running.get(dp).end();
          assertEquals(steps(next[dp], 5L * rounds), running.get(dp).steps());
        }
        assertTrue(last.isAlive());
      }
    }
  }

  /** U2: a file system of one and a half rings, a daemon killed five times. */
  @Test
  void shouldStartAgainWhereTwoRingsWouldNotFit() throws Exception {
    try (SmallFileSystem small = SmallFileSystem.mount(root, 96);
        TestStream stream = new TestStream(url(), new Grid(1, 1), SMALL_SLICE_BYTES)) {
      stream.add(60);
      Path at = small.path().resolve("daemon");
      long memory = 64L << 20;
      long free = -1;
      try (RankClient rank = first(at, memory)) {
        for (int life = 0; life < 5; life++) {
          try (ServedDaemon daemon = ServedDaemon.serving(at, url(), memory)) {
            for (int step = 0; step < 10; step++) {
              StepLease lease = Objects.requireNonNull(rank.next(SOON_NS));
              assertEquals(10L * life + step, lease.step());
              lease.release();
            }
            long now = NativeMemory.system().availableBytes(at);
            assertTrue(free < 0 || now >= free - (1 << 20), "free: " + free + " then " + now);
            free = now;
            daemon.kill();
          }
        }
      }
    }
  }

  /** A rank that attached to a daemon which is killed before it served a step. */
  private RankClient first(Path at, long memory) throws IOException {
    try (ServedDaemon daemon = ServedDaemon.serving(at, url(), memory)) {
      RankClient rank = client(at, alone(), 0);
      daemon.kill();
      return rank;
    }
  }

  /** U4: three daemons and sixteen clients start at once. */
  @Test
  void shouldServeAllWhenDaemonsAndClientsStartAtOnce() throws Exception {
    int ranks = 16;
    List<ServedDaemon> daemons = new ArrayList<>();
    try (TestStream stream = new TestStream(url(), new Grid(ranks, 1), 500)) {
      stream.add(5);
      stream.seal();
      NativeProgram.compile("test/trainer_killable.c", Build.C);
      for (int i = 0; i < 3; i++) {
        daemons.add(ServedDaemon.start(directory, url(), MEMORY));
      }
      List<Trainer> running = new ArrayList<>();
      for (int dp = 0; dp < ranks; dp++) {
        running.add(new Trainer(dp, ranks, 0));
      }
      for (Trainer trainer : running) {
        trainer.end();
        assertEquals(steps(0, 5), trainer.steps());
      }
      await("one", () -> daemons.stream().filter(ServedDaemon::isAlive).count() == 1);
      for (ServedDaemon daemon : daemons) {
        if (!daemon.isAlive()) {
          assertEquals(1, daemon.awaitEnd());
          await("a line", () -> !daemon.lines().isEmpty());
          assertEquals(1, daemon.lines().size(), () -> daemon.lines().toString());
          assertTrue(daemon.lines().getFirst().startsWith("another daemon serves"));
        }
      }
    } finally {
      daemons.forEach(ServedDaemon::close);
    }
  }

  /** U35, shortened: a ring of exactly three times the largest step, steps of all sizes. */
  @Test
  void shouldNotDeadlockInTheSmallestRing() {
    loop(1_000);
  }

  /** U35. */
  @Test
  @Tag("full")
  @Timeout(1_800)
  void shouldNotDeadlockInTheSmallestRingInTenThousandSteps() {
    loop(10_000);
  }

  private void loop(int steps) {
    int page = NativeMemory.system().pageSizeBytes();
    int largest = 8 * page;
    // The table of one slice is before it; TestStream makes slices up to 60 bytes longer.
    int most = largest - 128 - 60;
    try (TestStream stream =
        new TestStream(url(), new Grid(1, 1), step -> 1 + (int) (step * 7_919 % most))) {
      stream.add(steps);
      stream.seal();
      try (Daemon daemon = Daemon.launch(context().memoryBytes(3L * largest));
          RankClient rank = client(alone(), 0)) {
        StepLease before = null;
        for (long step = 0; step < steps; step++) {
          StepLease lease = Objects.requireNonNull(rank.next(SOON_NS));
          assertEquals(step, lease.step());
          assertArrayEquals(
              stream.slice(step, 0, 0), lease.slice(0).toArray(ValueLayout.JAVA_BYTE));
          if (before != null) {
            before.release();
          }
          before = lease;
        }
        assertTrue(rank.next(SOON_NS) == null);
        Objects.requireNonNull(before).release();
        await("counted", () -> metric(daemon, "batchweave_steps_published_total") >= steps);
      }
      try (Daemon tooSmall = Daemon.launch(context().memoryBytes(2L * largest));
          RankClient rank = client(alone(), 0)) {
        BatchWeaveException refused =
            assertThrows(
                BatchWeaveException.class,
                () -> {
                  while (true) {
                    Objects.requireNonNull(rank.next(SOON_NS)).release();
                  }
                });
        assertTrue(String.valueOf(refused.getMessage()).contains("needed="), refused.getMessage());
        await("counted", () -> metric(tooSmall, "batchweave_steps_failed_total") >= 1);
      }
    }
  }
}
