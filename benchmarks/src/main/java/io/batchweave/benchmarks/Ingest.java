package io.batchweave.benchmarks;

import io.batchweave.Bytes;
import io.batchweave.client.Producer;
import io.batchweave.client.ProducerContext;
import io.batchweave.client.Streams;
import io.batchweave.format.Grid;
import io.batchweave.produce.Tgb;
import io.batchweave.produce.TgbBuilder;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Stores;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * Question: how fast does one producer bring slices that are ready in memory into a stream:
 * checksums, footers, data objects and commits?
 *
 * <p>Ceilings, in turn with it in the same process: on S3 the CRT's own client that puts the same
 * bytes, in objects of the same size, as many at a time, with the same part size and checksums; on
 * files as many threads that write the same bytes into new files and wait until both the file and
 * its name are on the disk. A round is three quarters of a gigabyte, so that what the last batch
 * waits for its commit is a small part of it. Both sides get a fresh stream or folder each round;
 * neither is measured while it opens, closes or is cleaned up.
 */
final class Ingest implements Bar {
  private static final double GOAL = 0.95;
  private static final int SLICES = 8;
  private static final int IN_FLIGHT = 4;
  private static final int CHUNK_BYTES = 256 << 10;
  private static final long MIB = 1L << 20;
  private static final long PENDING_BYTES = 1L << 30;
  private static final Grid GRID = new Grid(SLICES, 1);
  private static final long TIMEOUT_NS = TimeUnit.MINUTES.toNanos(5);

  /** Batches of one size, and whether they are judged. */
  private record Size(long batchBytes, int batches, boolean judged) {}

  private static final Size[] SIZES = {
    new Size(MIB, 256, false), new Size(8 * MIB, 96, true), new Size(64 * MIB, 12, true)
  };

  /** Where to. */
  private sealed interface Target {
    String name();

    /** The root of a store. */
    String url(String folder);

    /** Where folders of both sides lie. */
    Path place();

    Map<String, String> environment();

    /** Seconds that the bare way takes for so many objects. */
    double bare(List<ByteBuffer> objects, int count, String folder) throws IOException;
  }

  private record S3Target(LoopbackS3 server, BarePut client, Path place) implements Target {
    @Override
    public String name() {
      return server.server();
    }

    @Override
    public String url(String folder) {
      return SmallBatches.under(server.url(), folder);
    }

    @Override
    public Map<String, String> environment() {
      return server.environment();
    }

    @Override
    public double bare(List<ByteBuffer> objects, int count, String folder) {
      ArrayDeque<CompletableFuture<Void>> inFlight = new ArrayDeque<>();
      long beganNs = System.nanoTime();
      for (int i = 0; i < count; i++) {
        if (inFlight.size() == IN_FLIGHT) {
          inFlight.removeFirst().join();
        }
        inFlight.addLast(
            client.put(server.objectPath(folder + "/" + i), objects.get(i % objects.size())));
      }
      inFlight.forEach(CompletableFuture::join);
      return (System.nanoTime() - beganNs) / 1e9;
    }
  }

  private record FileTarget(Path place) implements Target {
    @Override
    public String name() {
      return "files";
    }

    @Override
    public String url(String folder) {
      return "file:" + place.resolve(folder);
    }

    @Override
    public Map<String, String> environment() {
      return Map.of();
    }

    @Override
    public double bare(List<ByteBuffer> objects, int count, String folder) throws IOException {
      Path target = Files.createDirectory(place.resolve(folder));
      try (ExecutorService threads = Executors.newFixedThreadPool(IN_FLIGHT)) {
        List<CompletableFuture<Void>> all = new ArrayList<>();
        long beganNs = System.nanoTime();
        for (int i = 0; i < count; i++) {
          Path file = target.resolve("object" + i);
          ByteBuffer bytes = objects.get(i % objects.size()).duplicate();
          all.add(CompletableFuture.runAsync(() -> write(file, bytes), threads));
        }
        all.forEach(CompletableFuture::join);
        return (System.nanoTime() - beganNs) / 1e9;
      }
    }

    private static Path folderOf(Path file) {
      return Objects.requireNonNull(file.getParent());
    }

    private static void write(Path file, ByteBuffer bytes) {
      try (FileChannel channel =
              FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
          FileChannel folder = FileChannel.open(folderOf(file), StandardOpenOption.READ)) {
        int end = bytes.limit();
        while (bytes.position() < end) {
          bytes.limit(Math.min(end, bytes.position() + CHUNK_BYTES));
          channel.write(bytes);
        }
        channel.force(true);
        folder.force(true);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  @Override
  public String name() {
    return "ingest";
  }

  @Override
  public String question() {
    return "slices in memory to committed steps, against bare puts and bare writes of them";
  }

  @Override
  public Verdict measure(BenchRun run) throws IOException {
    Path memory = DirectoryTree.make(Path.of("/dev/shm"));
    Path disk = DirectoryTree.make(Path.of(System.getProperty("java.io.tmpdir")));
    Path objects = memory.resolve("s3/buckets").resolve(LoopbackS3.BUCKET).resolve("root");
    double worst = Double.MAX_VALUE;
    try (LoopbackS3 server = LoopbackS3.start(memory.resolve("s3"));
        BarePut client = new BarePut(server)) {
      run.say(
          "  to                   bytes    n  bare MB/s  ours MB/s  ours/bare [95 %]         CPU ms/MiB bare, ours");
      for (Size size : SIZES) {
        for (Target target : List.of(new S3Target(server, client, objects), new FileTarget(disk))) {
          double ratio = compare(run, target, size);
          worst = size.judged() ? Math.min(worst, ratio) : worst;
        }
      }
    } finally {
      DirectoryTree.delete(memory);
      DirectoryTree.delete(disk);
    }
    return new Verdict(name(), worst, "of the bare way", 1, ">= " + GOAL, worst >= GOAL);
  }

  private static double compare(BenchRun run, Target target, Size size) throws IOException {
    List<byte[]> slices = new ArrayList<>();
    SplittableRandom random = new SplittableRandom(1);
    for (int i = 0; i < SLICES; i++) {
      byte[] slice = new byte[(int) (size.batchBytes() / SLICES)];
      random.nextBytes(slice);
      slices.add(slice);
    }
    ByteBuffer object = ByteBuffer.allocate((int) tgb(slices).lengthBytes());
    slices.forEach(object::put);
    object.clear();
    List<ByteBuffer> objects = List.of(object);
    Sample ratios = new Sample();
    Sample bare = new Sample();
    Sample ours = new Sample();
    double bareCpu = 0;
    double ourCpu = 0;
    int rounds = run.rounds(12);
    try (ObjectStore store =
        Stores.openRetrying(target.url("ours-" + size.batchBytes()), target.environment())) {
      Streams.create(store, GRID);
      for (int round = -1; round < rounds; round++) {
        String bareFolder = "bare-" + size.batchBytes() + "-" + (round + 1);
        double bareSeconds = 0;
        double ourSeconds = 0;
        // Each goes first in turn; the first round of all is not counted.
        for (int i = 0; i < 2; i++) {
          long cpuNs = ProcessTime.nanos();
          if ((round + i) % 2 == 0) {
            bareSeconds = target.bare(objects, size.batches(), bareFolder);
            bareCpu += round < 0 ? 0 : (ProcessTime.nanos() - cpuNs) / 1e6;
          } else {
            ourSeconds = ours(store, slices, size.batches(), "p" + (round + 1));
            ourCpu += round < 0 ? 0 : (ProcessTime.nanos() - cpuNs) / 1e6;
          }
        }
        DirectoryTree.delete(target.place().resolve(bareFolder));
        DirectoryTree.delete(target.place().resolve("ours-" + size.batchBytes()).resolve("data"));
        if (round >= 0) {
          bare.add(bareSeconds);
          ours.add(ourSeconds);
          ratios.add(bareSeconds / ourSeconds);
        }
      }
    }
    Sample.Interval interval = ratios.interval();
    double megabytes = object.limit() / 1e6 * size.batches();
    run.say(
        "  %-16s %9d %4d %10.0f %10.0f  %.3f [%.3f, %.3f]   %.3f, %.3f"
            .formatted(
                target.name(),
                size.batchBytes(),
                rounds,
                megabytes / bare.median(),
                megabytes / ours.median(),
                ratios.median(),
                interval.low(),
                interval.high(),
                bareCpu / (megabytes * rounds / 1.048576),
                ourCpu / (megabytes * rounds / 1.048576)));
    return ratios.median();
  }

  private static Tgb tgb(List<byte[]> slices) {
    TgbBuilder builder = new TgbBuilder(GRID);
    for (int dp = 0; dp < SLICES; dp++) {
      builder.slice(dp, 0, Bytes.wrap(slices.get(dp)), 1, 1, 1);
    }
    return builder.build();
  }

  private static double ours(
      ObjectStore store, List<byte[]> slices, int batches, String producerId) {
    try (Producer producer =
        Producer.open(
            new ProducerContext()
                .store(store)
                .producerId(producerId)
                .maxUploads(IN_FLIGHT)
                .maxPendingBytes(PENDING_BYTES))) {
      long beganNs = System.nanoTime();
      for (int i = 0; i < batches; i++) {
        producer.add(tgb(slices), Bytes.EMPTY);
      }
      producer.flush(TIMEOUT_NS);
      return (System.nanoTime() - beganNs) / 1e9;
    }
  }
}
