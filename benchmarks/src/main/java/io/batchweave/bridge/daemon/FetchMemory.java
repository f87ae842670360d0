package io.batchweave.bridge.daemon;

import io.batchweave.benchmarks.Bar;
import io.batchweave.benchmarks.BenchRun;
import io.batchweave.benchmarks.SameJvm;
import io.batchweave.benchmarks.Verdict;
import io.batchweave.store.ObjectStore;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.LongSummaryStatistics;
import java.util.SortedMap;
import java.util.StringTokenizer;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.ToLongFunction;
import software.amazon.awssdk.crt.CRT;

/**
 * Question: is the memory that the daemon needs for fetching independent of the size of what it
 * fetches? Ranges of 1 MiB to 1 GiB, by the daemon's own fetcher, one at a time, each size in a
 * process of its own with the same small heap, touched from the start.
 *
 * <p>Judged first is the daemon's way, where the store lends the bytes: the parts of one fetch lie
 * in the direct memory that it takes at once for each of its three sizes of parts, and keeps. Each
 * process has fetched in all three before, so that all of it is there, as in a daemon that has run
 * for a while. From then on the size may make no difference, neither to the live heap, to direct
 * memory and to what the AWS CRT counts of its own, after the fetches, nor to the most anonymous
 * memory of the process during them, but for what the allocators of two processes differ by.
 *
 * <p>Then the way of what finds no room there, which goes by file: its parts are in native memory
 * that the CRT does not count, and gives back when no request was under way for some seconds; what
 * is left then is printed too. That cannot be the same for all sizes, as a small range has no more
 * under way than itself, but it is bounded. No size may take more than 96 MiB above what 1 MiB
 * takes: the 64 MiB that the store lets be under way of a range, and a part of 32 MiB. And from 64
 * MiB on, where a range fills that window, the sizes may differ by no more than such a part.
 *
 * <p>Ceiling: what the process with the least takes.
 */
public final class FetchMemory implements Bar {
  private static final long MIB = 1L << 20;
  private static final List<Long> SIZES = List.of(MIB, 16 * MIB, 64 * MIB, 256 * MIB, 1024 * MIB);
  private static final List<Long> SIZES_BY_FILE = List.of(MIB, 64 * MIB, 1024 * MIB);
  private static final int FETCHES = 40;
  private static final int WARMUP = 300;
  private static final long LOOK_NS = TimeUnit.MICROSECONDS.toNanos(500);

  /** So long unchanged counts as at rest; the CRT looks for buffers to give back more often. */
  private static final long REST_NS = TimeUnit.SECONDS.toNanos(5);

  private static final long LONGEST_NS = TimeUnit.SECONDS.toNanos(20);

  /** One length for each size of parts. */
  private static final List<Long> LENGTHS_OF_PARTS = List.of(MIB, 16 * MIB, 128 * MIB);

  /** How much resident memory may differ where the store lends: less than a part of 32 MiB. */
  private static final double SAME_BYTES = 24 * MIB;

  /** How much the heap and what the CRT counts may differ each: the CRT takes blocks of a MiB. */
  private static final double SAME_COUNTED_BYTES = 2 * MIB;

  /** From here on, a range fills the window. */
  private static final long LARGE = 64 * MIB;

  /** At most, more than at the smallest size, by file. */
  private static final double BOUND_BYTES = 96 * MIB;

  /** How much large sizes may differ by file. */
  private static final double PART_BYTES = 32 * MIB;

  /** So many bytes are fetched of a size, at most. */
  private static final long TRAFFIC_BYTES = 10 * 1024 * MIB;

  /** Creates one. */
  public FetchMemory() {}

  /** How the bytes come. */
  private enum Way {
    LENT("lent"),
    BY_FILE("by file");

    private final String label;

    Way(String label) {
      this.label = label;
    }
  }

  /** What a process says, in bytes. */
  private record Kept(long heap, long direct, long crt, long atMost, long atRest) {}

  @Override
  public String name() {
    return "memory";
  }

  @Override
  public String question() {
    return "memory of a daemon that fetches 1 MiB to 1 GiB at a time: heap, direct and the CRT's";
  }

  @Override
  public Verdict measure(BenchRun run) throws IOException, InterruptedException {
    SortedMap<Long, Kept> lent = measure(run, Way.LENT, SIZES);
    SortedMap<Long, Kept> byFile = measure(run, Way.BY_FILE, SIZES_BY_FILE);
    double heap = spread(lent, Kept::heap);
    double direct = spread(lent, Kept::direct);
    double crt = spread(lent, Kept::crt);
    double resident = spread(lent, Kept::atMost);
    double lowest = lent.values().stream().mapToLong(Kept::atMost).min().orElseThrow();
    double ofLarge = spread(byFile.tailMap(LARGE), Kept::atMost);
    double ofAll = spread(byFile, Kept::atMost);
    run.say(
        "  between sizes: heap %.2f MiB, direct %.2f, CRT %.2f, resident %.1f; by file %.1f, from 64 MiB on %.1f"
            .formatted(
                heap / MIB, direct / MIB, crt / MIB, resident / MIB, ofAll / MIB, ofLarge / MIB));
    boolean same =
        heap <= SAME_COUNTED_BYTES
            && direct == 0
            && crt <= SAME_COUNTED_BYTES
            && resident <= SAME_BYTES;
    return new Verdict(
        name(),
        (lowest + resident) / MIB,
        "MiB",
        lowest / MIB,
        "sizes differ by <= 24 MiB resident, 2 heap, 0 direct, 2 CRT; by file <= 96, 32 from 64 MiB on",
        same && ofAll <= BOUND_BYTES && ofLarge <= PART_BYTES);
  }

  private static SortedMap<Long, Kept> measure(BenchRun run, Way way, List<Long> sizes)
      throws IOException, InterruptedException {
    SortedMap<Long, Kept> kept = new TreeMap<>();
    for (long size : sizes) {
      int fetches = (int) Math.min(FETCHES, TRAFFIC_BYTES / size);
      Kept of = measure(way, size, run.rounds(fetches));
      run.say(
          "  %-7s %10d bytes: heap %.2f MiB, direct %.1f, CRT %.2f; resident %.1f at most, %.1f at rest"
              .formatted(
                  way.label,
                  size,
                  (double) of.heap() / MIB,
                  (double) of.direct() / MIB,
                  (double) of.crt() / MIB,
                  (double) of.atMost() / MIB,
                  (double) of.atRest() / MIB));
      kept.put(size, of);
    }
    return kept;
  }

  /** By how much sizes differ, in bytes. */
  private static double spread(SortedMap<Long, Kept> kept, ToLongFunction<Kept> figure) {
    LongSummaryStatistics all = kept.values().stream().mapToLong(figure).summaryStatistics();
    return all.getMax() - all.getMin();
  }

  private static Kept measure(Way way, long sizeBytes, int fetches)
      throws IOException, InterruptedException {
    List<String> flags =
        List.of(
            "-Daws.crt.memory.tracing=1",
            "-Xms64m",
            "-Xmx64m",
            "-XX:MaxDirectMemorySize=224m",
            "-XX:+AlwaysPreTouch",
            "-XX:+UseSerialGC");
    List<String> line =
        SameJvm.line(flags, FetchMemory.class, way.name(), Long.toString(sizeBytes), "" + fetches);
    Process process =
        new ProcessBuilder(line).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    String told;
    try (BufferedReader out =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      told = out.readLine();
    }
    int code = process.waitFor();
    if (code != 0 || told == null) {
      throw new IOException("the fetching process ended: exit code=" + code);
    }
    StringTokenizer numbers = new StringTokenizer(told);
    return new Kept(next(numbers), next(numbers), next(numbers), next(numbers), next(numbers));
  }

  private static long next(StringTokenizer numbers) {
    return Long.parseLong(numbers.nextToken());
  }

  /**
   * Fetches and says what was kept.
   *
   * @param arguments the way, bytes of a fetch, number of fetches
   */
  public static void main(String[] arguments) throws IOException {
    Way way = Way.valueOf(arguments[0]);
    long sizeBytes = Long.parseLong(arguments[1]);
    int fetches = Integer.parseInt(arguments[2]);
    try (FetchRig rig = new FetchRig(2 * Math.max(sizeBytes, LENGTHS_OF_PARTS.getLast()) + MIB);
        Watch watch = new Watch()) {
      FetchRig.Subject small = rig.upload(MIB / 16 / FetchRig.SLICES);
      List<FetchRig.Subject> eachPart = new ArrayList<>();
      if (way == Way.LENT) {
        for (long length : LENGTHS_OF_PARTS) {
          eachPart.add(rig.upload(length / FetchRig.SLICES));
        }
      }
      FetchRig.Subject subject = rig.upload(sizeBytes / FetchRig.SLICES);
      ObjectStore from = way == Way.LENT ? rig.store() : rig.byFile();
      eachPart.forEach(part -> fetch(rig, from, part, 1));
      fetch(rig, from, small, WARMUP);
      watch.start();
      fetch(rig, from, subject, fetches);
      System.gc();
      System.out.printf(
          Locale.ROOT,
          "%d %d %d %d %d%n",
          ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed(),
          directBytes(),
          CRT.nativeMemory(),
          watch.most,
          residentAtRest());
    }
  }

  private static void fetch(FetchRig rig, ObjectStore from, FetchRig.Subject subject, int times) {
    for (int i = 0; i < times; i++) {
      long position = rig.nextPosition(subject.checked().lengthBytes());
      rig.fetchAll(from, subject.checked(), List.of(position));
    }
  }

  private static long directBytes() {
    long bytes = 0;
    for (BufferPoolMXBean pool : ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class)) {
      bytes += pool.getName().equals("direct") ? pool.getMemoryUsed() : 0;
    }
    return bytes;
  }

  /** Anonymous memory of this process that is in use: not the ring, which is a file. */
  private static long residentBytes() {
    try {
      for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
        if (line.startsWith("RssAnon:")) {
          return 1024 * Long.parseLong(line.replaceAll("[^0-9]", ""));
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    throw new IllegalStateException("/proc/self/status has no RssAnon");
  }

  /** The same once nothing is given back any more. */
  private static long residentAtRest() {
    long began = System.nanoTime();
    long changed = began;
    long least = residentBytes();
    long now = began;
    while (now - changed < REST_NS && now - began < LONGEST_NS) {
      LockSupport.parkNanos(REST_NS / 100);
      now = System.nanoTime();
      long resident = residentBytes();
      if (resident < least - MIB) {
        least = resident;
        changed = now;
      }
    }
    return least;
  }

  /** Looks at that again and again. */
  private static final class Watch implements AutoCloseable {
    private final Thread thread = Thread.ofPlatform().daemon().unstarted(this::look);
    private volatile long most;
    private volatile boolean closed;

    void start() {
      thread.start();
    }

    private void look() {
      while (!closed) {
        most = Math.max(most, residentBytes());
        LockSupport.parkNanos(LOOK_NS);
      }
    }

    @Override
    public void close() {
      closed = true;
    }
  }
}
