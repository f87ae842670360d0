package io.batchweave.bridge.daemon;

import io.batchweave.benchmarks.Bar;
import io.batchweave.benchmarks.BenchRun;
import io.batchweave.benchmarks.Sample;
import io.batchweave.benchmarks.Verdict;
import io.batchweave.bridge.memory.FutexWaiter;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.rank.RankRing;
import io.batchweave.bridge.rank.TakeOutcome;
import java.io.IOException;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Question: how long after a step is ready does a rank have it that slept meanwhile? From the
 * moment at which the daemon begins to publish it until the rank's {@code take} returns; judged by
 * the 99th percentile.
 *
 * <p>Ceiling: the same two threads and the same sleep on a doorbell and nothing else: what the
 * kernel and the processor take to wake a thread. In turn with it. Between two steps the rank has
 * one to three milliseconds to fall asleep, so that the core that it slept on may be idle too. Who
 * woke it goes to sleep, as a daemon does.
 */
public final class Wake implements Bar {
  private static final double GOAL_MICROS = 1000;
  private static final int ROUNDS = 5_000;
  private static final int WARMUP = 500;
  private static final long SHORTEST_SLEEP_NS = TimeUnit.MILLISECONDS.toNanos(1);
  private static final long LONGEST_SLEEP_NS = TimeUnit.MILLISECONDS.toNanos(3);
  private static final long SOON_NS = TimeUnit.SECONDS.toNanos(30);

  /** Creates one. */
  public Wake() {}

  @Override
  public String name() {
    return "wake";
  }

  @Override
  public String question() {
    return "a rank that sleeps until a step is ready: time from publishing until it has the step";
  }

  @Override
  public Verdict measure(BenchRun run) throws IOException, InterruptedException {
    try (ReadyRing ring = new ReadyRing(new ReadyRing.Shape(8, 64, 1));
        Sleeper sleeper = new Sleeper(ring, WARMUP + run.rounds(ROUNDS))) {
      sleeper.wakeAll();
      Sample steps = sleeper.steps;
      Sample bells = sleeper.bells;
      run.say(
          "  a step: p50 %.1f us, p99 %.1f, most %.1f; a bare futex: p50 %.1f, p99 %.1f, most %.1f; %d rounds"
              .formatted(
                  steps.median(),
                  steps.quantile(0.99),
                  steps.quantile(1),
                  bells.median(),
                  bells.quantile(0.99),
                  bells.quantile(1),
                  steps.count()));
      double micros = steps.quantile(0.99);
      return new Verdict(
              name(), micros, "us, p99", bells.quantile(0.99), "<= 1000", micros <= GOAL_MICROS)
          .within(steps.interval(0.99));
    }
  }

  /** The rank on a thread of its own, asleep on the next step and on the doorbell in turn. */
  private static final class Sleeper implements AutoCloseable {
    private final ReadyRing ring;
    private final RankRing rank;
    private final int rounds;
    private final Sample steps = new Sample();
    private final Sample bells = new Sample();
    private final SplittableRandom random = new SplittableRandom(7);
    private final FutexWaiter waiter = NativeMemory.system().newWaiter();
    private final Thread thread;
    private volatile long asleep; // how often it fell asleep, this time included
    private volatile long beganNs;

    Sleeper(ReadyRing ring, int rounds) {
      this.ring = ring;
      this.rank = ring.ranks().getFirst();
      this.rounds = rounds;
      this.thread = Thread.ofPlatform().name("rank").daemon().unstarted(this::sleepAll);
    }

    private void sleepAll() {
      for (int round = 0; round < rounds; round++) {
        sleepOnStep(round);
        sleepOnBell(round);
      }
    }

    private void sleepOnStep(int round) {
      asleep = 2L * round + 1;
      if (rank.take(System.nanoTime() + SOON_NS) != TakeOutcome.STEP) {
        throw new IllegalStateException("the step did not come");
      }
      keep(steps, round, System.nanoTime());
      rank.lease().release();
    }

    private void sleepOnBell(int round) {
      int word = ring.bell();
      asleep = 2L * round + 2;
      while (ring.bell() == word) {
        ring.awaitBell(waiter, word, SOON_NS);
      }
      keep(bells, round, System.nanoTime());
    }

    private void keep(Sample sample, int round, long nowNs) {
      if (round >= WARMUP) {
        sample.add((nowNs - beganNs) / 1e3);
      }
    }

    /** Wakes it until it has slept as often as it should. */
    void wakeAll() throws InterruptedException {
      thread.start();
      for (long sleep = 1; sleep <= 2L * rounds; sleep++) {
        while (asleep < sleep && thread.isAlive()) {
          LockSupport.parkNanos(20_000);
        }
        LockSupport.parkNanos(random.nextLong(SHORTEST_SLEEP_NS, LONGEST_SLEEP_NS));
        beganNs = System.nanoTime();
        if (sleep % 2 == 1) {
          ring.publish();
        } else {
          ring.ring();
        }
      }
      thread.join();
      if (steps.count() != rounds - WARMUP) {
        throw new IllegalStateException("the rank ended early: rounds=" + steps.count());
      }
    }

    @Override
    public void close() {
      waiter.close();
    }
  }
}
