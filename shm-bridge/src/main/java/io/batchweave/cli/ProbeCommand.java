package io.batchweave.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.file.NewFolders;
import io.batchweave.store.probe.Probe;
import io.batchweave.store.probe.ProbeCheck;
import io.batchweave.store.probe.ProbePlan;
import io.batchweave.store.probe.ProbeReport;
import java.io.PrintWriter;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.agrona.concurrent.SystemNanoClock;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code probe URL [--quick]}. */
@Command(
    name = "probe",
    mixinStandardHelpOptions = true,
    description = {
      "Find out whether a store keeps what commits rely on.",
      "Many connections create one key at the same instant, hundreds of times: exactly one may",
      "win. Then reads, lists, ranges, uploads.",
      "What it writes has keys under probe/ and is removed at the end.",
      "Exit code 1 if the store must not be used."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  ./batchweave probe 's3://bucket/prefix?region=eu-central-1'",
      "  ./batchweave probe file:/mnt/shared/stream --quick",
      "  ./batchweave probe 's3://bucket/p?endpoint=http://127.0.0.1:9000' --json"
    })
final class ProbeCommand implements Callable<Integer> {
  private static final ObjectMapper JSON = new ObjectMapper();

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private StreamArgument stream = new StreamArgument();

  @Option(
      names = "--quick",
      description = "100 rounds of the create race instead of 920, and say what that may miss.")
  private boolean quick;

  @Option(names = "--rounds", description = "Rounds of the create race (default 920).")
  private @Nullable Integer rounds;

  @Option(names = "--connections", description = "Connections that race, 2 to 64 (default 16).")
  private int connections = ProbePlan.FULL.connections();

  @Option(names = "--json", description = "Print JSON, one document.")
  private boolean json;

  @Override
  public Integer call() throws JsonProcessingException {
    ProbePlan plan = plan();
    PrintWriter out = spec.commandLine().getOut();
    PrintWriter progress = json ? spec.commandLine().getErr() : out;
    ObjectStore store = stream.open();
    Probe probe = new Probe(store, plan, SystemNanoClock.INSTANCE, progress::println);
    try (NewFolders _ = NewFolders.before(store.url(), probe.prefix());
        store) {
      progress.println("probing " + store.url() + " under " + probe.prefix());
      ProbeReport report = probe.run();
      if (json) {
        out.println(JSON.writerWithDefaultPrettyPrinter().writeValueAsString(document(report)));
      } else {
        print(out, report);
      }
      return report.sound() ? 0 : 1;
    }
  }

  private ProbePlan plan() {
    ProbePlan base = quick ? ProbePlan.QUICK : ProbePlan.FULL;
    try {
      return new ProbePlan(rounds == null ? base.rounds() : rounds, connections, base.scope());
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), e.getMessage(), e);
    }
  }

  private static void print(PrintWriter out, ProbeReport report) {
    TextTable table = new TextTable("check", "verdict", "what was seen");
    for (ProbeCheck check : report.checks()) {
      table.row(check.name(), check.verdict(), check.detail());
    }
    table.print(out);
    out.println(
        report.sound()
            ? "verdict: streams can live here"
            : "verdict: NO STREAM MAY LIVE HERE (see the checks that failed)");
  }

  private static ObjectNode document(ProbeReport report) {
    ObjectNode document = JSON.createObjectNode();
    document.put("url", report.url());
    document.put("sound", report.sound());
    ArrayNode checks = document.putArray("checks");
    for (ProbeCheck check : report.checks()) {
      checks
          .addObject()
          .put("check", check.name())
          .put("verdict", check.verdict().name().toLowerCase(Locale.ROOT))
          .put("detail", check.detail());
    }
    return document;
  }
}
