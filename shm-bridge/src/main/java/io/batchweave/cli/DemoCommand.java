package io.batchweave.cli;

import io.batchweave.demo.Demo;
import io.batchweave.demo.DemoPlan;
import io.batchweave.demo.DemoSetup;
import io.batchweave.demo.PythonRanks;
import io.batchweave.demo.StopOnSignal;
import io.batchweave.demo.Verdict;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.Callable;
import org.agrona.concurrent.SystemNanoClock;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code demo [PATH…]}: the main job. */
@Command(
    name = "demo",
    mixinStandardHelpOptions = true,
    description = {
      "The whole path with real processes, two of them killed, and everything checked.",
      "Two producers ingest files, a daemon serves, four ranks read. Half-way one producer and one",
      "rank are killed with SIGKILL and started again. Ends with a table and a verdict: 0 if every",
      "promise was kept, 1 if not."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  ./batchweave demo",
      "  ./batchweave demo --s3 --with-torch",
      "  ./batchweave demo --store 's3://bucket/try?endpoint=http://127.0.0.1:9000' corpus/"
    })
final class DemoCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Parameters(
      arity = "0..*",
      paramLabel = "PATH",
      description = "What to ingest (default: the text files of this repository).")
  private List<String> inputs = List.of();

  @ArgGroup private @Nullable Place place;

  /** Read by the launcher, which makes the environment before this process starts. */
  @SuppressWarnings("UnusedVariable")
  @Option(
      names = "--with-torch",
      description = "Make the environment with PyTorch first (5.4 GB, once).")
  private boolean withTorch;

  @Option(names = "--keep", description = "Keep the working directory: store, reports, logs.")
  private boolean keep;

  /** Where the stream lies. */
  static final class Place {
    @Option(names = "--s3", description = "An S3 endpoint in this process, over loopback.")
    private boolean s3;

    @Option(
        names = "--store",
        paramLabel = "URL",
        description = "A new stream below this root (default: an embedded file store).")
    private @Nullable String url;
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    PrintWriter out = spec.commandLine().getOut();
    DemoSetup.Place where =
        place == null
            ? DemoSetup.Place.FILE
            : place.s3 ? DemoSetup.Place.LOCAL_S3 : DemoSetup.Place.URL;
    try (DemoSetup setup =
        DemoSetup.prepare(where, place == null ? null : place.url, inputs, System.getenv())) {
      DemoPlan plan = setup.plan();
      out.println("store   " + plan.storeUrl());
      out.println("input   " + setup.inputSummary());
      out.println("ranks   " + describe(plan.python()));
      Verdict verdict;
      try (Demo demo = new Demo(plan, out, SystemNanoClock.INSTANCE);
          StopOnSignal _ = new StopOnSignal(demo, setup)) {
        verdict = demo.run(setup.expectedSteps());
      }
      print(out, verdict);
      if (keep || !verdict.holds()) {
        setup.keep();
        out.println("kept    " + plan.workDirectory());
      }
      return verdict.holds() ? 0 : 1;
    }
  }

  private static String describe(PythonRanks python) {
    return switch (python.kind()) {
      case TORCH -> "two Java, two PyTorch (" + python.why() + ")";
      case PLAIN -> "two Java, two Python without torch (" + python.why() + ")";
      case JAVA -> "four Java (" + python.why() + ")";
    };
  }

  private static void print(PrintWriter out, Verdict verdict) {
    out.println();
    for (Verdict.Figure figure : verdict.figures()) {
      out.printf("%-20s %s%n", figure.name(), figure.value());
    }
    out.println();
    for (Verdict.Check check : verdict.checks()) {
      out.println(
          (check.holds() ? "ok      " : "FAILED  ")
              + check.promise()
              + (check.holds() ? "" : ": " + check.problem()));
    }
    out.println(
        verdict.holds() ? "VERDICT all promises kept" : "VERDICT broken promises, see above");
  }
}
