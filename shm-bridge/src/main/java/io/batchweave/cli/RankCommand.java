package io.batchweave.cli;

import io.batchweave.Bytes;
import io.batchweave.bridge.daemon.DaemonContext;
import io.batchweave.bridge.handshake.AeronAttacher;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.rank.Attacher;
import io.batchweave.bridge.rank.RankClient;
import io.batchweave.bridge.rank.RankContext;
import io.batchweave.bridge.rank.RankIdentity;
import io.batchweave.bridge.ring.Coordinate;
import io.batchweave.demo.RankReport;
import io.batchweave.demo.ReportingRank;
import io.batchweave.format.Block.Takeover;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.NanoClock;
import org.agrona.concurrent.SystemNanoClock;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code rank URL}: a Java rank that reads and reports. */
@Command(
    name = "rank",
    mixinStandardHelpOptions = true,
    description = {
      "Attach as one rank, read every step, check it, report it.",
      "Prints a line of JSON for each step.",
      "With --report it appends to a file, and started again it goes on after the last step in it."
    },
    footerHeading = "%nExample:%n",
    footer = "  ./batchweave rank file:/data/stream --dp 3 --dp-size 8 --steps 10")
final class RankCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Parameters(index = "0", paramLabel = "URL", description = "The stream, as the daemon serves it.")
  private String stream = "";

  @Option(names = "--dir", paramLabel = "DIR", description = "Daemon directory (as for serve).")
  private @Nullable Path directory;

  @Option(names = "--group", defaultValue = "default", description = "The training job.")
  private String group = "";

  @Option(names = "--session", defaultValue = "default", description = "One launch of it.")
  private String session = "";

  @Option(names = "--dp", defaultValue = "0", description = "Data-parallel index, from 0.")
  private int dp;

  @Option(names = "--dp-size", defaultValue = "1", description = "Data-parallel size of the job.")
  private int dpSize;

  @Option(names = "--cp", defaultValue = "0", description = "Context-parallel index, from 0.")
  private int cp;

  @Option(names = "--cp-size", defaultValue = "1", description = "Context-parallel size.")
  private int cpSize;

  @Option(names = "--local-ranks", defaultValue = "1", description = "Ranks on this node.")
  private int localRanks;

  @Option(names = "--steps", description = "Stop after so many steps (default: the stream's end).")
  private long steps = Long.MAX_VALUE;

  @Option(
      names = "--deadline",
      paramLabel = "SECONDS",
      defaultValue = "60",
      description = "Longest wait for a step (default ${DEFAULT-VALUE} s).")
  private int deadlineSeconds;

  @Option(names = "--report", paramLabel = "FILE", description = "Append to this file.")
  private @Nullable Path report;

  @Override
  public Integer call() throws IOException {
    RankIdentity identity = identity();
    NanoClock clock = SystemNanoClock.INSTANCE;
    long timeoutNs = TimeUnit.SECONDS.toNanos(deadlineSeconds);
    Path daemon = directory == null ? DaemonContext.defaultDirectory(System.getenv()) : directory;
    long nextStep = Attacher.NO_STEP;
    Writer out = new PrintWriter(spec.commandLine().getOut());
    if (report != null) {
      try {
        RankReport before = RankReport.read(report);
        nextStep = before.lines().isEmpty() ? Attacher.NO_STEP : before.nextStep();
        out = ReportingRank.append(report);
      } catch (IOException e) {
        throw new ParameterException(
            spec.commandLine(), "--report cannot be read and appended to: reason=" + e);
      }
    }
    RankContext context =
        new RankContext()
            .directory(daemon)
            .identity(identity)
            .attacher(
                new AeronAttacher(
                    NativeMemory.system(), daemon, clock, Bytes.EMPTY, Takeover.SUPERSEDE))
            .clock(clock)
            .nextStep(nextStep);
    try (ReportingRank rank = new ReportingRank(RankClient.open(context, timeoutNs), out, clock)) {
      rank.run(timeoutNs, steps);
      return 0;
    }
  }

  /** Checked before a daemon is looked for: no daemon is waited for in vain. */
  private RankIdentity identity() {
    if (steps < 0 || deadlineSeconds < 1) {
      throw new ParameterException(
          spec.commandLine(),
          steps < 0
              ? "--steps must be at least 0: " + steps
              : "--deadline must be at least 1 second: " + deadlineSeconds);
    }
    try {
      return new RankIdentity(
          stream,
          group,
          session,
          new Coordinate(dp, cp),
          dpSize,
          cpSize,
          localRanks,
          dp * cpSize + cp);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), e.getMessage(), e);
    }
  }
}
