package io.batchweave.bridge.daemon;

import io.batchweave.benchmarks.Bar;
import io.batchweave.benchmarks.BareS3;
import io.batchweave.benchmarks.BenchRun;
import io.batchweave.benchmarks.ProcessTime;
import io.batchweave.benchmarks.Sample;
import io.batchweave.benchmarks.Turns;
import io.batchweave.benchmarks.Verdict;
import java.io.IOException;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * Question: how fast do the slices of a step come from S3 on loopback into the ring, checked, the
 * way the daemon does it?
 *
 * <p>Ceiling: a bare GET of the AWS CRT of the same object into the same place of the same
 * pre-allocated file, in turn with it, in the same process. A third way, the daemon's without the
 * checksum, says what the checksum costs. The server is another process. One fetch at a time:
 * latency counts, nothing hides behind the next one. Judged is the lowest ratio of all sizes. What
 * becomes of it when several fetches are under way, on both sides, is reported beside.
 */
public final class StoreToRing implements Bar {
  private static final double GOAL = 0.95;
  private static final long MIB = 1L << 20;
  private static final long RING_BYTES = 600 * MIB;

  /** Ways to the ring. */
  private enum Way {
    BARE,
    DAEMON,
    UNCHECKED
  }

  /** What one way took. */
  private static final class Taken {
    final Sample seconds = new Sample();
    double cpuSeconds;
  }

  /**
   * Rounds for one size, with so many fetches at once. A quick run has at least 20 of what is
   * judged, and all of the warm-up: the daemon's way is more Java than the bare one, which would
   * count against it until it is compiled.
   */
  private record Size(long bytes, int atOnce, int rounds, int warmup) {}

  private static final Size[] SIZES = {
    new Size(64 << 10, 1, 1_500, 4_000),
    new Size(MIB, 1, 600, 300),
    new Size(8 * MIB, 1, 300, 60),
    new Size(64 * MIB, 1, 120, 8),
    new Size(256 * MIB, 1, 100, 3),
    new Size(MIB, 8, 150, 20),
    new Size(8 * MIB, 8, 100, 6),
    new Size(64 * MIB, 8, 20, 2)
  };

  /** Creates one. */
  public StoreToRing() {}

  @Override
  public String name() {
    return "store-to-ring";
  }

  @Override
  public String question() {
    return "slices of 64 KiB to 256 MiB from loopback S3 into the ring, checked, against a bare CRT GET";
  }

  @Override
  public Verdict measure(BenchRun run) throws IOException {
    Sample worst = new Sample();
    try (FetchRig rig = new FetchRig(RING_BYTES);
        BareS3 bare = new BareS3(rig.server())) {
      run.say(
          "  server %s, %d slices by one request"
              .formatted(rig.server().server(), FetchRig.SLICES));
      run.say(
          "      bytes  at once    n  bare MB/s  ring MB/s     no crc   ring/bare [95 %]        no crc"
              + "   CPU ms/MiB bare, ring, no crc");
      for (Size size : SIZES) {
        FetchRig.Subject subject = rig.upload(size.bytes() / FetchRig.SLICES);
        Map<Way, Taken> taken = interleave(run, rig, bare, subject, size);
        Sample ratios = report(run, subject, size, taken);
        boolean worse = worst.count() == 0 || ratios.median() < worst.median();
        worst = size.atOnce() == 1 && worse ? ratios : worst;
      }
    }
    double judged = worst.median();
    return new Verdict(name(), judged, "of a bare CRT GET", 1, ">= " + GOAL, judged >= GOAL)
        .within(worst.interval());
  }

  private static Map<Way, Taken> interleave(
      BenchRun run, FetchRig rig, BareS3 bare, FetchRig.Subject subject, Size size) {
    Way[] ways = Way.values();
    long regionBytes = subject.checked().lengthBytes();
    for (int i = 0; i < size.warmup(); i++) {
      for (Way way : ways) {
        List<Long> positions = positions(rig, regionBytes, size);
        rig.clear(subject, positions.getFirst());
        go(way, rig, bare, subject, positions);
        rig.requireArrived(subject, positions.getFirst(), way.name());
      }
    }
    Map<Way, Taken> taken = new EnumMap<>(Way.class);
    for (int round = 0; round < run.rounds(size.rounds()); round++) {
      List<Long> positions = positions(rig, regionBytes, size);
      for (int i = 0; i < ways.length; i++) {
        // Whoever comes first finds the place cold, and each leaves something to the next.
        Way way = ways[Turns.of(round, i, ways.length)];
        Taken its = taken.computeIfAbsent(way, ignored -> new Taken());
        long cpuNs = ProcessTime.nanos();
        long beganNs = System.nanoTime();
        go(way, rig, bare, subject, positions);
        its.seconds.add((System.nanoTime() - beganNs) / 1e9);
        its.cpuSeconds += (ProcessTime.nanos() - cpuNs) / 1e9;
      }
    }
    return taken;
  }

  private static List<Long> positions(FetchRig rig, long regionBytes, Size size) {
    List<Long> positions = new ArrayList<>();
    for (int i = 0; i < size.atOnce(); i++) {
      positions.add(rig.nextPosition(regionBytes));
    }
    return positions;
  }

  private static void go(
      Way way, FetchRig rig, BareS3 bare, FetchRig.Subject subject, List<Long> positions) {
    switch (way) {
      case BARE -> getAll(rig, bare, subject, positions);
      case DAEMON -> rig.fetchAll(subject.checked(), positions);
      case UNCHECKED -> rig.fetchAll(subject.unchecked(), positions);
    }
  }

  private static void getAll(
      FetchRig rig, BareS3 bare, FetchRig.Subject subject, List<Long> positions) {
    String path = rig.server().objectPath(subject.key());
    List<CompletableFuture<Void>> gets = new ArrayList<>();
    for (long position : positions) {
      gets.add(
          bare.begin(path, subject.lengthBytes(), rig.ringFile(), position + subject.offset()));
    }
    gets.forEach(CompletableFuture::join);
  }

  private static Sample report(
      BenchRun run, FetchRig.Subject subject, Size size, Map<Way, Taken> taken) {
    Taken bare = taken.getOrDefault(Way.BARE, new Taken());
    Taken daemon = taken.getOrDefault(Way.DAEMON, new Taken());
    Taken unchecked = taken.getOrDefault(Way.UNCHECKED, new Taken());
    Sample ratios = bare.seconds.over(daemon.seconds);
    Sample.Interval interval = ratios.interval();
    double bytes = (double) subject.lengthBytes() * size.atOnce();
    double mib = bytes / MIB * bare.seconds.count();
    run.say(
        "  %9d  %7d %4d %10.0f %10.0f %10.0f   %.3f [%.3f, %.3f]    %.3f    %.3f, %.3f, %.3f"
            .formatted(
                subject.lengthBytes(),
                size.atOnce(),
                bare.seconds.count(),
                bytes / 1e6 / bare.seconds.median(),
                bytes / 1e6 / daemon.seconds.median(),
                bytes / 1e6 / unchecked.seconds.median(),
                ratios.median(),
                interval.low(),
                interval.high(),
                bare.seconds.over(unchecked.seconds).median(),
                bare.cpuSeconds * 1e3 / mib,
                daemon.cpuSeconds * 1e3 / mib,
                unchecked.cpuSeconds * 1e3 / mib));
    return ratios;
  }
}
