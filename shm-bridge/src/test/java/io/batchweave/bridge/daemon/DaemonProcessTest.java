package io.batchweave.bridge.daemon;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.bridge.ChildJvm;
import io.batchweave.bridge.SmallFileSystem;
import io.batchweave.bridge.rank.RankClient;
import io.batchweave.bridge.rank.StepLease;
import io.batchweave.format.Grid;
import java.io.BufferedReader;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Daemons in processes of their own: how they start, end and follow each other. */
@Timeout(180)
class DaemonProcessTest extends DaemonFixture {
  private Process serve(Path at, long memoryBytes) throws IOException {
    return new ProcessBuilder(
            ChildJvm.command(
                List.of(), ServeMain.class, at.toString(), url(), Long.toString(memoryBytes)))
        .redirectErrorStream(true)
        .start();
  }

  private static String firstLine(BufferedReader out) throws IOException {
    String line = out.readLine();
    while (line != null && (line.startsWith("removed what") || line.startsWith("goes on"))) {
      line = out.readLine();
    }
    return String.valueOf(line);
  }

  private static void read(TestStream stream, RankClient rank, long step) {
    StepLease lease = rank.next(SOON_NS);
    assertEquals(step, lease == null ? -1 : lease.step());
    if (lease != null) {
      assertArrayEquals(stream.slice(step, 0, 0), lease.slice(0).toArray(ValueLayout.JAVA_BYTE));
      lease.release();
    }
  }

  /**
   * A rank outlives a daemon that is killed, one that ends in good order, and goes on each time.
   */
  @Test
  void shouldGoOnWithTheNextDaemonWhenOneIsKilledOrEnds() throws Exception {
    try (TestStream stream = new TestStream(url(), new Grid(1, 1), SLICE_BYTES)) {
      stream.add(30);
      Process first = serve(directory, 4 << 20);
      try (BufferedReader out = first.inputReader(StandardCharsets.UTF_8)) {
        assertTrue(firstLine(out).startsWith("serving: dir=" + directory));
        RankClient rank = client(alone(), 0);
        for (long step = 0; step < 10; step++) {
          read(stream, rank, step);
        }
        first.destroyForcibly();
        assertTrue(first.waitFor(SOON_NS, TimeUnit.NANOSECONDS));
        Process second = serve(directory, 4 << 20);
        try (BufferedReader secondOut = second.inputReader(StandardCharsets.UTF_8)) {
          assertTrue(secondOut.readLine().startsWith("removed what an earlier daemon left"));
          for (long step = 10; step < 20; step++) {
            read(stream, rank, step);
          }
          // From this line on it ends in good order: ranks may be served a moment before.
          assertTrue(firstLine(secondOut).startsWith("serving: "));
          second.destroy();
          assertTrue(second.waitFor(SOON_NS, TimeUnit.NANOSECONDS));
          assertTrue(Files.exists(directory.resolve("ring-0.data")), "the rank reads it");
          assertFalse(Files.exists(directory.resolve("aeron")), "left by SIGTERM");
        } finally {
          second.destroyForcibly();
        }
        try (Daemon third = Daemon.launch(context());
            rank) {
          for (long step = 20; step < 30; step++) {
            read(stream, rank, step);
          }
          assertEquals(1, metric(third, "batchweave_attaches_total"));
          assertEquals(3, rank.attachments());
        }
      } finally {
        first.destroyForcibly();
      }
    }
  }

  @Test
  void shouldLetOneOfThreeDaemonsWinWhenTheyStartAtOnce() throws Exception {
    List<Process> daemons = new ArrayList<>();
    try (TestStream stream = new TestStream(url(), new Grid(1, 1), SLICE_BYTES)) {
      stream.add(1);
      for (int i = 0; i < 3; i++) {
        daemons.add(serve(directory, 4 << 20));
      }
      await("two that gave up", () -> daemons.stream().filter(Process::isAlive).count() == 1);
      for (Process daemon : daemons) {
        try (BufferedReader out = daemon.inputReader(StandardCharsets.UTF_8)) {
          String line = firstLine(out);
          if (daemon.isAlive()) {
            assertTrue(line.startsWith("serving: "), line);
          } else {
            assertEquals(DaemonMain.FAILED, daemon.exitValue());
            assertTrue(line.startsWith("another daemon serves this directory"), line);
            assertEquals(null, out.readLine(), "one line");
          }
        }
      }
      try (RankClient rank = client(alone(), 0)) {
        read(stream, rank, 0);
      }
    } finally {
      for (Process daemon : daemons) {
        daemon.destroy();
        assertTrue(daemon.waitFor(SOON_NS, TimeUnit.NANOSECONDS));
      }
    }
  }

  /**
   * U6: a ring larger than its file system is refused; a file system that others fill is outlived.
   */
  @Test
  void shouldRefuseTooLargeARingAndOutliveAFullFileSystem() throws Exception {
    try (SmallFileSystem small = SmallFileSystem.mount(root, 64);
        TestStream stream = new TestStream(url(), new Grid(1, 1), SLICE_BYTES)) {
      stream.add(40);
      Path at = small.path().resolve("daemon");
      Process tooLarge = serve(at, 1L << 30);
      try (BufferedReader out = tooLarge.inputReader(StandardCharsets.UTF_8)) {
        String line = firstLine(out);
        assertTrue(line.contains("needed=" + (1L << 30)), line);
        assertTrue(line.contains("available="), line);
        assertTrue(line.contains("--memory"), line);
        assertTrue(tooLarge.waitFor(SOON_NS, TimeUnit.NANOSECONDS));
        assertEquals(DaemonMain.FAILED, tooLarge.exitValue());
      }
      Process daemon = serve(at, 4 << 20);
      try (BufferedReader out = daemon.inputReader(StandardCharsets.UTF_8)) {
        assertTrue(firstLine(out).startsWith("serving: "));
        try (TestRank rank =
            new TestRank(new TestRank.Identity(at, url(), "train", "run-0", alone()), 0)
                .attach(SOON_NS)) {
          small.fill();
          for (long step = 0; step < 40; step++) {
            TestRank.Take.Ready ready = rank.step(SOON_NS);
            assertArrayEquals(stream.slice(step, 0, 0), rank.slice(ready, 0, 0));
            rank.release(ready);
          }
          assertTrue(daemon.isAlive());
        }
        small.makeRoom();
        try (TestRank rank =
            new TestRank(new TestRank.Identity(at, url(), "train", "run-1", alone()), 0)
                .attach(SOON_NS)) {
          assertEquals(0, rank.step(SOON_NS).step());
        }
      } finally {
        daemon.destroy();
        assertTrue(daemon.waitFor(SOON_NS, TimeUnit.NANOSECONDS));
      }
    }
  }
}
