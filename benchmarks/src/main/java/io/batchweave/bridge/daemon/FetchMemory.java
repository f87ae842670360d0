package io.batchweave.bridge.daemon;

import io.batchweave.benchmarks.Bar;
import io.batchweave.benchmarks.BenchRun;
import io.batchweave.benchmarks.SameJvm;
import io.batchweave.benchmarks.Verdict;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.StringTokenizer;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import software.amazon.awssdk.crt.CRT;

/**
 * Question: is the memory that the daemon needs for fetching bounded, however large what it
 * fetches? Judged is the most anonymous memory of the process during a row of fetches of 1 MiB to 1
 * GiB by the daemon's own fetcher, one at a time, each size in a process of its own with the same
 * small heap, touched from the start: so what differs is direct and native. The goal has two parts.
 * No size may take more than 96 MiB above what 1 MiB takes: the 64 MiB that the store lets be under
 * way of a range, and a part of 32 MiB. And from 64 MiB on, where a range fills that window, the
 * sizes may differ by no more than such a part.
 *
 * <p>Live heap, direct buffers and what the AWS CRT counts of its own are printed beside. The parts
 * of one fetch at a time lie in the direct memory that the store keeps to lend them. Parts of more
 * fetches than fit into it, which go by file, are in native memory that the CRT does not count and
 * gives back when no request was under way for some seconds: so what is left then is printed too.
 *
 * <p>Ceiling: what the smallest size takes.
 */
public final class FetchMemory implements Bar {
  private static final long MIB = 1L << 20;
  private static final long[] SIZES = {MIB, 16 * MIB, 64 * MIB, 256 * MIB, 1024 * MIB};
  private static final int FETCHES = 40;
  private static final int WARMUP = 300;
  private static final long LOOK_NS = TimeUnit.MICROSECONDS.toNanos(500);

  /** So long unchanged counts as at rest; the CRT looks for buffers to give back more often. */
  private static final long REST_NS = TimeUnit.SECONDS.toNanos(5);

  private static final long LONGEST_NS = TimeUnit.SECONDS.toNanos(20);

  /** From here on, a range fills the window. */
  private static final long LARGE = 64 * MIB;

  /** At most, more than at the smallest size. */
  private static final double BOUND_BYTES = 96 * MIB;

  /** How much large sizes may differ. */
  private static final double SAME_BYTES = 32 * MIB;

  /** So many bytes are fetched of a size, at most. */
  private static final long TRAFFIC_BYTES = 10 * 1024 * MIB;

  /** Creates one. */
  public FetchMemory() {}

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
    long smallest = 0;
    long most = 0;
    long leastOfLarge = Long.MAX_VALUE;
    for (long size : SIZES) {
      int fetches = (int) Math.min(FETCHES, TRAFFIC_BYTES / size);
      Kept kept = measure(size, run.rounds(fetches));
      run.say(
          "  %10d bytes: heap %.1f MiB, direct %.1f, CRT %.1f; resident %.0f at most, %.0f at rest"
              .formatted(
                  size,
                  (double) kept.heap() / MIB,
                  (double) kept.direct() / MIB,
                  (double) kept.crt() / MIB,
                  (double) kept.atMost() / MIB,
                  (double) kept.atRest() / MIB));
      smallest = size == SIZES[0] ? kept.atMost() : smallest;
      most = Math.max(most, kept.atMost());
      leastOfLarge = size >= LARGE ? Math.min(leastOfLarge, kept.atMost()) : leastOfLarge;
    }
    return new Verdict(
        name(),
        (double) most / MIB,
        "MiB",
        (double) smallest / MIB,
        "<= 96 MiB above 1 MiB's, <= 32 MiB between 64 MiB and 1 GiB",
        most - smallest <= BOUND_BYTES && most - leastOfLarge <= SAME_BYTES);
  }

  private static Kept measure(long sizeBytes, int fetches)
      throws IOException, InterruptedException {
    List<String> flags =
        List.of(
            "-Daws.crt.memory.tracing=1",
            "-Xms64m",
            "-Xmx64m",
            "-XX:MaxDirectMemorySize=160m",
            "-XX:+AlwaysPreTouch",
            "-XX:+UseSerialGC");
    List<String> line =
        SameJvm.line(flags, FetchMemory.class, Long.toString(sizeBytes), Integer.toString(fetches));
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
   * @param arguments bytes of a fetch, number of fetches
   */
  public static void main(String[] arguments) throws IOException {
    long sizeBytes = Long.parseLong(arguments[0]);
    int fetches = Integer.parseInt(arguments[1]);
    try (FetchRig rig = new FetchRig(2 * sizeBytes + MIB);
        Watch watch = new Watch()) {
      FetchRig.Subject small = rig.upload(MIB / 16 / FetchRig.SLICES);
      FetchRig.Subject subject = rig.upload(sizeBytes / FetchRig.SLICES);
      fetch(rig, small, WARMUP);
      watch.start();
      fetch(rig, subject, fetches);
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

  private static void fetch(FetchRig rig, FetchRig.Subject subject, int times) {
    for (int i = 0; i < times; i++) {
      rig.fetch(subject.checked(), rig.nextPosition(subject.checked().lengthBytes()));
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
