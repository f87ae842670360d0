package io.batchweave.cli;

import io.batchweave.bridge.daemon.DaemonContext;
import io.batchweave.bridge.daemon.DaemonMain;
import io.batchweave.bridge.daemon.StreamCollectors;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code serve URL…}: the node daemon. */
@Command(
    name = "serve",
    mixinStandardHelpOptions = true,
    description = {
      "Run the node daemon: prefetch the steps of one or more streams into shared memory.",
      "One daemon per node and user; ranks find it by its directory. SIGTERM stops it; ranks that",
      "are attached survive and find the next one."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  ./batchweave serve s3://bucket/run7 --memory 8GiB",
      "  ./batchweave serve s3://bucket/train s3://bucket/valid --memory 4GiB --rings 2",
      "  ./batchweave serve s3://bucket/run7 --dir /dev/shm/team --group research"
    })
final class ServeCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Parameters(arity = "1..*", paramLabel = "URL", description = "Roots of the streams to serve.")
  private List<String> streams = List.of();

  @Option(
      names = "--memory",
      converter = ByteSize.class,
      defaultValue = "1GiB",
      description = "Length of each ring (default ${DEFAULT-VALUE}); at least hold + 2 steps.")
  private long memoryBytes;

  @Option(
      names = "--rings",
      defaultValue = "1",
      description =
          "Sessions at a time (default ${DEFAULT-VALUE}); training and validation need 2.")
  private int rings;

  @Option(
      names = "--hold",
      defaultValue = "1",
      description = "Steps a rank may hold while it asks for the next (default ${DEFAULT-VALUE}).")
  private int hold;

  @Option(
      names = "--prefetch",
      converter = ByteSize.class,
      defaultValue = "0",
      description = "Bytes fetched ahead of the slowest rank; 0: as much as the ring holds.")
  private long prefetchBytes;

  @Option(
      names = "--fetches",
      defaultValue = "8",
      description =
          "Range requests in flight (default ${DEFAULT-VALUE}); from S3 each takes up to 64 MiB"
              + " of native memory.")
  private int concurrentFetches;

  @Option(
      names = "--reserve",
      converter = ByteSize.class,
      defaultValue = "64MiB",
      description = "Memory left to others, such as NCCL (default ${DEFAULT-VALUE}).")
  private long reserveBytes;

  @Option(
      names = "--dir",
      paramLabel = "DIR",
      description = {
        "Daemon directory on a tmpfs (default BATCHWEAVE_DIR, else",
        "/dev/shm/batchweave-<uid>/default)."
      })
  private @Nullable Path directory;

  @Option(
      names = "--group",
      paramLabel = "NAME",
      description = {
        "Share the directory with this group of users: mode 0770, files 0660.",
        "By default it is this user's alone: 0700."
      })
  private @Nullable String group;

  @Option(
      names = "--metrics-port",
      defaultValue = "0",
      description = "Loopback port of the Prometheus metrics; 0: a free one, which is printed.")
  private int metricsPort;

  @Option(
      names = "--on-corrupt",
      defaultValue = "FAIL",
      description = {
        "When bytes stay wrong: ${COMPLETION-CANDIDATES} (default ${DEFAULT-VALUE}).",
        "FAIL: ranks get a typed error; SKIP: the same, and launches to come pass over the step;",
        "RETRY: fetch for ever."
      })
  private DaemonContext.OnCorrupt onCorrupt = DaemonContext.OnCorrupt.FAIL;

  @Option(
      names = "--local-ranks-timeout",
      paramLabel = "SECONDS",
      defaultValue = "60",
      description = "Longest wait for announced local ranks (default ${DEFAULT-VALUE} s).")
  private int localReadersTimeoutSeconds;

  @Option(
      names = "--reclaim",
      paramLabel = "EVERY",
      converter = Interval.class,
      description = {
        "Also delete what no session and no checkpoint can ask for, with a pause such as 10m",
        "between two runs. Harmless when several nodes do it."
      })
  private @Nullable Long reclaimEveryNs;

  @Override
  public Integer call() {
    PrintWriter out = spec.commandLine().getOut();
    DaemonContext context =
        new DaemonContext()
            .streams(streams)
            .memoryBytes(memoryBytes)
            .rings(rings)
            .hold(hold)
            .prefetchBytes(prefetchBytes)
            .concurrentFetches(concurrentFetches)
            .reserveBytes(reserveBytes)
            .group(group)
            .metricsPort(metricsPort)
            .onCorrupt(onCorrupt)
            .unopened(DaemonContext.Unopened.FAIL)
            .localReadersTimeoutNs(TimeUnit.SECONDS.toNanos(localReadersTimeoutSeconds))
            .lines(out::println);
    if (directory != null) {
      context.directory(directory.toAbsolutePath());
    }
    Long everyNs = reclaimEveryNs;
    if (everyNs == null) {
      return DaemonMain.run(context);
    }
    try (StreamCollectors _ =
        StreamCollectors.start(streams, System.getenv(), everyNs, out::println)) {
      return DaemonMain.run(context);
    }
  }
}
