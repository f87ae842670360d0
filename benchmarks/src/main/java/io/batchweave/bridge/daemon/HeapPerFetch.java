package io.batchweave.bridge.daemon;

import com.sun.management.ThreadMXBean;
import io.batchweave.benchmarks.Bar;
import io.batchweave.benchmarks.BenchRun;
import io.batchweave.benchmarks.Sample;
import io.batchweave.benchmarks.Verdict;
import java.io.IOException;
import java.lang.management.ManagementFactory;

/**
 * Question: how many bytes does a fetch allocate on the Java heap, on all threads together, native
 * callbacks included, and does that depend on the size of the slices?
 *
 * <p>Ceiling: 0. What remains is the request: its options, headers, future and listener, and a note
 * of progress for each part of 8 MiB.
 */
public final class HeapPerFetch implements Bar {
  private static final long MIB = 1L << 20;
  private static final long[] SIZES = {64 << 10, MIB, 64 * MIB};
  private static final long RING_BYTES = 256 * MIB;
  private static final double GOAL_BYTES = 16 << 10;
  private static final double GOAL_RATIO = 1.5;
  private static final int WARMUP = 200;
  private static final int FETCHES = 100;
  private static final int BATCH = 10;

  /** Creates one. */
  public HeapPerFetch() {}

  @Override
  public String name() {
    return "heap-per-fetch";
  }

  @Override
  public String question() {
    return "bytes on the Java heap for one fetch of 64 KiB, 1 MiB and 64 MiB into the ring";
  }

  @Override
  public Verdict measure(BenchRun run) throws IOException {
    if (!(ManagementFactory.getThreadMXBean() instanceof ThreadMXBean threads)) {
      throw new IllegalStateException("this JVM does not count allocations; run it on HotSpot");
    }
    double least = Double.MAX_VALUE;
    double most = 0;
    try (FetchRig rig = new FetchRig(RING_BYTES)) {
      repeat(rig, rig.upload(SIZES[0] / FetchRig.SLICES), WARMUP);
      for (long size : SIZES) {
        FetchRig.Subject subject = rig.upload(size / FetchRig.SLICES);
        repeat(rig, subject, BATCH);
        Sample perFetch = new Sample();
        for (int batch = 0; batch < run.rounds(FETCHES / BATCH); batch++) {
          long before = threads.getTotalThreadAllocatedBytes();
          repeat(rig, subject, BATCH);
          perFetch.add((threads.getTotalThreadAllocatedBytes() - before) / (double) BATCH);
        }
        Sample.Interval interval = perFetch.interval();
        run.say(
            "  %9d bytes: %.0f bytes of heap per fetch [%.0f, %.0f]"
                .formatted(size, perFetch.median(), interval.low(), interval.high()));
        least = Math.min(least, perFetch.median());
        most = Math.max(most, perFetch.median());
      }
    }
    run.say("  largest to smallest: %.2f".formatted(most / least));
    return new Verdict(
        name(),
        most,
        "bytes",
        0,
        "<= 16384 and largest/smallest <= 1.5",
        most <= GOAL_BYTES && most / least <= GOAL_RATIO);
  }

  private static void repeat(FetchRig rig, FetchRig.Subject subject, int times) {
    for (int i = 0; i < times; i++) {
      rig.fetch(subject.checked(), rig.nextPosition(subject.checked().lengthBytes()));
    }
  }
}
