package io.batchweave.bridge.daemon;

import io.batchweave.benchmarks.Bar;
import io.batchweave.benchmarks.BareS3;
import io.batchweave.benchmarks.BenchRun;
import io.batchweave.benchmarks.ProcessTime;
import io.batchweave.benchmarks.SameJvm;
import io.batchweave.benchmarks.Sample;
import io.batchweave.benchmarks.Turns;
import io.batchweave.benchmarks.Verdict;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.StringTokenizer;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Question: how fast do the slices of a step come from S3 on loopback into the ring, checked, the
 * way the daemon does it?
 *
 * <p>Ceiling: a bare GET of the AWS CRT of the same object into the same place of the same
 * pre-allocated file, in parts of the same size of which as many are under way, in turn with it, in
 * the same process. Two more ways say what the checksum costs, the daemon's without it, and what it
 * is worth that the store lends the bytes, the daemon's with a store that writes the file as the
 * bare GET does. The server is another process. All of that happens in five JVMs, one after the
 * other, whose rounds are taken together; the brackets are the least and the largest median of one
 * of them. One fetch at a time: latency counts, nothing hides behind the next one. Judged is the
 * lowest ratio of all sizes. What becomes of it when several fetches are under way, on both sides,
 * is reported beside.
 */
public final class StoreToRing implements Bar {
  private static final double GOAL = 0.95;

  /** What one gives by chance to one way, for as long as it lives, another gives to the other. */
  private static final int JVMS = 5;

  private static final long MIB = 1L << 20;
  private static final long RING_BYTES = 600 * MIB;

  /** Ways to the ring. */
  private enum Way {
    BARE,
    DAEMON,
    UNCHECKED,
    BY_FILE
  }

  /** Who fetches. */
  private record Clients(FetchRig rig, BareS3 bare) {}

  /** What one way took. */
  private static final class Taken {
    final Sample seconds = new Sample();
    double cpuSeconds;

    void addAll(Taken others) {
      for (int i = 0; i < others.seconds.count(); i++) {
        seconds.add(others.seconds.value(i));
      }
      cpuSeconds += others.cpuSeconds;
    }

    String text() {
      StringBuilder text = new StringBuilder().append(cpuSeconds);
      for (int i = 0; i < seconds.count(); i++) {
        text.append(' ').append(seconds.value(i));
      }
      return text.toString();
    }

    static Taken parse(@Nullable String text) throws IOException {
      if (text == null) {
        throw new IOException("the fetching process ended before it had measured all");
      }
      Taken taken = new Taken();
      StringTokenizer numbers = new StringTokenizer(text);
      taken.cpuSeconds = Double.parseDouble(numbers.nextToken());
      while (numbers.hasMoreTokens()) {
        taken.seconds.add(Double.parseDouble(numbers.nextToken()));
      }
      return taken;
    }
  }

  /**
   * Rounds for one size in one JVM, with so many fetches at once. A quick run has all of the
   * warm-up: the daemon's way is more Java than the bare one, which would count against it until it
   * is compiled.
   */
  private record Size(long bytes, int atOnce, int rounds, int warmup) {}

  private static final Size[] SIZES = {
    new Size(64 << 10, 1, 1_000, 2_500),
    new Size(MIB, 1, 1_000, 200),
    new Size(8 * MIB, 1, 200, 30),
    new Size(64 * MIB, 1, 40, 5),
    new Size(256 * MIB, 1, 20, 2),
    new Size(MIB, 8, 40, 10),
    new Size(8 * MIB, 8, 20, 4),
    new Size(64 * MIB, 8, 5, 1)
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
  public Verdict measure(BenchRun run) throws IOException, InterruptedException {
    List<List<Map<Way, Taken>>> all = new ArrayList<>();
    for (int i = 0; i < JVMS; i++) {
      all.add(measureInItsOwnJvm(run));
      run.say("  %d of %d JVMs".formatted(i + 1, JVMS));
    }
    run.say("  %d slices by one request".formatted(FetchRig.SLICES));
    run.say(
        "      bytes  at once    n  bare MB/s  ring MB/s     no crc   ring/bare [of each JVM]"
            + "       no crc  by file   CPU ms/MiB bare, ring, no crc, by file");
    double worst = Double.POSITIVE_INFINITY;
    Sample.Interval around = new Sample.Interval(0, 0);
    for (int i = 0; i < SIZES.length; i++) {
      Map<Way, Taken> pooled = new EnumMap<>(Way.class);
      Sample medians = new Sample();
      for (List<Map<Way, Taken>> one : all) {
        medians.add(ratio(one.get(i), Way.DAEMON));
        one.get(i).forEach((way, taken) -> of(pooled, way).addAll(taken));
      }
      Sample.Interval interval = new Sample.Interval(medians.quantile(0), medians.quantile(1));
      report(run, SIZES[i], pooled, interval);
      double ratio = ratio(pooled, Way.DAEMON);
      if (SIZES[i].atOnce() == 1 && ratio < worst) {
        worst = ratio;
        around = interval;
      }
    }
    return new Verdict(name(), worst, "of a bare CRT GET", 1, ">= " + GOAL, worst >= GOAL)
        .within(around);
  }

  private static Taken of(Map<Way, Taken> taken, Way way) {
    return taken.computeIfAbsent(way, ignored -> new Taken());
  }

  private static double ratio(Map<Way, Taken> taken, Way way) {
    return of(taken, Way.BARE).seconds.over(of(taken, way).seconds).median();
  }

  private static List<Map<Way, Taken>> measureInItsOwnJvm(BenchRun run)
      throws IOException, InterruptedException {
    List<String> line = SameJvm.line(List.of(), StoreToRing.class, run.pace().name());
    Process process =
        new ProcessBuilder(line).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    List<Map<Way, Taken>> sizes = new ArrayList<>();
    try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
      for (int i = 0; i < SIZES.length; i++) {
        Map<Way, Taken> taken = new EnumMap<>(Way.class);
        for (Way way : Way.values()) {
          taken.put(way, Taken.parse(out.readLine()));
        }
        sizes.add(taken);
      }
    }
    int exit = process.waitFor();
    if (exit != 0) {
      throw new IOException("the fetching process ended: exit code=" + exit);
    }
    return sizes;
  }

  /**
   * Measures all sizes once and prints what each way took, a line for each size and way.
   *
   * @param arguments the pace
   */
  public static void main(String[] arguments) throws IOException {
    BenchRun run = new BenchRun(BenchRun.Pace.valueOf(arguments[0]), System.out, Path.of("unused"));
    try (FetchRig rig = new FetchRig(RING_BYTES);
        BareS3 bare = new BareS3(rig.server(), BareS3.Ahead.AS_THE_STORE)) {
      Clients clients = new Clients(rig, bare);
      for (Size size : SIZES) {
        FetchRig.Subject subject = rig.upload(size.bytes() / FetchRig.SLICES);
        Map<Way, Taken> taken = interleave(run, clients, subject, size);
        for (Way way : Way.values()) {
          run.say(of(taken, way).text());
        }
      }
    }
  }

  private static Map<Way, Taken> interleave(
      BenchRun run, Clients clients, FetchRig.Subject subject, Size size) {
    FetchRig rig = clients.rig();
    Way[] ways = Way.values();
    long regionBytes = subject.checked().lengthBytes();
    for (int i = 0; i < size.warmup(); i++) {
      for (Way way : ways) {
        List<Long> positions = positions(rig, regionBytes, size);
        rig.clear(subject, positions.getFirst());
        go(way, clients, subject, positions);
        rig.requireArrived(subject, positions.getFirst(), way.name());
      }
    }
    Map<Way, Taken> taken = new EnumMap<>(Way.class);
    for (int round = 0; round < run.rounds(size.rounds()); round++) {
      List<Long> positions = positions(rig, regionBytes, size);
      for (int i = 0; i < ways.length; i++) {
        // Whoever comes first finds the place cold, and each leaves something to the next.
        Way way = ways[Turns.of(round, i, ways.length)];
        Taken its = of(taken, way);
        long cpuNs = ProcessTime.nanos();
        long beganNs = System.nanoTime();
        go(way, clients, subject, positions);
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

  private static void go(Way way, Clients clients, FetchRig.Subject subject, List<Long> positions) {
    FetchRig rig = clients.rig();
    switch (way) {
      case BARE -> getAll(rig, clients.bare(), subject, positions);
      case DAEMON -> rig.fetchAll(subject.checked(), positions);
      case UNCHECKED -> rig.fetchAll(subject.unchecked(), positions);
      case BY_FILE -> rig.fetchAll(rig.byFile(), subject.checked(), positions);
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

  private static void report(
      BenchRun run, Size size, Map<Way, Taken> taken, Sample.Interval interval) {
    Taken bare = of(taken, Way.BARE);
    Taken daemon = of(taken, Way.DAEMON);
    Taken unchecked = of(taken, Way.UNCHECKED);
    double bytes = (double) size.bytes() * size.atOnce();
    double mib = bytes / MIB * bare.seconds.count();
    run.say(
        "  %9d  %7d %4d %10.0f %10.0f %10.0f   %.3f [%.3f, %.3f]    %.3f    %.3f    %.3f, %.3f, %.3f, %.3f"
            .formatted(
                size.bytes(),
                size.atOnce(),
                bare.seconds.count(),
                bytes / 1e6 / bare.seconds.median(),
                bytes / 1e6 / daemon.seconds.median(),
                bytes / 1e6 / unchecked.seconds.median(),
                ratio(taken, Way.DAEMON),
                interval.low(),
                interval.high(),
                ratio(taken, Way.UNCHECKED),
                ratio(taken, Way.BY_FILE),
                bare.cpuSeconds * 1e3 / mib,
                daemon.cpuSeconds * 1e3 / mib,
                unchecked.cpuSeconds * 1e3 / mib,
                of(taken, Way.BY_FILE).cpuSeconds * 1e3 / mib));
  }
}
