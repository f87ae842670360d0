package io.batchweave.bridge.daemon;

import com.sun.management.ThreadMXBean;
import io.batchweave.benchmarks.Bar;
import io.batchweave.benchmarks.BareS3;
import io.batchweave.benchmarks.BenchRun;
import io.batchweave.benchmarks.Sample;
import io.batchweave.benchmarks.Verdict;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.Arrays;

/**
 * Question: how many bytes does a fetch allocate on the Java heap, on all threads together, native
 * callbacks included, for slices of up to 256 MiB?
 *
 * <p>Ceiling: what a bare GET of the AWS CRT allocates for the same object, measured in the same
 * run. The CRT makes one Java object with its texts for each part, to say how long that part took;
 * nobody can turn that off, so the store asks for larger ranges in larger parts, up to a size that
 * bounds what a fetch takes of native memory. The goal is for the whole. A second one is for what
 * is ours alone, the difference of the two: up to 64 MiB, where a range has four parts at most, the
 * size may make a difference of half of it, for the words that pass between threads.
 */
public final class HeapPerFetch implements Bar {
  private static final long MIB = 1L << 20;
  private static final long[] SIZES = {64 << 10, MIB, 64 * MIB, 256 * MIB};
  private static final long RING_BYTES = 600 * MIB;
  private static final long FEW_PARTS_BYTES = 64 * MIB;
  private static final double GOAL_BYTES = 16 << 10;
  private static final double GOAL_RATIO = 1.5;
  private static final int WARMUP = 4_000;
  private static final int WARMUP_OF_SIZE = 30;
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
    return "bytes on the Java heap for one fetch of 64 KiB to 256 MiB into the ring";
  }

  @Override
  public Verdict measure(BenchRun run) throws IOException {
    if (!(ManagementFactory.getThreadMXBean() instanceof ThreadMXBean threads)) {
      throw new IllegalStateException("this JVM does not count allocations; run it on HotSpot");
    }
    double[] ours = new double[SIZES.length];
    Sample worst = new Sample();
    double[] bares = new double[SIZES.length];
    try (FetchRig rig = new FetchRig(RING_BYTES);
        BareS3 bare = new BareS3(rig.server())) {
      FetchRig.Subject warmup = rig.upload(SIZES[0] / FetchRig.SLICES);
      repeat(WARMUP, () -> fetch(rig, warmup));
      repeat(WARMUP, () -> get(rig, bare, warmup));
      for (int i = 0; i < SIZES.length; i++) {
        FetchRig.Subject subject = rig.upload(SIZES[i] / FetchRig.SLICES);
        Sample our = allocated(run, threads, () -> fetch(rig, subject));
        Sample its = allocated(run, threads, () -> get(rig, bare, subject));
        ours[i] = our.median();
        bares[i] = its.median();
        worst = worst.count() == 0 || our.median() > worst.median() ? our : worst;
        run.say(
            "  %9d bytes: %.0f bytes of heap per fetch [%.0f, %.0f], bare GET %.0f, ours alone %.0f"
                .formatted(
                    SIZES[i],
                    ours[i],
                    our.interval().low(),
                    our.interval().high(),
                    bares[i],
                    ours[i] - bares[i]));
      }
    }
    double most = Arrays.stream(ours).max().orElseThrow();
    double[] alone = new double[1 + Arrays.binarySearch(SIZES, FEW_PARTS_BYTES)];
    Arrays.setAll(alone, i -> ours[i] - bares[i]);
    double ratio = Arrays.stream(alone).max().orElseThrow() / alone[0];
    run.say("  ours alone: 64 MiB at most %.2f x 64 KiB".formatted(ratio));
    return new Verdict(
            name(),
            most,
            "bytes",
            Arrays.stream(bares).max().orElseThrow(),
            "<= 16384, and ours alone <= 1.5 x 64 KiB's up to 64 MiB",
            most <= GOAL_BYTES && ratio <= GOAL_RATIO)
        .within(worst.interval());
  }

  private static Sample allocated(BenchRun run, ThreadMXBean threads, Runnable fetch) {
    repeat(WARMUP_OF_SIZE, fetch);
    Sample perFetch = new Sample();
    for (int batch = 0; batch < run.rounds(FETCHES / BATCH); batch++) {
      long before = threads.getTotalThreadAllocatedBytes();
      repeat(BATCH, fetch);
      perFetch.add((threads.getTotalThreadAllocatedBytes() - before) / (double) BATCH);
    }
    return perFetch;
  }

  private static void fetch(FetchRig rig, FetchRig.Subject subject) {
    rig.fetch(subject.checked(), rig.nextPosition(subject.checked().lengthBytes()));
  }

  private static void get(FetchRig rig, BareS3 bare, FetchRig.Subject subject) {
    long position = rig.nextPosition(subject.checked().lengthBytes());
    bare.get(
        rig.server().objectPath(subject.key()),
        subject.lengthBytes(),
        rig.ringFile(),
        position + subject.offset());
  }

  private static void repeat(int times, Runnable fetch) {
    for (int i = 0; i < times; i++) {
      fetch.run();
    }
  }
}
