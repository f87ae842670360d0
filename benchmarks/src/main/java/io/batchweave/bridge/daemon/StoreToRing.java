package io.batchweave.bridge.daemon;

import io.batchweave.benchmarks.Bar;
import io.batchweave.benchmarks.BareGet;
import io.batchweave.benchmarks.BenchRun;
import io.batchweave.benchmarks.ProcessTime;
import io.batchweave.benchmarks.Sample;
import io.batchweave.benchmarks.Verdict;
import java.io.IOException;
import java.util.EnumMap;
import java.util.Map;

/**
 * Question: how fast do the slices of a step come from S3 on loopback into the ring, checked, the
 * way the daemon does it?
 *
 * <p>Ceiling: a bare GET of the AWS CRT of the same object into the same place of the same
 * pre-allocated file, in turn with it, in the same process. A third way, the daemon's without the
 * checksum, says what the checksum costs. The server is another process. One fetch at a time:
 * latency counts, nothing hides behind the next one.
 */
public final class StoreToRing implements Bar {
  private static final double GOAL = 0.8;
  private static final long MIB = 1L << 20;
  private static final long JUDGED_BYTES = 64 * MIB;
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

  /** Rounds for one size. */
  private record Size(long bytes, int rounds, int warmup) {}

  private static final Size[] SIZES = {
    new Size(64 << 10, 200, 300),
    new Size(MIB, 100, 100),
    new Size(8 * MIB, 60, 20),
    new Size(JUDGED_BYTES, 30, 4),
    new Size(256 * MIB, 10, 1)
  };

  /** Creates one. */
  public StoreToRing() {}

  @Override
  public String name() {
    return "store-to-ring";
  }

  @Override
  public String question() {
    return "64 MiB of slices from loopback S3 into the ring, checked, against a bare CRT GET";
  }

  @Override
  public Verdict measure(BenchRun run) throws IOException {
    double judged = 0;
    try (FetchRig rig = new FetchRig(RING_BYTES);
        BareGet bare = new BareGet(rig.server())) {
      run.say(
          "  server %s, %d slices by one request, one fetch at a time"
              .formatted(rig.server().server(), FetchRig.SLICES));
      run.say(
          "      bytes    n  bare MB/s  ring MB/s     no crc   ring/bare [95 %]        no crc"
              + "   CPU ms/MiB bare, ring, no crc");
      for (Size size : SIZES) {
        FetchRig.Subject subject = rig.upload(size.bytes() / FetchRig.SLICES);
        Map<Way, Taken> taken = interleave(run, rig, bare, subject, size);
        double ratio = report(run, subject, taken);
        if (size.bytes() == JUDGED_BYTES) {
          judged = ratio;
        }
      }
    }
    return new Verdict(name(), judged, "of a bare CRT GET", 1, ">= " + GOAL, judged >= GOAL);
  }

  private static Map<Way, Taken> interleave(
      BenchRun run, FetchRig rig, BareGet bare, FetchRig.Subject subject, Size size) {
    Way[] ways = Way.values();
    long regionBytes = subject.checked().lengthBytes();
    for (int i = 0; i < run.rounds(size.warmup()); i++) {
      for (Way way : ways) {
        long position = rig.nextPosition(regionBytes);
        rig.clear(subject, position);
        go(way, rig, bare, subject, position);
        rig.requireArrived(subject, position, way.name());
      }
    }
    Map<Way, Taken> taken = new EnumMap<>(Way.class);
    for (int round = 0; round < run.rounds(size.rounds()); round++) {
      long position = rig.nextPosition(regionBytes);
      for (int i = 0; i < ways.length; i++) {
        // Whoever comes first finds the place cold: each in turn.
        Way way = ways[(round + i) % ways.length];
        Taken its = taken.computeIfAbsent(way, ignored -> new Taken());
        long cpuNs = ProcessTime.nanos();
        long beganNs = System.nanoTime();
        go(way, rig, bare, subject, position);
        its.seconds.add((System.nanoTime() - beganNs) / 1e9);
        its.cpuSeconds += (ProcessTime.nanos() - cpuNs) / 1e9;
      }
    }
    return taken;
  }

  private static void go(
      Way way, FetchRig rig, BareGet bare, FetchRig.Subject subject, long position) {
    switch (way) {
      case BARE ->
          bare.get(
              rig.server().objectPath(subject.key()),
              subject.lengthBytes(),
              rig.ringFile(),
              position + subject.offset());
      case DAEMON -> rig.fetch(subject.checked(), position);
      case UNCHECKED -> rig.fetch(subject.unchecked(), position);
    }
  }

  private static double report(BenchRun run, FetchRig.Subject subject, Map<Way, Taken> taken) {
    Taken bare = taken.getOrDefault(Way.BARE, new Taken());
    Taken daemon = taken.getOrDefault(Way.DAEMON, new Taken());
    Taken unchecked = taken.getOrDefault(Way.UNCHECKED, new Taken());
    Sample ratios = ratios(bare.seconds, daemon.seconds);
    Sample.Interval interval = ratios.interval();
    double mib = subject.lengthBytes() / (double) MIB * bare.seconds.count();
    run.say(
        "  %9d %4d %10.0f %10.0f %10.0f   %.3f [%.3f, %.3f]    %.3f    %.3f, %.3f, %.3f"
            .formatted(
                subject.lengthBytes(),
                bare.seconds.count(),
                subject.lengthBytes() / 1e6 / bare.seconds.median(),
                subject.lengthBytes() / 1e6 / daemon.seconds.median(),
                subject.lengthBytes() / 1e6 / unchecked.seconds.median(),
                ratios.median(),
                interval.low(),
                interval.high(),
                ratios(bare.seconds, unchecked.seconds).median(),
                bare.cpuSeconds * 1e3 / mib,
                daemon.cpuSeconds * 1e3 / mib,
                unchecked.cpuSeconds * 1e3 / mib));
    return ratios.median();
  }

  private static Sample ratios(Sample bareSeconds, Sample seconds) {
    Sample ratios = new Sample();
    for (int i = 0; i < bareSeconds.count(); i++) {
      ratios.add(bareSeconds.value(i) / seconds.value(i));
    }
    return ratios;
  }
}
