package io.batchweave.bridge.daemon;

import io.batchweave.benchmarks.Bar;
import io.batchweave.benchmarks.BenchRun;
import io.batchweave.benchmarks.Verdict;
import io.batchweave.store.ObjectStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Question: how many bytes does the daemon's way from store to ring hand to the kernel for each
 * byte of payload, requests included?
 *
 * <p>Ceiling: one, the write into the ring, where the store writes. Where it lends the bytes, which
 * is printed beside, they are put into the mapped ring and the kernel is handed none. Counted by
 * the kernel for the whole process ({@code wchar} of {@code /proc/self/io}); a second copy into a
 * file, a pipe or a socket would show. For ranks the bytes are then there: they map the ring.
 */
public final class Copies implements Bar {
  private static final double GOAL = 1.01;
  private static final long MIB = 1L << 20;
  private static final long[] SIZES = {MIB, 8 * MIB, 64 * MIB};
  private static final int FETCHES = 20;

  /** Creates one. */
  public Copies() {}

  @Override
  public String name() {
    return "copies";
  }

  @Override
  public String question() {
    return "bytes that the daemon writes for each byte of payload, 1 to 64 MiB";
  }

  @Override
  public Verdict measure(BenchRun run) throws IOException {
    double most = 0;
    try (FetchRig rig = new FetchRig(600 * MIB)) {
      for (long size : SIZES) {
        FetchRig.Subject subject = rig.upload(size / FetchRig.SLICES);
        int fetches = run.rounds(FETCHES);
        double byFile = copies(rig, rig.byFile(), subject, fetches);
        double lent = copies(rig, rig.store(), subject, fetches);
        run.say("  %9d bytes: %.5f by file, %.5f lent".formatted(size, byFile, lent));
        most = Math.max(most, Math.max(byFile, lent));
      }
    }
    return new Verdict(name(), most, "written/payload", 1, "<= 1.01", most <= GOAL);
  }

  private static double copies(
      FetchRig rig, ObjectStore from, FetchRig.Subject subject, int fetches) throws IOException {
    fetch(rig, from, subject);
    long before = writtenBytes();
    for (int i = 0; i < fetches; i++) {
      fetch(rig, from, subject);
    }
    return (writtenBytes() - before) / (double) (fetches * subject.lengthBytes());
  }

  private static void fetch(FetchRig rig, ObjectStore from, FetchRig.Subject subject) {
    long position = rig.nextPosition(subject.checked().lengthBytes());
    rig.fetchAll(from, subject.checked(), List.of(position));
  }

  private static long writtenBytes() throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/self/io"))) {
      if (line.startsWith("wchar: ")) {
        return Long.parseLong(line.substring("wchar: ".length()));
      }
    }
    throw new IOException("/proc/self/io has no wchar");
  }
}
