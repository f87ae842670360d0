package io.batchweave.benchmarks;

import io.batchweave.store.ObjectStore;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;

/**
 * Question: how fast does one producer bring slices that are ready in memory into a stream:
 * checksums, footers, data objects and commits?
 *
 * <p>Ceilings, in turn with it in the same process: on S3 the CRT's own client that puts the same
 * bytes, in objects of the same size, as many at a time, with the same part size and checksums; on
 * files as many threads that write the same bytes into new files and wait until both the file and
 * its name are on the disk. A round is a gigabyte, so that what the last batch waits for its commit
 * is a small part of it. Both sides get a fresh stream or folder each round; neither is measured
 * while it opens, closes or is cleaned up.
 */
final class Ingest implements Bar {
  private static final double GOAL = 0.95;
  private static final int MIB = 1 << 20;

  /** Batches of one size, and whether they are judged. */
  private record Size(int batchBytes, int batches, boolean judged) {}

  private static final Size[] SIZES = {
    new Size(MIB, 256, false), new Size(8 * MIB, 128, true), new Size(64 * MIB, 16, true)
  };

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
    Sample worst = new Sample();
    try (LoopbackS3 server = LoopbackS3.start(memory.resolve("s3"));
        BarePut client = new BarePut(server)) {
      run.say(
          "  to                   bytes    n  bare MB/s  ours MB/s  ours/bare [95 %]         CPU ms/MiB bare, ours");
      List<IngestTarget> targets =
          List.of(new IngestTarget.S3(server, client, objects), new IngestTarget.Directory(disk));
      for (IngestTarget target : targets) {
        IngestLoad.warmUp(target, "warm-up");
      }
      for (Size size : SIZES) {
        for (IngestTarget target : targets) {
          Sample ratios = compare(run, target, size);
          boolean worse = worst.count() == 0 || ratios.median() < worst.median();
          worst = size.judged() && worse ? ratios : worst;
        }
      }
    } finally {
      DirectoryTree.delete(memory);
      DirectoryTree.delete(disk);
    }
    double value = worst.median();
    return new Verdict(name(), value, "of the bare way", 1, ">= " + GOAL, value >= GOAL)
        .within(worst.interval());
  }

  private static Sample compare(BenchRun run, IngestTarget target, Size size) throws IOException {
    IngestLoad load = new IngestLoad(IngestLoad.EIGHT, size.batchBytes());
    ByteBuffer object = load.object();
    Sample bare = new Sample();
    Sample ours = new Sample();
    double bareCpu = 0;
    double ourCpu = 0;
    int rounds = run.rounds(7);
    int batches = run.pace() == BenchRun.Pace.QUICK ? size.batches() / 2 : size.batches();
    for (int round = -1; round < rounds; round++) {
      String bareFolder = "bare-" + size.batchBytes() + "-" + (round + 1);
      String ourFolder = "ours-" + size.batchBytes() + "-" + (round + 1);
      double bareSeconds = 0;
      double ourSeconds = 0;
      // Each goes first in turn; the first round of all is not counted.
      try (ObjectStore store = load.newStream(target, ourFolder)) {
        for (int i = 0; i < 2; i++) {
          long cpuNs = ProcessTime.nanos();
          if ((round + i) % 2 == 0) {
            bareSeconds = target.bare(object, batches, bareFolder);
            bareCpu += round < 0 ? 0 : (ProcessTime.nanos() - cpuNs) / 1e6;
          } else {
            ourSeconds = load.produce(store, batches);
            ourCpu += round < 0 ? 0 : (ProcessTime.nanos() - cpuNs) / 1e6;
          }
        }
      }
      DirectoryTree.delete(target.place().resolve(bareFolder));
      DirectoryTree.delete(target.place().resolve(ourFolder));
      if (round >= 0) {
        bare.add(bareSeconds);
        ours.add(ourSeconds);
      }
    }
    Sample ratios = bare.over(ours);
    Sample.Interval interval = ratios.interval();
    double megabytes = object.limit() / 1e6 * batches;
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
    return ratios;
  }
}
