package io.batchweave.bridge.daemon;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.Bytes;
import io.batchweave.bridge.handshake.Hello;
import io.batchweave.bridge.rank.RankClient;
import io.batchweave.bridge.rank.StepLease;
import io.batchweave.bridge.ring.CloseReason;
import io.batchweave.format.Grid;
import io.batchweave.store.StoreOperation;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Ranks in this process served by a daemon in it, over real Aeron and real shared memory. */
@Timeout(120)
class DaemonTest extends DaemonFixture {
  /** What one rank of several does: reads steps, checks every byte, releases. */
  private Future<Long> reads(
      ExecutorService ranks, TestStream stream, Hello.RankShape shape, int steps) {
    return ranks.submit(() -> {
      try (RankClient rank = client(shape, Hello.NO_STEP)) {
        int each = stream.grid().dp() / shape.dpSize();
        long offset = -1;
        for (long step = 0; step < steps; step++) {
          StepLease lease = rank.next(SOON_NS);
          if (lease == null) {
            throw new IllegalStateException("ended at step=" + step);
          }
          assertEquals(step, lease.step());
          assertEquals(each, lease.ownSliceCount());
          for (int i = 0; i < each; i++) {
            int dp = shape.dp() * each + i;
            int index = lease.ownSlice(i);
            assertEquals(lease.find(dp, shape.cp()), index);
            assertArrayEquals(
                stream.slice(step, dp, shape.cp()),
                lease.slice(index).toArray(ValueLayout.JAVA_BYTE));
            offset = lease.sliceOffset(index);
          }
          lease.release();
        }
        return offset;
      }
    });
  }

  @Test
  void shouldServeEveryStepToOneRankAndSayWhereTheStreamEnds() {
    try (TestStream stream = new TestStream(url(), new Grid(1, 1), SLICE_BYTES);
        Daemon daemon = Daemon.launch(context())) {
      stream.add(100);
      stream.seal();
      try (RankClient rank = client(alone(), Hello.NO_STEP)) {
        for (long step = 0; step < 100; step++) {
          StepLease lease = rank.next(SOON_NS);
          assertEquals(step, lease == null ? -1 : lease.step());
          if (lease != null) {
            assertArrayEquals(
                stream.slice(step, 0, 0), lease.slice(0).toArray(ValueLayout.JAVA_BYTE));
            lease.release();
          }
        }
        assertNull(rank.next(SOON_NS));
      }
      await("the count", () -> metric(daemon, "batchweave_steps_published_total") == 100);
      assertEquals(100, daemon.storeMeter(url()).of(StoreOperation.GET_INTO).requests());
    }
  }

  /** U26: one request for one slice, one copy in memory, eight mappings. */
  @Test
  void shouldFetchASliceOnceWhenEightRanksShareIt() throws Exception {
    int steps = 20;
    try (TestStream stream = new TestStream(url(), new Grid(1, 1), SLICE_BYTES);
        Daemon daemon = Daemon.launch(context());
        ExecutorService threads = Executors.newFixedThreadPool(8)) {
      stream.add(steps);
      stream.seal();
      List<Future<Long>> ranks = new ArrayList<>();
      for (int rank = 0; rank < 8; rank++) {
        ranks.add(reads(threads, stream, of(0, 1, 8), steps));
      }
      for (Future<Long> rank : ranks) {
        rank.get();
      }
      assertEquals(steps, daemon.storeMeter(url()).of(StoreOperation.GET_INTO).requests());
      assertEquals(1, metric(daemon, "batchweave_generations_total"));
      List<TestRank> held = new ArrayList<>();
      for (int rank = 0; rank < 8; rank++) {
        var _ =
            threads.submit(() -> {
              TestRank attached = rank("run-1", of(0, 1, 8), 0).attach(SOON_NS);
              synchronized (held) {
                held.add(attached);
              }
              return attached;
            });
      }
      await(
          "eight ranks",
          () -> {
            synchronized (held) {
              return held.size() == 8;
            }
          });
      long places = held.stream().map(rank -> rank.step(SOON_NS).offset()).distinct().count();
      assertEquals(1, places, "copies of the step");
      assertEquals(9, mappingsOf("ring-0.data"), "the ranks' and the daemon's");
      held.forEach(TestRank::close);
    }
  }

  private long mappingsOf(String name) throws IOException {
    try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
      return maps.filter(line -> line.endsWith(directory.resolve(name).toString())).count();
    }
  }

  /**
   * A rank that was killed near the end comes back when the others have finished and gone: it waits
   * for none of them. (The context would have it wait for a minute.)
   */
  @Test
  void shouldServeARankThatComesBackToItsSessionAfterTheOthersLeft() throws Exception {
    try (TestStream stream = new TestStream(url(), new Grid(2, 1), SLICE_BYTES);
        Daemon daemon =
            Daemon.launch(context().localReadersTimeoutNs(TimeUnit.MINUTES.toNanos(1)));
        ExecutorService threads = Executors.newFixedThreadPool(2)) {
      stream.add(6);
      stream.seal();
      Future<Long> first = reads(threads, stream, of(0, 2, 2), 6);
      Future<Long> second = reads(threads, stream, of(1, 2, 2), 6);
      first.get();
      second.get();
      try (RankClient back = client(of(0, 2, 2), 4)) {
        StepLease lease = Objects.requireNonNull(back.next(SOON_NS));
        assertEquals(4, lease.step());
        lease.release();
      }
      assertEquals(2, metric(daemon, "batchweave_generations_total"));
    }
  }

  @Test
  void shouldFetchNeighbouringSlicesByOneRequest() throws Exception {
    int steps = 30;
    try (TestStream stream = new TestStream(url(), new Grid(4, 1), SLICE_BYTES);
        Daemon daemon = Daemon.launch(context());
        ExecutorService threads = Executors.newFixedThreadPool(2)) {
      stream.add(steps);
      Future<Long> first = reads(threads, stream, of(0, 2, 2), steps);
      Future<Long> second = reads(threads, stream, of(1, 2, 2), steps);
      first.get();
      second.get();
      assertEquals(steps, daemon.storeMeter(url()).of(StoreOperation.GET_INTO).requests());
    }
  }

  @Test
  void shouldServeWhatIsCommittedWhileRanksWait() throws Exception {
    try (TestStream stream = new TestStream(url(), new Grid(2, 1), SLICE_BYTES);
        Daemon daemon = Daemon.launch(context());
        ExecutorService threads = Executors.newFixedThreadPool(2)) {
      Future<Long> first = reads(threads, stream, of(0, 2, 2), 6);
      Future<Long> second = reads(threads, stream, of(1, 2, 2), 6);
      await("both wait", () -> metric(daemon, "batchweave_stalls_total") == 2);
      for (int i = 0; i < 3; i++) {
        stream.add(2);
      }
      first.get();
      second.get();
    }
  }

  @Test
  void shouldPushBackWhileARankHoldsTheRingAndGoOnAfterwards() {
    try (TestStream stream = new TestStream(url(), new Grid(1, 1), 300_000);
        Daemon daemon = Daemon.launch(context().memoryBytes(1 << 20))) {
      stream.add(8);
      try (TestRank rank = rank(alone(), 0).attach(SOON_NS)) {
        TestRank.Take.Ready held = rank.step(SOON_NS);
        byte[] before = rank.slice(held, 0, 0);
        await("a blocked ring", () -> metric(daemon, "batchweave_ring_blocked_bytes") > 0);
        TestRank.Take.Ready second = rank.step(SOON_NS);
        rank.release(second);
        TestRank.Take.Ready third = rank.step(SOON_NS);
        rank.release(third);
        assertInstanceOf(TestRank.Take.Late.class, rank.take(300_000_000L));
        assertArrayEquals(stream.slice(0, 0, 0), rank.slice(held, 0, 0));
        assertArrayEquals(before, rank.slice(held, 0, 0));
        rank.release(held);
        for (long step = 3; step < 8; step++) {
          TestRank.Take.Ready ready = rank.step(SOON_NS);
          assertEquals(step, ready.step());
          assertArrayEquals(stream.slice(step, 0, 0), rank.slice(ready, 0, 0));
          rank.release(ready);
        }
      }
    }
  }

  @Test
  void shouldFailTheStepWithNeededBytesAndFlagWhenTheRingIsTooSmallForIt() {
    try (TestStream stream = new TestStream(url(), new Grid(1, 1), 500_000);
        Daemon daemon = Daemon.launch(context().memoryBytes(1 << 20))) {
      stream.add(1);
      try (TestRank rank = rank(alone(), 0).attach(SOON_NS)) {
        TestRank.Take.Failed failed =
            assertInstanceOf(TestRank.Take.Failed.class, rank.take(SOON_NS));
        assertTrue(failed.text().contains("--memory"), failed.text());
        assertTrue(failed.text().contains("needed="), failed.text());
      }
      await("the count", () -> metric(daemon, "batchweave_steps_failed_total") == 1);
    }
  }

  @Test
  void shouldBeginAgainWhenARankComesLateWithAnotherCoordinate() {
    try (TestStream stream = new TestStream(url(), new Grid(2, 1), SLICE_BYTES);
        Daemon daemon = Daemon.launch(context().localReadersTimeoutNs(200_000_000L))) {
      stream.add(40);
      try (TestRank early = rank(of(0, 2, 2), 0).attach(SOON_NS);
          TestRank late = rank(of(1, 2, 2), 0)) {
        for (long step = 0; step < 5; step++) {
          early.release(early.step(SOON_NS));
        }
        TestRank.Take.Ready held = early.step(SOON_NS);
        late.beBorn();
        Thread hello = Thread.ofPlatform().start(() -> late.sayHello("", Bytes.EMPTY, SOON_NS));
        await("the old generation closed", () -> early.closedReason() != null);
        assertEquals(CloseReason.COORDINATE, early.closedReason());
        assertArrayEquals(stream.slice(5, 0, 0), early.slice(held, 0, 0));
        early.attachAgain(SOON_NS);
        hello.join();
        late.settle();
        TestRank.Take.Ready next = early.step(SOON_NS);
        assertEquals(6, next.step());
        assertArrayEquals(stream.slice(6, 0, 0), early.slice(next, 0, 0));
        for (long step = 0; step < 40; step++) {
          if (step == 6) {
            early.release(next);
          } else if (step > 6) {
            TestRank.Take.Ready ready = early.step(SOON_NS);
            assertEquals(step, ready.step());
            early.release(ready);
          }
          TestRank.Take.Ready ready = late.step(SOON_NS);
          assertEquals(step, ready.step());
          assertArrayEquals(stream.slice(step, 1, 0), late.slice(ready, 1, 0));
          late.release(ready);
        }
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
      assertEquals(2, metric(daemon, "batchweave_generations_total"));
    }
  }

  @Test
  void shouldServeAnOlderStepToARankThatAsksForIt() {
    try (TestStream stream = new TestStream(url(), new Grid(1, 1), 100_000);
        Daemon daemon = Daemon.launch(context().memoryBytes(1 << 20))) {
      stream.add(60);
      try (RankClient rank = client(alone(), 0)) {
        for (long step = 0; step < 50; step++) {
          StepLease lease = rank.next(SOON_NS);
          assertEquals(step, lease == null ? -1 : lease.step());
          if (lease != null) {
            lease.release();
          }
        }
      }
      try (RankClient rank = client(alone(), 7)) {
        StepLease lease = rank.next(SOON_NS);
        assertEquals(7, lease == null ? -1 : lease.step());
        if (lease != null) {
          assertArrayEquals(stream.slice(7, 0, 0), lease.slice(0).toArray(ValueLayout.JAVA_BYTE));
          lease.release();
        }
      }
      assertEquals(2, metric(daemon, "batchweave_generations_total"));
    }
  }

  @Test
  void shouldTellRanksWhenItEndsAndLeaveNothingBehind() {
    try (TestStream stream = new TestStream(url(), new Grid(1, 1), SLICE_BYTES)) {
      stream.add(3);
      Daemon daemon = Daemon.launch(context());
      TestRank rank = rank(alone(), 0).attach(SOON_NS);
      TestRank.Take.Ready held = rank.step(SOON_NS);
      daemon.close();
      assertArrayEquals(stream.slice(0, 0, 0), rank.slice(held, 0, 0));
      assertEquals(new TestRank.Take.Closed(CloseReason.SHUTDOWN), closedAfterReading(rank));
      try (Daemon next = Daemon.launch(context());
          rank) {
        rank.attachAgain(SOON_NS);
        assertEquals(rank.nextStep(), rank.welcome().start().step());
        assertEquals(1, metric(next, "batchweave_attaches_total"));
      }
    }
  }

  private static TestRank.Take closedAfterReading(TestRank rank) {
    TestRank.Take take = rank.take(SOON_NS);
    while (take instanceof TestRank.Take.Ready ready) {
      rank.release(ready);
      take = rank.take(SOON_NS);
    }
    return take;
  }
}
