package io.batchweave.bridge.daemon;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.bridge.NativeProgram;
import io.batchweave.bridge.NativeProgram.Build;
import io.batchweave.bridge.memory.LockProbe;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.rank.RankClient;
import io.batchweave.bridge.rank.StepLease;
import io.batchweave.bridge.ring.RingAbi;
import io.batchweave.format.Grid;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Daemons that are told to stop, with ranks and without, and the next one. */
@Timeout(240)
class DaemonStopTest extends DaemonFixture {
  private static final int SMALL_SLICE_BYTES = 3_000;

  private static void check(TestStream stream, StepLease lease) {
    assertArrayEquals(
        stream.slice(lease.step(), 0, 0), lease.slice(0).toArray(ValueLayout.JAVA_BYTE));
  }

  private static StepLease take(TestStream stream, RankClient rank, long step) {
    StepLease lease = Objects.requireNonNull(rank.next(SOON_NS));
    assertEquals(step, lease.step());
    check(stream, lease);
    return lease;
  }

  private Object inode() throws IOException {
    return Files.getAttribute(directory.resolve("ring-0.data"), "unix:ino");
  }

  /** Names in the daemon directory, those of ranks apart. */
  private Set<String> names() {
    try (Stream<Path> files = Files.list(directory)) {
      Set<String> names = new TreeSet<>();
      files.map(file -> String.valueOf(file.getFileName())).forEach(names::add);
      names.removeIf(name -> name.endsWith(".reader"));
      return names;
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  /** Tells a daemon to stop and waits until the next one may serve; the process may live on. */
  private void stop(ServedDaemon daemon) {
    daemon.signal("TERM");
    Path lock = directory.resolve(RingAbi.DAEMON_LOCK_NAME);
    await(
        "given back",
        () -> {
          try (LockProbe probe =
              Objects.requireNonNull(LockProbe.open(NativeMemory.system(), lock))) {
            return !probe.isLocked();
          }
        });
  }

  /** As after a kill: the same places, nothing fetched again, what is held stays where it is. */
  @Test
  void shouldGoOnInTheSamePlacesWhenADaemonIsToldToStop() throws Exception {
    try (TestStream stream = new TestStream(url(), new Grid(1, 1), SLICE_BYTES);
        ExecutorService threads = Executors.newFixedThreadPool(1)) {
      stream.add(40);
      ServedDaemon first = ServedDaemon.serving(directory, url(), 4 << 20);
      RankClient rank = client(alone(), 0);
      for (long step = 0; step < 10; step++) {
        take(stream, rank, step).release();
      }
      StepLease held = take(stream, rank, 10);
      await("prefetched", () -> first.metric("batchweave_steps_published_total") == 40);
      Object inode = inode();
      stop(first);
      await( // the lock is given back before what it said is read here
          "what is left",
          () -> first.lines().stream().anyMatch(line -> line.startsWith("left to the next")));
      check(stream, held);
      Future<StepLease> waiting = threads.submit(() -> take(stream, rank, 11));
      try (ServedDaemon second = ServedDaemon.serving(directory, url(), 4 << 20)) {
        waiting.get().release();
        first.awaitEnd();
        for (long step = 12; step < 40; step++) {
          take(stream, rank, step).release();
        }
        check(stream, held);
        held.release();
        assertEquals(inode, inode());
        assertEquals(2, rank.attachments());
        assertEquals(0, second.metric("batchweave_store_requests_total", "getInto"));
        await("free", () -> second.metric("batchweave_ring_used_bytes") == 0);
        stream.add(300);
        for (long step = 40; step < 340; step++) {
          take(stream, rank, step).release();
        }
        rank.close();
      }
      assertEquals(Set.of("daemon.lock"), names());
    }
  }

  /** A rank in C, in a process of its own, whose daemon is stopped again and again. */
  @Test
  void shouldServeEveryStepOnceWhenDaemonsAreToldToStopAgainAndAgain() throws Exception {
    Path output = Files.createTempFile(root, "rank", ".out");
    Path program = NativeProgram.compile("test/trainer_killable.c", Build.C);
    try (TestStream stream = new TestStream(url(), new Grid(1, 1), SMALL_SLICE_BYTES)) {
      List<String> command =
          List.of(
              program.toString(),
              "--dir",
              directory.toString(),
              "--stream",
              url(),
              "--group",
              "train",
              "--session",
              "run-0",
              "--seconds",
              "100");
      ServedDaemon daemon = ServedDaemon.serving(directory, url(), 1 << 20);
      Process trainer = NativeProgram.start(command, Map.of(), output);
      try {
        for (int life = 1; life <= 2; life++) {
          stream.add(10);
          int all = 10 * life;
          await("all steps so far", () -> NativeProgram.stepsIn(output).size() == all);
          stop(daemon);
          assertTrue(names().contains("ring-0.data"), () -> "left: " + names());
          daemon = ServedDaemon.serving(directory, url(), 1 << 20);
        }
        stream.seal();
        assertTrue(
            trainer.waitFor(100, TimeUnit.SECONDS),
            () -> "hangs at " + NativeProgram.stepsIn(output));
        assertEquals(0, trainer.exitValue(), () -> "after " + NativeProgram.stepsIn(output));
        assertEquals(LongStream.range(0, 20).boxed().toList(), NativeProgram.stepsIn(output));
      } finally {
        trainer.destroyForcibly().waitFor();
        daemon.close();
      }
      assertEquals(Set.of("daemon.lock"), names());
    }
  }

  /** Ranks that end a moment after their daemon leave nothing in memory either. */
  @Test
  void shouldRemoveWhatItLeftWhenTheLastRankIsGone() {
    try (TestStream stream = new TestStream(url(), new Grid(1, 1), SLICE_BYTES)) {
      stream.add(3);
      Daemon daemon = Daemon.launch(context());
      try (RankClient rank = client(alone(), 0)) {
        StepLease held = take(stream, rank, 0);
        daemon.close();
        daemon.awaitDesertion(1);
        assertEquals(Set.of("daemon.lock", "doorbell", "ring-0.1.ctl", "ring-0.data"), names());
        check(stream, held);
        try (Daemon next = Daemon.launch(context())) {
          daemon.awaitDesertion(SOON_NS); // somebody serves again: it is over at once
          take(stream, rank, 1).release();
          held.release();
          assertEquals(1, metric(next, "batchweave_attaches_total"));
        }
        assertTrue(names().contains("ring-0.data"), () -> "left: " + names());
      }
      daemon.awaitDesertion(SOON_NS);
      assertEquals(Set.of("daemon.lock"), names());
    }
  }
}
