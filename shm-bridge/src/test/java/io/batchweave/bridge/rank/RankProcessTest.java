package io.batchweave.bridge.rank;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.bridge.ChildJvm;
import io.batchweave.bridge.SharedDirectory;
import io.batchweave.bridge.memory.FutexWaiter;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.memory.NativeMemoryAccount;
import io.batchweave.bridge.ring.Id128;
import io.batchweave.bridge.ring.RingAbi;
import io.batchweave.bridge.ring.RingHost;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A host in this JVM, ranks in JVMs of their own, shared memory in between (U7, U12). */
@Timeout(120)
class RankProcessTest {
  private static final long SECOND = 1_000_000_000L;

  /** A rank's process; its lines are read by a thread of their own. */
  private static final class Rank implements AutoCloseable {
    final ChildJvm process;
    final int dp;
    final Queue<String> lines = new ConcurrentLinkedQueue<>();
    final List<String> seen = new ArrayList<>();
    Id128 asked = Id128.NONE;

    Rank(ChildJvm process, int dp) {
      this.process = process;
      this.dp = dp;
      Thread.ofPlatform().daemon().start(this::read);
    }

    private void read() {
      try {
        for (String line = process.line(); line != null; line = process.line()) {
          lines.add(line);
        }
      } catch (IOException e) {
        lines.add("broken " + e.getMessage());
      }
    }

    boolean has(String line) {
      return seen.contains(line);
    }

    @Override
    public void close() {
      process.close();
    }
  }

  private static Rank start(SharedDirectory directory, int dp, int localReaders, long stopAt)
      throws IOException {
    return new Rank(
        ChildJvm.start(
            ReadingRank.class,
            directory.path().toString(),
            Integer.toString(dp),
            Integer.toString(localReaders),
            Long.toString(stopAt)),
        dp);
  }

  /** Serves until every rank printed its line. */
  private static void serve(
      RingHost host, FutexWaiter waiter, int localReaders, List<Rank> ranks, List<String> until) {
    long deadlineNs = System.nanoTime() + 60 * SECOND;
    while (true) {
      boolean done = true;
      for (int i = 0; i < ranks.size(); i++) {
        Rank rank = ranks.get(i);
        take(host, rank, localReaders);
        done &= rank.has(until.get(i));
      }
      if (done) {
        return;
      }
      assertTrue(System.nanoTime() - deadlineNs < 0, () -> "waiting for " + until);
      host.workAndWait(waiter, 2_000_000);
    }
  }

  private static void take(RingHost host, Rank rank, int localReaders) {
    for (String line = rank.lines.poll(); line != null; line = rank.lines.poll()) {
      rank.seen.add(line);
      if (line.startsWith("hello ")) {
        String[] words = line.split(" ", -1);
        rank.asked = Id128.parse(words[1]);
        host.hello(
            rank.asked,
            Id128.parse(words[2]),
            rank.dp,
            Math.max(0, Long.parseLong(words[3])),
            localReaders);
      }
    }
    RingHost.Told told = host.told(rank.asked);
    if (told != null) {
      assertNotNull(told.welcome(), () -> "refused: " + told.refuse());
      rank.process.say(
          told.controlFile()
              + " "
              + RingAbi.dataName(0)
              + " "
              + told.generationId()
              + " "
              + told.welcome().firstN()
              + " "
              + told.welcome().firstStep());
    }
  }

  private static void assertReadInOrder(Rank rank, long from, long to) {
    List<String> expected = new ArrayList<>();
    for (long step = from; step < to; step++) {
      expected.add("step " + step);
    }
    assertEquals(
        expected, rank.seen.stream().filter(l -> !l.startsWith("hello")).limit(to).toList());
  }

  @Test
  void shouldServeRanksInOtherProcesses() throws Exception {
    String before = NativeMemoryAccount.summary();
    try (SharedDirectory directory = SharedDirectory.create();
        RingHost host = new RingHost(directory.path(), 24, 4, 200);
        FutexWaiter waiter = NativeMemory.system().newWaiter();
        Rank first = start(directory, 0, 2, -1);
        Rank second = start(directory, 1, 2, -1)) {
      serve(host, waiter, 2, List.of(first, second), List.of("end 200", "end 200"));
      assertReadInOrder(first, 0, 200);
      assertReadInOrder(second, 0, 200);
      assertEquals(0, first.process.exitCode());
      assertEquals(0, second.process.exitCode());
      host.files().poll(System.nanoTime() + SECOND);
      assertTrue(host.files().machine().isFree());
    }
    assertEquals(before, NativeMemoryAccount.summary());
  }

  /** U12: killed while it holds a step; the other goes on, the next process of it too. */
  @Test
  void shouldFreeWhatAKilledRankHeld() throws Exception {
    try (SharedDirectory directory = SharedDirectory.create();
        RingHost host = new RingHost(directory.path(), 24, 4, 60);
        FutexWaiter waiter = NativeMemory.system().newWaiter();
        Rank healthy = start(directory, 0, 2, -1);
        Rank victim = start(directory, 1, 2, 7)) {
      serve(host, waiter, 2, List.of(healthy, victim), List.of("step 7", "step 7"));
      victim.process.kill();
      serve(host, waiter, 2, List.of(healthy), List.of("end 60"));
      assertReadInOrder(healthy, 0, 60);
      assertReadInOrder(victim, 0, 8);
      assertEquals(0, healthy.process.exitCode());
      host.files().poll(System.nanoTime() + SECOND);
      host.work();
      assertTrue(host.files().machine().isFree());
      assertEquals(0, host.files().machine().readers().size());
    }
  }
}
