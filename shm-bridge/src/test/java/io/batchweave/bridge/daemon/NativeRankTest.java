package io.batchweave.bridge.daemon;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.batchweave.Bytes;
import io.batchweave.bridge.NativeProgram;
import io.batchweave.bridge.NativeProgram.Build;
import io.batchweave.format.Grid;
import io.batchweave.read.Token;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The daemon with ranks written in C ({@code native-include/example/trainer.c}), each a process.
 */
@Timeout(value = 240, unit = TimeUnit.SECONDS)
class NativeRankTest {
  private static final int SLICE_BYTES = 20_000;
  private static final long SOON_SECONDS = 60;

  /** Whoever waits leaves the processors to those that are waited for. */
  private static final long LOOK_NS = TimeUnit.MILLISECONDS.toNanos(1);

  private static final Path SHM = Path.of("/dev/shm");
  private static final Executor EACH = task -> Thread.ofVirtual().start(task);

  @TempDir Path root;
  private Path directory;
  private final Queue<String> lines = new ConcurrentLinkedQueue<>();
  private final List<Rank> ranks = new ArrayList<>();

  /** One process. */
  private final class Rank {
    private final Process process;
    private final Path output;

    Rank(Build build, Map<String, String> environment, String... options) {
      try {
        output = Files.createTempFile(root, "rank", ".out");
      } catch (IOException e) {
        throw new AssertionError(e);
      }
      List<String> command = new ArrayList<>();
      command.add(NativeProgram.compile("test/trainer_killable.c", build).toString());
      command.addAll(List.of("--dir", directory.toString(), "--stream", url()));
      command.addAll(List.of("--group", "train", "--session", "run-0", "--seconds", "60"));
      command.addAll(List.of(options));
      process = NativeProgram.start(command, environment, output);
      ranks.add(this);
    }

    List<String> lines() {
      try {
        return Files.readAllLines(output);
      } catch (IOException e) {
        throw new AssertionError(e);
      }
    }

    /** Lines of steps, complete ones only. */
    List<String> steps() {
      return lines().stream().filter(line -> line.matches("step=.* crc32c=[0-9a-f]{8}")).toList();
    }

    int end() {
      try {
        assertTrue(process.waitFor(SOON_SECONDS, TimeUnit.SECONDS), () -> "hangs: " + lines());
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
      return process.exitValue();
    }

    void awaitSteps(int count) {
      long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(SOON_SECONDS);
      while (steps().size() < count) {
        assertTrue(System.nanoTime() < deadline && process.isAlive(), () -> "stuck: " + lines());
        LockSupport.parkNanos(LOOK_NS);
      }
    }
  }

  @BeforeEach
  void create() throws IOException {
    assumeTrue(Files.isWritable(SHM), "no writable /dev/shm");
    directory = Files.createTempDirectory(SHM, "bw-native-");
  }

  @AfterEach
  void delete() throws IOException {
    ranks.forEach(rank -> rank.process.destroyForcibly());
    try (Stream<Path> files = Files.walk(directory)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }

  private String url() {
    return root.resolve("stream").toString();
  }

  private Daemon launch() {
    return Daemon.launch(
        new DaemonContext()
            .streams(List.of(url()))
            .directory(directory)
            .memoryBytes(4 << 20)
            .reserveBytes(0)
            .lines(lines::add));
  }

  private TestStream stream(int dp) {
    return new TestStream(url(), new Grid(dp, 1), SLICE_BYTES);
  }

  /** Counters are shown a moment after what they count. */
  private static void awaitMetric(Daemon daemon, String text) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(SOON_SECONDS);
    while (!daemon.metrics().contains(text)) {
      assertTrue(System.nanoTime() < deadline, daemon::metrics);
      LockSupport.parkNanos(LOOK_NS);
    }
  }

  private static List<String> expected(TestStream stream, int dp, long from, long to) {
    List<String> expected = new ArrayList<>();
    for (long step = from; step < to; step++) {
      byte[] slice = stream.slice(step, dp, 0);
      CRC32C crc = new CRC32C();
      crc.update(slice);
      expected.add(line(step, slice.length, crc.getValue()));
    }
    return expected;
  }

  @ParameterizedTest
  @EnumSource(Build.class)
  void shouldReadEveryStepWhenRanksAreWrittenInC(Build build) {
    try (TestStream stream = stream(2);
        Daemon daemon = launch()) {
      stream.add(100);
      stream.seal();
      Rank first = new Rank(build, Map.of(), "--rank", "0", "--world", "2", "--local", "2");
      Rank second = new Rank(build, Map.of(), "--rank", "1", "--world", "2", "--local", "2");
      assertEquals(0, first.end(), () -> first.lines().toString());
      assertEquals(0, second.end(), () -> second.lines().toString());
      assertEquals(expected(stream, 0, 0, 100), first.steps());
      assertEquals(expected(stream, 1, 0, 100), second.steps());
      assertEquals("end", first.lines().getLast());
      awaitMetric(daemon, "batchweave_steps_published_total 100");
    }
  }

  /**
   * U12 for C: a rank killed anywhere comes back at its step within 3 s; the other one sees
   * nothing.
   */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "reader-created",
        "reader-locked",
        "reader-born",
        "connected",
        "marked",
        "subscribed",
        "claimed:2",
        "tail",
        "frame",
        "offered",
        "hello",
        "image",
        "welcome",
        "mapped",
        "attached",
        "waiting",
        "slot:20",
        "taken:20",
        "release:20",
        "acked:20"
      })
  void shouldComeBackAtItsStepWhenKilledAnywhere(String step) {
    try (TestStream stream = stream(2);
        Daemon daemon = launch()) {
      stream.add(60);
      Rank other = new Rank(Build.C, Map.of(), "--rank", "1", "--world", "2", "--local", "2");
      Rank killed =
          new Rank(
              Build.C, Map.of("BW_KILL_AT", step), "--rank", "0", "--world", "2", "--local", "2");
      assertEquals(137, killed.end(), () -> killed.lines().toString());
      int next = killed.steps().size();
      assertEquals(expected(stream, 0, 0, next), killed.steps());
      long before = System.nanoTime();
      Rank back =
          new Rank(
              Build.C,
              Map.of(),
              "--rank",
              "0",
              "--world",
              "2",
              "--local",
              "2",
              "--from",
              String.valueOf(next));
      if (next < 60) {
        back.awaitSteps(1);
        long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - before);
        assertTrue(millis < 5 * 3_000, () -> "came back after " + millis + " ms");
      }
      stream.add(40);
      stream.seal();
      assertEquals(0, back.end(), () -> back.lines().toString());
      assertEquals(0, other.end(), () -> other.lines().toString());
      assertEquals(expected(stream, 0, next, 100), back.steps());
      assertEquals(expected(stream, 1, 0, 100), other.steps());
      awaitMetric(daemon, "batchweave_steps_published_total");
    }
  }

  /**
   * U12 for C: four ranks in a row die at the same point of the handshake, where what they leave
   * behind adds up; whoever comes next attaches as promised.
   */
  @Test
  void shouldAttachTheNextRankSoonWhenFourInARowDied() {
    diesFourTimesAt(List.of("claimed:1", "marked:2", "filled:2", "tail", "frame", "image"));
  }

  /** The same at every point. */
  @Test
  @Tag("full")
  @Timeout(600)
  void shouldAttachTheNextRankSoonWhereverFourInARowDied() throws IOException {
    diesFourTimesAt(Files.readAllLines(NativeProgram.include().resolve("test/attach_points.txt")));
  }

  private void diesFourTimesAt(List<String> points) {
    try (TestStream stream = stream(1);
        Daemon daemon = launch()) {
      stream.add(3);
      for (String point : points) {
        for (int i = 0; i < 4; i++) {
          Rank killed = new Rank(Build.C, Map.of("BW_KILL_AT", point), "--steps", "1");
          assertEquals(137, killed.end(), () -> point + " " + killed.lines());
        }
        long before = System.nanoTime();
        Rank next = new Rank(Build.C, Map.of(), "--from", "0", "--steps", "1");
        assertEquals(0, next.end(), () -> point + " " + next.lines());
        assertEquals(expected(stream, 0, 0, 1), next.steps(), point);
        long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - before);
        assertTrue(millis < 5 * 3_000, () -> point + ": attached after " + millis + " ms");
      }
      awaitMetric(daemon, "batchweave_steps_published_total");
    }
  }

  /** Part of U34: a job of one rank reads a stream cut for two, and three ranks are refused. */
  @Test
  void shouldReadNeighbouringSlicesWhenTheJobIsSmallerThanTheGrid() {
    try (TestStream stream = stream(2);
        Daemon daemon = launch()) {
      stream.add(20);
      stream.seal();
      Rank refused = new Rank(Build.SANITIZED, Map.of(), "--rank", "0", "--world", "3");
      assertEquals(1, refused.end(), () -> refused.lines().toString());
      assertTrue(refused.lines().getLast().contains("GRID_MISMATCH"), refused.lines().toString());
      Rank rank = new Rank(Build.SANITIZED, Map.of(), "--session", "run-1");
      assertEquals(0, rank.end(), () -> rank.lines().toString());
      List<String> expected = new ArrayList<>();
      for (long step = 0; step < 20; step++) {
        byte[] first = stream.slice(step, 0, 0);
        byte[] second = stream.slice(step, 1, 0);
        CRC32C crc = new CRC32C();
        crc.update(first);
        crc.update(second);
        expected.add(line(step, first.length + second.length, crc.getValue()));
      }
      assertEquals(expected, rank.steps());
      awaitMetric(daemon, "batchweave_steps_published_total");
    }
  }

  private static String line(long step, int length, long crc) {
    return "step=%d bytes=%d crc32c=%08x".formatted(step, length, crc);
  }

  /** U16 for C: a token written in C is Java's, and is resumed from. */
  @Test
  void shouldResumeAtTheTokenWhenTrainingGoesOn() throws IOException {
    Path token = root.resolve("checkpoint.token");
    try (TestStream stream = stream(1);
        Daemon daemon = launch()) {
      stream.add(30);
      Rank first =
          new Rank(Build.SANITIZED, Map.of(), "--steps", "12", "--token", token.toString());
      assertEquals(0, first.end(), () -> first.lines().toString());
      assertEquals(expected(stream, 0, 0, 12), first.steps());
      assertEquals(12, Token.decode(Bytes.wrap(Files.readAllBytes(token))).nextStep());
      Rank second =
          new Rank(
              Build.SANITIZED,
              Map.of(),
              "--steps",
              "10",
              "--token",
              token.toString(),
              "--session",
              "run-1");
      assertEquals(0, second.end(), () -> second.lines().toString());
      assertEquals(expected(stream, 0, 12, 22), second.steps());
      awaitMetric(daemon, "batchweave_steps_published_total");
    }
  }

  /**
   * U13 for C: a daemon that stops and starts again under waiting ranks loses and doubles nothing.
   */
  @Test
  void shouldGoOnWhenTheDaemonIsStartedAgain() {
    try (TestStream stream = stream(1)) {
      stream.add(20);
      Rank rank;
      try (Daemon daemon = launch()) {
        rank = new Rank(Build.SANITIZED, Map.of());
        rank.awaitSteps(20);
        awaitMetric(daemon, "batchweave_steps_published_total");
      }
      try (Daemon daemon = launch()) {
        stream.add(20);
        stream.seal();
        assertEquals(0, rank.end(), () -> rank.lines().toString());
        assertEquals(expected(stream, 0, 0, 40), rank.steps());
        assertTrue(rank.lines().stream().anyMatch(line -> line.contains("attached again")));
        awaitMetric(daemon, "batchweave_steps_published_total");
      }
    }
  }

  /** No reader file outlives its rank. */
  @Test
  void shouldLeaveNoReaderFileWhenRanksEnd() throws IOException {
    try (TestStream stream = stream(1);
        Daemon daemon = launch()) {
      stream.add(5);
      stream.seal();
      assertEquals(0, new Rank(Build.C, Map.of()).end());
      Set<String> names = new HashSet<>();
      try (Stream<Path> files = Files.list(directory)) {
        files.forEach(file -> names.add(String.valueOf(file.getFileName())));
      }
      names.removeIf(name -> !name.endsWith(".reader"));
      assertEquals(Set.of(), names);
      awaitMetric(daemon, "batchweave_steps_published_total 5");
    }
  }

  /** 200 attachments of one process leave no descriptor and no mapping. */
  @Test
  void shouldLeaveNothingInTheProcessWhenAttachedManyTimes() {
    try (TestStream stream = stream(1);
        Daemon daemon = launch()) {
      stream.add(3);
      NativeProgram.Outcome outcome = rounds(Build.C, 200, 1).get(0);
      assertEquals(0, outcome.status(), outcome.output());
      assertTrue(outcome.output().startsWith("p50="), outcome.output());
      awaitMetric(daemon, "batchweave_steps_published_total");
    }
  }

  /** Part of U4: ranks that start in the same instant all attach. */
  @Test
  void shouldServeAllWhenSixteenRanksStartAtOnce() {
    try (TestStream stream = stream(1);
        Daemon daemon = launch()) {
      stream.add(3);
      for (NativeProgram.Outcome outcome : rounds(Build.C, 1, 16)) {
        assertEquals(0, outcome.status(), outcome.output());
      }
      awaitMetric(daemon, "batchweave_steps_published_total");
    }
  }

  /** U43 for C: after FAILED the same client tries the same step once more. */
  @Test
  void shouldTakeTheStepAtTheNextTryWhenItsObjectIsBack() throws IOException {
    Path data = root.resolve("stream").resolve("data");
    Path away = root.resolve("away");
    try (TestStream stream = stream(1);
        Daemon daemon = launch()) {
      stream.add(1);
      Files.move(data, away);
      Path output = Files.createTempFile(root, "retry", ".out");
      Path program = NativeProgram.compile("test/retry_failed.c", Build.SANITIZED);
      Process process =
          NativeProgram.start(
              List.of(program.toString(), directory.toString(), url()), Map.of(), output);
      try {
        await(process, output, "failed reason=4 step=0");
        Files.move(away, data);
        process.outputWriter().append('\n').close();
        assertTrue(process.waitFor(SOON_SECONDS, TimeUnit.SECONDS));
        assertEquals(0, process.exitValue(), Files.readString(output));
        assertTrue(Files.readString(output).contains("taken step=0"));
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      } finally {
        process.destroyForcibly();
      }
      awaitMetric(daemon, "batchweave_steps_published_total");
    }
  }

  private static void await(Process process, Path output, String text) throws IOException {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(SOON_SECONDS);
    while (!Files.readString(output).contains(text)) {
      String said = Files.readString(output);
      assertTrue(System.nanoTime() < deadline && process.isAlive(), said);
      LockSupport.parkNanos(LOOK_NS);
    }
  }

  private List<NativeProgram.Outcome> rounds(Build build, int rounds, int processes) {
    Path program = NativeProgram.compile("test/attach_rounds.c", build);
    List<String> command =
        List.of(
            program.toString(),
            directory.toString(),
            url(),
            "run-0",
            String.valueOf(rounds),
            String.valueOf(processes));
    return IntStream.range(0, processes)
        .mapToObj(i ->
            CompletableFuture.supplyAsync(() -> NativeProgram.run(command, Map.of(), 180), EACH))
        .toList()
        .stream()
        .map(CompletableFuture::join)
        .toList();
  }
}
