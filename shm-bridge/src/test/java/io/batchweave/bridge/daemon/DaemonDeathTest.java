package io.batchweave.bridge.daemon;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.Bytes;
import io.batchweave.bridge.ChildJvm;
import io.batchweave.bridge.handshake.Answer;
import io.batchweave.bridge.handshake.RefusalCode;
import io.batchweave.bridge.memory.FutexWaiter;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.rank.DaemonLostException;
import io.batchweave.bridge.rank.RankClient;
import io.batchweave.bridge.rank.StepLease;
import io.batchweave.bridge.ring.ControlFile;
import io.batchweave.bridge.ring.GenerationHeader;
import io.batchweave.bridge.ring.Id128;
import io.batchweave.bridge.ring.RingAbi;
import io.batchweave.bridge.ring.StepRegion;
import io.batchweave.format.Grid;
import java.io.BufferedReader;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Daemons that are killed and stopped by signals while ranks wait, read and hold steps. */
@Timeout(240)
class DaemonDeathTest extends DaemonFixture {
  private static final int RANKS = 8;
  private static final long MEMORY = 4 << 20;
  private static final int SMALL_SLICE_BYTES = 5_000;

  private final ExecutorService threads = Executors.newFixedThreadPool(RANKS);

  @AfterEach
  void endThreads() {
    threads.shutdownNow();
  }

  /** What a rank does in its own thread. */
  private interface Work {
    void run(int dp) throws Exception;
  }

  private List<Future<Void>> onEach(Work work) {
    List<Future<Void>> running = new ArrayList<>();
    for (int i = 0; i < RANKS; i++) {
      int dp = i;
      running.add(
          threads.submit(() -> {
            work.run(dp);
            return null;
          }));
    }
    return running;
  }

  private static void join(List<Future<Void>> running) throws Exception {
    for (Future<Void> one : running) {
      try {
        one.get();
      } catch (ExecutionException e) {
        throw new AssertionError(e.getCause());
      }
    }
  }

  private RankClient[] attachAll() throws Exception {
    RankClient[] ranks = new RankClient[RANKS];
    join(onEach(dp -> ranks[dp] = client(of(dp, RANKS, RANKS), 0)));
    return ranks;
  }

  private static void read(TestStream stream, RankClient rank, int dp, long from, long to) {
    for (long step = from; step < to; step++) {
      StepLease lease = Objects.requireNonNull(rank.next(SOON_NS));
      assertEquals(step, lease.step());
      assertArrayEquals(
          stream.slice(step, dp, 0), lease.slice(lease.find(dp, 0)).toArray(ValueLayout.JAVA_BYTE));
      lease.release();
    }
  }

  /** U13: all ranks wait when the daemon is killed; the next one serves what comes then, once. */
  @Test
  void shouldGoOnWhenTheNextDaemonComesWhileRanksWait() throws Exception {
    try (TestStream stream = new TestStream(url(), new Grid(RANKS, 1), SMALL_SLICE_BYTES)) {
      stream.add(10);
      ServedDaemon first = ServedDaemon.serving(directory, url(), MEMORY);
      RankClient[] ranks = attachAll();
      List<Future<Void>> reading = onEach(dp -> read(stream, ranks[dp], dp, 0, 40));
      await("all of it", () -> first.metric("batchweave_ring_published_steps") == 10);
      first.kill();
      try (ServedDaemon second = ServedDaemon.serving(directory, url(), MEMORY)) {
        stream.add(30);
        join(reading);
        join(onEach(dp -> ranks[dp].close()));
        assertTrue(second.isAlive());
      }
    }
  }

  /** U13: no daemon comes: every rank says so within its deadline, and goes on when one does. */
  @Test
  void shouldRaiseDaemonLostWithinTheDeadlineWhenNoneComes() throws Exception {
    try (TestStream stream = new TestStream(url(), new Grid(RANKS, 1), SMALL_SLICE_BYTES)) {
      stream.add(5);
      ServedDaemon first = ServedDaemon.serving(directory, url(), MEMORY);
      RankClient[] ranks = attachAll();
      join(onEach(dp -> read(stream, ranks[dp], dp, 0, 5)));
      first.kill();
      join(onEach(dp -> assertLost(ranks[dp])));
      try (ServedDaemon second = ServedDaemon.serving(directory, url(), MEMORY)) {
        stream.add(5);
        join(onEach(dp -> read(stream, ranks[dp], dp, 5, 10)));
        join(onEach(dp -> ranks[dp].close()));
        assertTrue(second.isAlive());
      }
    }
  }

  /** U13: a stopped daemon keeps its lock; ranks find out all the same. */
  @Test
  void shouldRaiseDaemonLostWithinTheDeadlineWhenItIsStopped() throws Exception {
    try (TestStream stream = new TestStream(url(), new Grid(RANKS, 1), SMALL_SLICE_BYTES);
        ServedDaemon daemon = ServedDaemon.serving(directory, url(), MEMORY)) {
      stream.add(5);
      RankClient[] ranks = attachAll();
      join(onEach(dp -> read(stream, ranks[dp], dp, 0, 5)));
      daemon.signal("STOP");
      join(onEach(dp -> assertLost(ranks[dp])));
      daemon.signal("CONT");
      stream.add(5);
      join(onEach(dp -> read(stream, ranks[dp], dp, 5, 10)));
      join(onEach(dp -> ranks[dp].close()));
    }
  }

  private static void assertLost(RankClient rank) {
    long timeoutNs = TimeUnit.SECONDS.toNanos(2);
    long start = CLOCK.nanoTime();
    assertThrows(DaemonLostException.class, () -> rank.next(timeoutNs));
    assertTrue(CLOCK.nanoTime() - start < 5 * timeoutNs);
  }

  private Path newestControl() throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      return files
          .filter(file -> RingAbi.ringOfControlName(file) == 0)
          .max(Comparator.comparingLong(RingAbi::generationOfControlName))
          .orElseThrow();
    }
  }

  /** What a daemon leaves that dies between CLOSED and OPEN: the next file, half written. */
  private void leaveHalfWritten() throws IOException {
    NativeMemory memory = NativeMemory.system();
    try (FutexWaiter waiter = memory.newWaiter();
        ControlFile newest =
            Objects.requireNonNull(ControlFile.adopt(memory, newestControl(), waiter))) {
      GenerationHeader header = newest.header();
      try (ControlFile next =
          ControlFile.create(
              memory,
              directory,
              new GenerationHeader(
                  header.ring(),
                  header.generation() + 1,
                  new Id128(4, 2),
                  header.firstStep(),
                  header.descriptorCount(),
                  header.hold(),
                  header.session(),
                  header.coordinates()),
              0600,
              waiter)) {
        next.allocate(0, new StepRegion(header.firstStep(), header.firstStep() + 1, 0, 4096));
      }
    }
  }

  /**
   * U46, U40: daemons die one after the other, the next control file half written, one just as it
   * begins its next generation; a step held since the first one stays, and its release frees it.
   */
  @Test
  void shouldGoOnWhenDaemonsDieWhileTheyTakeOver() throws Exception {
    try (TestStream stream = new TestStream(url(), new Grid(1, 1), SLICE_BYTES)) {
      stream.add(100);
      ServedDaemon first = ServedDaemon.serving(directory, url(), 1 << 20);
      RankClient rank = client(alone(), 0);
      read(stream, rank, 0, 0, 3);
      StepLease held = Objects.requireNonNull(rank.next(SOON_NS));
      await("a full ring", () -> first.metric("batchweave_ring_blocked_bytes") > 0);
      first.kill();
      for (int death = 0; death < 2; death++) {
        leaveHalfWritten();
        Path before = newestControl();
        ServedDaemon next = ServedDaemon.start(directory, url(), 1 << 20);
        await("begins", () -> isChanged(before));
        next.kill();
      }
      leaveHalfWritten();
      try (ServedDaemon last = ServedDaemon.serving(directory, url(), 1 << 20)) {
        assertArrayEquals(
            stream.slice(3, 0, 0), held.slice(held.find(0, 0)).toArray(ValueLayout.JAVA_BYTE));
        read(stream, rank, 0, 4, 20);
        double used = last.metric("batchweave_ring_used_bytes");
        assertTrue(used > 0);
        held.release();
        read(stream, rank, 0, 20, 100);
        await("free", () -> last.metric("batchweave_ring_used_bytes") == 0);
        rank.close();
      }
    }
  }

  private boolean isChanged(Path before) {
    try {
      return !newestControl().equals(before)
          || Files.getLastModifiedTime(newestControl()).toMillis()
              > Files.getLastModifiedTime(before).toMillis();
    } catch (IOException | RuntimeException e) {
      return true;
    }
  }

  /**
   * U42: a rank of an old launch hangs with a step; a new one runs if enough of the ring is left.
   */
  @Test
  void shouldRunANewLaunchBesideAHungRankOrNameIt() throws Exception {
    try (TestStream stream = new TestStream(url(), new Grid(2, 1), SLICE_BYTES)) {
      stream.add(30);
      int region = 10 * 4096; // two slices and the table; the hung rank may be taking another
      try (Daemon roomy = Daemon.launch(context().memoryBytes(5L * region))) {
        Process hung = hang();
        try (TestRank fresh = rank("run-1", of(0, 2, 1), 0).attach(SOON_NS)) {
          for (long step = 0; step < 30; step++) {
            TestRank.Take.Ready ready = fresh.step(SOON_NS);
            assertArrayEquals(stream.slice(step, 0, 0), fresh.slice(ready, 0, 0));
            fresh.release(ready);
          }
        } finally {
          hung.destroyForcibly().waitFor();
        }
        await("served", () -> metric(roomy, "batchweave_steps_published_total") >= 30);
      }
      try (Daemon tight = Daemon.launch(context().memoryBytes(4L * region - 4096))) {
        Process hung = hang();
        try (TestRank fresh = rank("run-1", of(0, 2, 1), 0)) {
          fresh.beBorn();
          Answer answer = fresh.sayHello("", Bytes.EMPTY, SOON_NS);
          assertTrue(answer instanceof Answer.Refused, () -> "not refused: " + answer);
          if (answer instanceof Answer.Refused refused) {
            assertEquals(RefusalCode.RING_HELD, refused.code());
            assertTrue(refused.text().contains("readers=["), refused.text());
          }
        } finally {
          hung.destroyForcibly().waitFor();
        }
        assertTrue(metric(tight, "batchweave_refusals_total") > 0);
      }
    }
  }

  /** A rank of run-0 in a process of its own that holds step 0 and is stopped. */
  private Process hang() throws Exception {
    Process process =
        new ProcessBuilder(
                ChildJvm.command(
                    List.of(),
                    VictimMain.class,
                    VictimMain.Point.READING.name(),
                    directory.toString(),
                    url(),
                    "0"))
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    try (TestRank other = rank(of(0, 2, 2), 0)) {
      other.attach(SOON_NS);
      BufferedReader out = process.inputReader(StandardCharsets.UTF_8);
      assertEquals("ready", out.readLine());
    }
    ServedDaemon.signal(process, "STOP");
    return process;
  }
}
