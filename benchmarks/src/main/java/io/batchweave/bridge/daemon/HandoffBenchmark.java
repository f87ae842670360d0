package io.batchweave.bridge.daemon;

import io.batchweave.benchmarks.Bar;
import io.batchweave.benchmarks.JmhBar;
import io.batchweave.benchmarks.JmhResults;
import io.batchweave.benchmarks.Sample;
import io.batchweave.benchmarks.Verdict;
import io.batchweave.bridge.rank.StepLease;
import java.io.IOException;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * Question: what does it cost a Java rank to take a step of eight slices that is ready and to
 * release it, and does that allocate? Publisher and rank share a thread: {@code handOff} is both,
 * {@code publish} the daemon's share alone, the difference the rank's. How long a sleeping rank
 * waits for its wake is another question.
 *
 * <p>Ceiling: the one system call in it, a ring of the doorbell that nobody waits for.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class HandoffBenchmark {
  private static final double GOAL_NS = 1000;
  // JMH's own allocations, spread over the operations of an iteration.
  private static final double NOTHING_BYTES = 0.5;

  private @Nullable ReadyRing opened;
  private final long deadlineNs = System.nanoTime() + TimeUnit.HOURS.toNanos(1);

  /** Creates one. */
  public HandoffBenchmark() {}

  /** The bar. */
  public static Bar bar() {
    return new JmhBar(
        "handoff-java",
        "a Java rank takes and releases a step that is ready: time and bytes allocated",
        HandoffBenchmark.class,
        HandoffBenchmark::judge);
  }

  private static Verdict judge(JmhResults results) {
    Sample both = results.score("handOff", "");
    Sample rank = both.with(results.score("publish", ""), (all, publish) -> all - publish);
    double rankNs = rank.median();
    double bytes = results.allocatedBytes("handOff", "");
    return new Verdict(
            "handoff-java",
            rankNs,
            "ns/step",
            results.score("doorbell", "").median(),
            "<= 1000 and 0 B/op",
            rankNs <= GOAL_NS && bytes < NOTHING_BYTES)
        .within(rank.interval());
  }

  /** Makes the ring. */
  @Setup
  public void open() throws IOException {
    opened = new ReadyRing(new ReadyRing.Shape(8, 64, 1));
  }

  private ReadyRing ring() {
    return Objects.requireNonNull(opened);
  }

  /** Publish, take, release. */
  @Benchmark
  public long handOff() {
    ReadyRing ring = ring();
    ring.publish();
    StepLease lease = ReadyRing.take(ring.ranks().getFirst(), deadlineNs);
    long offset = lease.sliceOffset(0);
    lease.release();
    return offset;
  }

  /** Publish alone. */
  @Benchmark
  public void publish() {
    ring().publish();
  }

  /** The ceiling. */
  @Benchmark
  public void doorbell() {
    ring().ring();
  }

  /** Removes the files. */
  @TearDown
  public void close() {
    ring().close();
  }
}
