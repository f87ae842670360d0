package io.batchweave.bridge.daemon;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.bridge.handshake.Hello;
import io.batchweave.format.Grid;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The daemon with ranks in this process, over real Aeron and real shared memory. */
@Timeout(60)
class DaemonTest {
  private static final long SOON_NS = TimeUnit.SECONDS.toNanos(15);
  private static final int SLICE_BYTES = 20_000;

  @TempDir Path root;
  private Path directory;
  private final Queue<String> lines = new ConcurrentLinkedQueue<>();

  @BeforeEach
  void create() throws IOException {
    directory = Files.createTempDirectory(Path.of("/dev/shm"), "bw-daemon-");
  }

  @AfterEach
  void delete() throws IOException {
    List<String> left = new ArrayList<>();
    try (var files = Files.list(directory)) {
      for (Path file : (Iterable<Path>) files::iterator) {
        left.add(String.valueOf(file.getFileName()));
        Files.delete(file);
      }
    }
    Files.delete(directory);
    assertEquals(List.of("daemon.lock"), left, "what a daemon leaves behind");
    lines.removeIf(line -> !line.contains("error"));
    assertEquals(List.of(), List.copyOf(lines));
  }

  private DaemonContext context() {
    return new DaemonContext()
        .streams(List.of(root.toString()))
        .directory(directory)
        .memoryBytes(4 << 20)
        .reserveBytes(0)
        .lines(lines::add);
  }

  private TestRank rank(Hello.RankShape shape, long nextStep) {
    return new TestRank(
        new TestRank.Identity(directory, root.toString(), "train", "run-0", shape), nextStep);
  }

  private static Hello.RankShape alone() {
    return new Hello.RankShape(0, 1, 0, 1, 1);
  }

  @Test
  void shouldServeEveryStepToOneRankAndSayWhereTheStreamEnds() {
    try (TestStream stream = new TestStream(root.toString(), new Grid(1, 1), SLICE_BYTES);
        Daemon daemon = Daemon.launch(context())) {
      stream.add(500);
      stream.seal();
      try (TestRank rank = rank(alone(), Hello.NO_STEP).attach(SOON_NS)) {
        for (long step = 0; step < 500; step++) {
          TestRank.Take.Ready ready = rank.step(SOON_NS);
          assertEquals(step, ready.step());
          assertArrayEquals(stream.slice(step, 0, 0), rank.slice(ready, 0, 0));
          rank.release(ready);
        }
        assertEquals(new TestRank.Take.End(500), rank.take(SOON_NS));
      }
      assertTrue(daemon.metrics().contains("batchweave_steps_published_total 500"));
    }
  }
}
