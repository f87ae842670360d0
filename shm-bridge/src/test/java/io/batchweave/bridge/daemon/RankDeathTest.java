package io.batchweave.bridge.daemon;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.bridge.ChildJvm;
import io.batchweave.format.Grid;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * U12: a rank in a process of its own is killed at every point of its life. It comes back at its
 * step within 3 s, and the other rank does not notice.
 */
@Timeout(120)
class RankDeathTest extends DaemonFixture {
  /** Three seconds are promised; five times that on a busy machine. */
  private static final long PROMISE_NS = TimeUnit.SECONDS.toNanos(15);

  /** The daemon's longest sleeps have begun long before. */
  private static final long LONG_NS = TimeUnit.MILLISECONDS.toNanos(500);

  private static final int FIRST = 10;
  private static final int COMMITTED = 20;
  private static final int LAST = 40;

  private Process start(VictimMain.Point point, long nextStep) throws IOException {
    return new ProcessBuilder(
            ChildJvm.command(
                List.of("-Xmx64m"),
                VictimMain.class,
                point.name(),
                directory.toString(),
                url(),
                Long.toString(nextStep)))
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
  }

  /** Kills it where it said it would be, and waits until it is gone. */
  private static void kill(Process victim, VictimMain.Point point)
      throws IOException, InterruptedException {
    try (BufferedReader out = victim.inputReader(StandardCharsets.UTF_8)) {
      assertEquals("ready", out.readLine());
      if (point == VictimMain.Point.SOMEWHERE) {
        LockSupport.parkNanos(new SplittableRandom().nextLong(40_000_000));
      }
      victim.destroyForcibly();
      assertTrue(victim.waitFor(SOON_NS, TimeUnit.NANOSECONDS));
    }
  }

  @ParameterizedTest
  @EnumSource(VictimMain.Point.class)
  void shouldServeTheNextIncarnationAtItsStepAndTheOthersAllAlong(VictimMain.Point point)
      throws IOException, InterruptedException {
    try (TestStream stream = new TestStream(url(), new Grid(2, 1), SLICE_BYTES);
        Daemon daemon = Daemon.launch(context())) {
      stream.add(COMMITTED);
      try (TestRank survivor = rank(of(0, 2, 2), 0)) {
        readTogether(stream, survivor);
        Process victim = start(point, FIRST);
        try {
          kill(victim, point);
        } finally {
          victim.destroyForcibly();
        }
        long killedAtNs = CLOCK.nanoTime();
        TestRank.Take.Ready next = survivor.step(PROMISE_NS);
        assertEquals(FIRST, next.step());
        long resume =
            switch (point) {
              case WAITING -> COMMITTED;
              case ACKED -> FIRST + 1;
              default -> FIRST;
            };
        try (TestRank again = rank(of(1, 2, 2), resume).attach(PROMISE_NS)) {
          assertTrue(CLOCK.nanoTime() - killedAtNs < PROMISE_NS);
          assertEquals(resume, again.nextStep());
          survivor.release(next);
          stream.add(LAST - COMMITTED);
          for (long step = FIRST + 1; step < LAST; step++) {
            check(stream, survivor, step, 0);
          }
          for (long step = resume; step < LAST; step++) {
            check(stream, again, step, 1);
          }
        }
      }
      assertEquals(1, metric(daemon, "batchweave_generations_total"), "nobody had to begin again");
    }
  }

  /** Both ranks of the session read the first steps, then the second one goes in good order. */
  private void readTogether(TestStream stream, TestRank survivor) throws InterruptedException {
    try (TestRank second = rank(of(1, 2, 2), 0)) {
      Thread other = Thread.ofPlatform().start(() -> second.attach(SOON_NS));
      survivor.attach(SOON_NS);
      other.join();
      for (long step = 0; step < FIRST; step++) {
        check(stream, survivor, step, 0);
        check(stream, second, step, 1);
      }
    }
  }

  /** All ranks wait for a commit, and the daemon sleeps for long: what comes then is served. */
  @Test
  void shouldNoticeADeathANewRankAndACommitWhenNothingHasHappenedForLong() throws Exception {
    try (TestStream stream = new TestStream(url(), new Grid(2, 1), SLICE_BYTES);
        Daemon daemon = Daemon.launch(context())) {
      stream.add(FIRST);
      try (TestRank survivor = rank(of(0, 2, 2), 0)) {
        readTogether(stream, survivor);
        await("the end of one", () -> metric(daemon, "batchweave_readers_lost_total") == 1);
        try (TestRank second = rank(of(1, 2, 2), FIRST).attach(SOON_NS)) {
          assertInstanceOf(TestRank.Take.Late.class, survivor.take(LONG_NS));
          assertEquals(FIRST, second.nextStep());
        }
        await("the end of the other", () -> metric(daemon, "batchweave_readers_lost_total") == 2);
        assertInstanceOf(TestRank.Take.Late.class, survivor.take(LONG_NS));
        try (TestRank third = rank(of(1, 2, 2), FIRST).attach(SOON_NS)) {
          assertInstanceOf(TestRank.Take.Late.class, survivor.take(LONG_NS));
          stream.add(1);
          check(stream, survivor, FIRST, 0);
          check(stream, third, FIRST, 1);
        }
      }
    }
  }

  private static void check(TestStream stream, TestRank rank, long step, int dp) {
    TestRank.Take.Ready ready = rank.step(SOON_NS);
    assertEquals(step, ready.step());
    assertArrayEquals(stream.slice(step, dp, 0), rank.slice(ready, dp, 0));
    rank.release(ready);
  }
}
