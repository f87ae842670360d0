package io.batchweave.cli;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.batchweave.client.Collector;
import io.batchweave.client.CollectorContext;
import io.batchweave.demo.StopOnSignal;
import io.batchweave.retain.CollectPolicy;
import io.batchweave.retain.CollectPolicy.Effect;
import io.batchweave.retain.CollectPolicy.Versions;
import io.batchweave.retain.CollectReport;
import io.batchweave.retain.CollectReport.Amount;
import io.batchweave.retain.CollectorMachine.Phase;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code reclaim URL}. */
@Command(
    name = "reclaim",
    mixinStandardHelpOptions = true,
    description = {
      "Delete the steps that no live session and no checkpoint can ask for again, and what crashed",
      "producers left behind. Without any session or checkpoint no step is deleted. No time passes",
      "here: nothing is deleted for its age. May run anywhere, several at once, and be killed."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  ./batchweave reclaim file:/data/stream --dry-run",
      "  ./batchweave reclaim 's3://bucket/run7?region=eu-central-1' --every 10m",
      "  ./batchweave reclaim file:/data/stream --json"
    })
final class ReclaimCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private StreamArgument stream = new StreamArgument();
  @Mixin private OutputOption output = new OutputOption();

  @Option(names = "--dry-run", description = "Delete nothing, say what would be deleted.")
  private boolean dryRun;

  @Option(
      names = "--trim",
      description = {
        "Also overwrite the versions before the 16th newest snapshot by empty objects,",
        "after checking that nobody needs them: what is left of them is their numbers."
      })
  private boolean trim;

  @Option(
      names = "--every",
      paramLabel = "INTERVAL",
      converter = Interval.class,
      description = "Go on for ever, with a pause such as 90s, 10m or 2h between two runs.")
  private @Nullable Long everyNs;

  @Option(
      names = "--rate",
      paramLabel = "OBJECTS",
      defaultValue = "3000",
      description = "Most objects to delete per second (default ${DEFAULT-VALUE}).")
  private long rate;

  @Override
  public Integer call() {
    if (rate < 1) {
      throw new ParameterException(spec.commandLine(), "--rate must be at least 1: " + rate);
    }
    PrintWriter err = spec.commandLine().getErr();
    try (StreamArgument.Opened opened = stream.openStream();
        Collector collector =
            Collector.open(
                new CollectorContext()
                    .store(opened.store())
                    .progress(this::printProgress)
                    .policy(
                        CollectPolicy.DEFAULT
                            .with(dryRun ? Effect.DRY_RUN : Effect.RECLAIM)
                            .with(trim ? Versions.TRIM : Versions.KEEP)
                            .withDeletesPerSecond(rate)));
        StopOnSignal _ = new StopOnSignal(collector)) {
      Long pauseNs = everyNs;
      if (pauseNs == null) {
        print(opened, collector.run());
      } else {
        collector.runEvery(
            pauseNs,
            Collector.First.AT_ONCE,
            report -> print(opened, report),
            trouble -> err.println("batchweave: " + trouble.getMessage()));
      }
      return 0;
    }
  }

  private void printProgress(Phase phase, CollectReport report) {
    PrintWriter progress =
        output.json() ? spec.commandLine().getErr() : spec.commandLine().getOut();
    progress.printf(
        "%s: %d objects of %s %s, %d requests%n",
        switch (phase) {
          case COMMIT -> "moving the horizon";
          case MARK -> "reading what is kept";
          case SWEEP -> "deleting data";
          case SEGMENTS -> "deleting segments";
          case ANNOUNCEMENTS -> "deleting announcements";
          case TRIM -> "trimming the log";
          case DONE, FAILED -> "done";
        },
        report.data().objects() + report.sourceStates().objects(),
        ByteSize.format(report.data().bytes() + report.sourceStates().bytes()),
        dryRun ? "to delete" : "deleted",
        report.requests());
  }

  private void print(StreamArgument.Opened opened, CollectReport report) {
    ObjectNode document =
        JsonDocument.create()
            .put("url", opened.store().url())
            .put("dryRun", dryRun)
            .put("version", report.version())
            .put("horizon", report.horizon())
            .put("steps", report.nextStep())
            .put("reclaimedSteps", report.movedSteps());
    put(document, "data", report.data());
    put(document, "sourceState", report.sourceStates());
    put(document, "kept", report.kept());
    put(document, "unknownProducer", report.unknown());
    document
        .put("segments", report.segments())
        .put("announcements", report.announcements())
        .put("tombstones", report.tombstones())
        .put("failedKeys", report.failedKeys())
        .put("requests", report.requests());
    output.print(spec, document, line(report));
  }

  private static void put(ObjectNode document, String name, Amount amount) {
    document.put(name + "Objects", amount.objects()).put(name + "Bytes", amount.bytes());
  }

  private String line(CollectReport report) {
    String unknown =
        report.unknown().objects() == 0
            ? ""
            : String.format(
                "%nkept for want of a known producer: %d objects of %s",
                report.unknown().objects(), ByteSize.format(report.unknown().bytes()));
    String failed =
        report.failedKeys() == 0
            ? ""
            : String.format(
                "%nnot deleted by the store: %d keys; run it again", report.failedKeys());
    return String.format(
            "horizon %d of %d steps (moved by %d) at version %d%n%s %d data objects of %s,"
                + " %d source states of %s, %d segments, %d announcements, %d versions trimmed; kept %d objects of %s;"
                + " %d requests",
            report.horizon(),
            report.nextStep(),
            report.movedSteps(),
            report.version(),
            dryRun ? "would delete" : "deleted",
            report.data().objects(),
            ByteSize.format(report.data().bytes()),
            report.sourceStates().objects(),
            ByteSize.format(report.sourceStates().bytes()),
            report.segments(),
            report.announcements(),
            report.tombstones(),
            report.kept().objects(),
            ByteSize.format(report.kept().bytes()),
            report.requests())
        + unknown
        + failed;
  }
}
