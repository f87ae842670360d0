package io.batchweave.benchmarks;

import io.batchweave.format.Grid;
import io.batchweave.store.ObjectStore;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * Question: how many bytes does a daemon write for each byte of payload?
 *
 * <p>A daemon in a process of its own, as users start it, and a rank beside it that takes all
 * slices of all steps. Counted by the kernel for the whole process of the daemon ({@code wchar} of
 * its {@code /proc/PID/io}), from when it serves until the rank has the last step: attaching, the
 * session and following the log are in it; what its JVM writes to start is not. A second copy into
 * a file or a pipe would show. For ranks the bytes are then there: they map the ring.
 *
 * <p>Three ways: from files, which the kernel copies into the ring's file; from S3, where the store
 * lends the bytes as far as it has room, which of two ranges of 64 MiB at once one finds; and from
 * S3 by a daemon whose JVM has no direct memory for that, so that all of them go by file.
 *
 * <p>Two things no counter of the kernel shows. What is lent is put into the mapped ring: that is
 * one copy, too, but no system call. And the S3 client sends its requests, half a KiB for each, by
 * {@code send(2)}, which is not a write to the kernel's account.
 *
 * <p>Ceiling: one, the write into the ring's file.
 */
final class Copies implements Bar {
  private static final double GOAL = 1.01;
  private static final int MIB = 1 << 20;
  private static final long PAYLOAD_BYTES = 512L * MIB;
  private static final Grid GRID = new Grid(8, 1);

  /** Too little for the parts of any range. */
  private static final String NOTHING_TO_LEND = "-XX:MaxDirectMemorySize=32m";

  /** Steps of one size; a ring for a few of them. */
  private record Size(int stepBytes, String memory) {}

  private static final List<Size> SIZES =
      List.of(new Size(MIB, "16MiB"), new Size(8 * MIB, "64MiB"), new Size(64 * MIB, "320MiB"));

  @Override
  public String name() {
    return "copies";
  }

  @Override
  public String question() {
    return "bytes that a daemon writes for each byte of payload, steps of 1 to 64 MiB";
  }

  @Override
  public Verdict measure(BenchRun run) throws IOException {
    Path memory = DirectoryTree.make(Path.of("/dev/shm"));
    Path disk = DirectoryTree.make(Path.of(System.getProperty("java.io.tmpdir")));
    Path objects = disk.resolve("s3/buckets").resolve(LoopbackS3.BUCKET).resolve("root");
    double most = 0;
    try (LoopbackS3 server = LoopbackS3.start(disk.resolve("s3"))) {
      run.say("  written / payload by a daemon      from files          from S3    S3, by file");
      for (Size size : SIZES) {
        int steps = run.rounds((int) (PAYLOAD_BYTES / size.stepBytes()));
        IngestLoad load = new IngestLoad(GRID, size.stepBytes());
        String folder = "steps-" + size.stepBytes();
        double files;
        double fromS3;
        double byFile;
        try (Stream stream = new Stream(new IngestTarget.Directory(disk), folder, load, steps)) {
          files = copies(stream, memory.resolve(folder + "-files"), size, List.of());
        }
        try (Stream stream =
            new Stream(new IngestTarget.S3(server, objects), folder, load, steps)) {
          fromS3 = copies(stream, memory.resolve(folder + "-s3"), size, List.of());
          byFile =
              copies(stream, memory.resolve(folder + "-by-file"), size, List.of(NOTHING_TO_LEND));
        }
        run.say(
            "  %3d steps of %8d bytes   %16.5f %16.5f %14.5f"
                .formatted(steps, size.stepBytes(), files, fromS3, byFile));
        if (byFile < 1) {
          throw new IllegalStateException("not all went by file: written/payload=" + byFile);
        }
        most = Math.max(most, Math.max(files, Math.max(fromS3, byFile)));
      }
    } finally {
      DirectoryTree.delete(memory);
      DirectoryTree.delete(disk);
    }
    return new Verdict(name(), most, "written/payload", 1, "<= " + GOAL, most <= GOAL);
  }

  /** A stream of so many equal steps; deleted with this. */
  private record Stream(IngestTarget target, String folder, int steps) implements AutoCloseable {
    Stream(IngestTarget target, String folder, IngestLoad load, int steps) throws IOException {
      this(target, folder, steps);
      try (ObjectStore store = load.newStream(target, folder)) {
        var _ = load.produce(store, steps);
      }
    }

    @Override
    public void close() throws IOException {
      DirectoryTree.delete(target.place().resolve(folder));
    }
  }

  private static double copies(Stream stream, Path directory, Size size, List<String> flags)
      throws IOException {
    String url = stream.target().url(stream.folder());
    long payload = (long) size.stepBytes() * stream.steps();
    try (NodeDaemon daemon =
        NodeDaemon.start(flags, stream.target().environment(), url, directory, size.memory())) {
      long before = ProcessBytes.written(daemon.pid());
      long taken = new JavaRank(url, directory, 1, 1).take(0, stream.steps());
      if (taken != payload) {
        throw new IllegalStateException("the rank got " + taken + " bytes of " + payload);
      }
      return (ProcessBytes.written(daemon.pid()) - before) / (double) payload;
    }
  }
}
