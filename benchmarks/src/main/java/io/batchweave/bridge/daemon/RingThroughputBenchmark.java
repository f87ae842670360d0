package io.batchweave.bridge.daemon;

import io.batchweave.benchmarks.Bar;
import io.batchweave.benchmarks.JmhBar;
import io.batchweave.benchmarks.JmhResults;
import io.batchweave.benchmarks.Verdict;
import io.batchweave.bridge.rank.RankRing;
import io.batchweave.bridge.rank.StepLease;
import java.io.IOException;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * Question: how much of a rank's reading speed does the hand-off leave, for one to eight readers of
 * a ring, each with a slice of its own of 4 KiB to 256 MiB? A step is published, every reader takes
 * it, reads all of its slice and releases it, on one thread: what the cores could do side by side
 * is not in it. And how long does that take when nobody looks at the bytes, whatever their number?
 *
 * <p>Ceiling: reading the same slices where they lie, by whoever published them.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class RingThroughputBenchmark {
  private static final String JUDGED = "8 x 1048576";

  /** Readers, and bytes of the slice of each. */
  @Param({
    "1 x 4096",
    "8 x 4096",
    "1 x 1048576",
    "4 x 1048576",
    JUDGED,
    "8 x 33554432",
    "1 x 268435456"
  })
  public String shape = "";

  private @Nullable ReadyRing opened;
  private final long deadlineNs = System.nanoTime() + TimeUnit.HOURS.toNanos(1);

  /** Creates one. */
  public RingThroughputBenchmark() {}

  /** The bar. */
  public static Bar bar() {
    return new JmhBar(
        "ring-throughput",
        "1 to 8 readers take, read and release slices of 4 KiB to 256 MiB, against reading alone",
        RingThroughputBenchmark.class,
        RingThroughputBenchmark::judge);
  }

  private static Verdict judge(JmhResults results) {
    return Verdict.reported(
        "ring-throughput",
        results.score("handOff", JUDGED).map(RingThroughputBenchmark::gigabytesPerSecond),
        "GB/s, eight readers, 1 MiB each",
        results.score("read", JUDGED).map(RingThroughputBenchmark::gigabytesPerSecond));
  }

  private static double gigabytesPerSecond(double micros) {
    return 8 * 1_048_576 / micros / 1e3;
  }

  /** Makes the ring. */
  @Setup
  public void open() throws IOException {
    int readers = Integer.parseInt(shape.substring(0, shape.indexOf(' ')));
    long bytes = Long.parseLong(shape.substring(shape.lastIndexOf(' ') + 1));
    opened = new ReadyRing(new ReadyRing.Shape(readers, bytes, readers));
  }

  private ReadyRing ring() {
    return Objects.requireNonNull(opened);
  }

  /** Publish; take, read, release for every reader. */
  @Benchmark
  public long handOff() {
    ReadyRing ring = ring();
    ring.publish();
    long sum = 0;
    for (RankRing rank : ring.ranks()) {
      StepLease lease = ReadyRing.take(rank, deadlineNs);
      sum += Crc32cBenchmark.sum(lease.slice(lease.ownSlice(0)));
      lease.release();
    }
    return sum;
  }

  /** Publish; take and release for every reader: the hand-off alone. */
  @Benchmark
  public long latency() {
    ReadyRing ring = ring();
    ring.publish();
    long sum = 0;
    for (RankRing rank : ring.ranks()) {
      StepLease lease = ReadyRing.take(rank, deadlineNs);
      sum += lease.slice(lease.ownSlice(0)).byteSize();
      lease.release();
    }
    return sum;
  }

  /** The ceiling. */
  @Benchmark
  public long read() {
    ReadyRing ring = ring();
    long sum = 0;
    for (int i = 0; i < ring.ranks().size(); i++) {
      sum += Crc32cBenchmark.sum(ring.slice(i));
    }
    return sum;
  }

  /** Removes the files. */
  @TearDown
  public void close() {
    ring().close();
  }
}
