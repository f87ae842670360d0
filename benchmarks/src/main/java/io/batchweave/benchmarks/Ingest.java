package io.batchweave.benchmarks;

import io.batchweave.store.ObjectStore;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Question: how fast does one producer bring slices that are ready in memory into a stream:
 * checksums, footers, data objects and commits?
 *
 * <p>Compared, in turn with it in the same process: on S3 the CRT's own client that puts the same
 * bytes, in objects of the same size, as many at a time, without checksums as we do; on files as
 * many threads that write the same bytes into new files and wait until both the file and its name
 * are on the disk. That is less than we do: such a file has its name before it is whole, and one
 * fsync brings both to the disk, where we rename what is there already, which is a second commit of
 * the file system's journal. A round is one or two gigabytes, so that what the last batch waits for
 * its commit is a small part of it; half of that in a quick run. Both sides get a fresh stream or
 * folder and client each round; neither is measured while it opens, closes or is cleaned up. What
 * is measured is a producer that has run for a while: before, many of them commit small batches
 * until the compiler rests.
 *
 * <p>What the round before wrote is deleted last, when all is open. A virtual machine hands memory
 * that stays free back to its host, and a page that has to be got again costs ten times a write of
 * it. So each side writes into what the other one has just freed. Were it freed earlier, the side
 * that takes longer to open would pay for more pages; were it three gigabytes, the host would take
 * some while they are written.
 *
 * <p>Ceiling: the bare way, told to split objects as the store does; where the CRT splits them
 * otherwise by itself, that is shown too.
 */
final class Ingest implements Bar {
  private static final double GOAL = 0.95;
  private static final int ROUNDS = 7;
  private static final int MIB = 1 << 20;
  private static final long SHORT_ROUND_BYTES = 256L * MIB;

  /** Batches of one size, and whether they are judged. */
  private record Size(int batchBytes, boolean judged) {}

  private static final Size[] SIZES = {
    new Size(MIB, false), new Size(8 * MIB, true), new Size(64 * MIB, true)
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
    try (LoopbackS3 server = LoopbackS3.start(memory.resolve("s3"))) {
      run.say(
          "  to                   bytes    n  bare MB/s  ours MB/s  ours/bare [95 %]         CPU ms/MiB bare, ours"
              + "   bare as it comes: MB/s, ours/that");
      List<IngestTarget> targets =
          List.of(new IngestTarget.S3(server, objects), new IngestTarget.Directory(disk));
      for (IngestTarget target : targets) {
        IngestLoad.warmUp(target);
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

  /** What one way took. */
  private static final class Taken {
    final Sample seconds = new Sample();
    double cpuMillis;
  }

  private static Sample compare(BenchRun run, IngestTarget target, Size size) throws IOException {
    IngestLoad load = new IngestLoad(IngestLoad.EIGHT, size.batchBytes());
    ByteBuffer object = load.object();
    List<IngestTarget.BareWay> bareWays = target.bareWays(object.limit());
    List<Taken> taken = new ArrayList<>();
    for (int way = 0; way <= bareWays.size(); way++) {
      taken.add(new Taken());
    }
    int rounds = run.rounds(ROUNDS);
    long roundBytes = size.judged() ? target.roundBytes() : SHORT_ROUND_BYTES;
    int share = run.pace() == BenchRun.Pace.FULL ? 1 : 2;
    int batches = (int) (roundBytes / size.batchBytes() / share);
    Path left = target.place().resolve("none");
    for (int round = -1; round < rounds; round++) {
      // Ours is the last of them; the first round of all is not counted.
      for (int i = 0; i < taken.size(); i++) {
        int way = Turns.of(round, i, taken.size());
        String folder = "way" + way + "-" + size.batchBytes() + "-" + (round + 1);
        Taken into = round < 0 ? new Taken() : taken.get(way);
        if (way < bareWays.size()) {
          DirectoryTree.delete(left);
          IngestTarget.Spent spent = bareWays.get(way).bring(object, batches, folder);
          into.seconds.add(spent.seconds());
          into.cpuMillis += spent.cpuNs() / 1e6;
        } else {
          try (ObjectStore store = load.newStream(target, folder)) {
            DirectoryTree.delete(left);
            long cpuNs = ProcessTime.nanos();
            into.seconds.add(load.produce(store, batches));
            into.cpuMillis += (ProcessTime.nanos() - cpuNs) / 1e6;
          }
        }
        left = target.place().resolve(folder);
      }
    }
    DirectoryTree.delete(left);
    return report(run, target, size, object.limit() / 1e6 * batches, taken);
  }

  private static Sample report(
      BenchRun run, IngestTarget target, Size size, double megabytes, List<Taken> taken) {
    Taken bare = taken.getFirst();
    Taken ours = taken.getLast();
    Taken asItComes = taken.get(taken.size() - 2);
    Sample ratios = bare.seconds.over(ours.seconds);
    Sample.Interval interval = ratios.interval();
    double mib = megabytes * ours.seconds.count() / 1.048576;
    run.say(
        "  %-16s %9d %4d %10.0f %10.0f  %.3f [%.3f, %.3f]   %.3f, %.3f   %.0f: %.3f"
            .formatted(
                target.name(),
                size.batchBytes(),
                ours.seconds.count(),
                megabytes / bare.seconds.median(),
                megabytes / ours.seconds.median(),
                ratios.median(),
                interval.low(),
                interval.high(),
                bare.cpuMillis / mib,
                ours.cpuMillis / mib,
                megabytes / asItComes.seconds.median(),
                asItComes.seconds.over(ours.seconds).median()));
    return ratios;
  }
}
