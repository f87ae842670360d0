package io.batchweave.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.batchweave.store.ObjectStore;
import io.batchweave.verify.Depth;
import io.batchweave.verify.Finding;
import io.batchweave.verify.Verifier;
import io.batchweave.verify.VerifyReport;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import org.agrona.concurrent.SystemNanoClock;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code verify URL [--data]}. */
@Command(
    name = "verify",
    mixinStandardHelpOptions = true,
    description = {
      "Check a whole stream: every invariant, and that every batch is there.",
      "Folds every version from the first on, compares snapshots and segments with it, and looks",
      "at every batch that may still be read. Only reads; may run beside producers.",
      "Exit code 0 if the stream is sound, 1 if something is wrong."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  ./batchweave verify file:/data/stream",
      "  ./batchweave verify file:/data/stream --data",
      "  ./batchweave verify 's3://bucket/run7?region=eu-central-1' --json"
    })
final class VerifyCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private StreamArgument stream = new StreamArgument();
  @Mixin private OutputOption output = new OutputOption();

  @Option(
      names = "--data",
      description = "Also read every byte: slices, footers and source states by their checksums.")
  private boolean data;

  @Override
  public Integer call() {
    PrintWriter out = spec.commandLine().getOut();
    PrintWriter progress = output.json() ? spec.commandLine().getErr() : out;
    try (ObjectStore store = stream.open()) {
      Depth depth = data ? Depth.BYTES : Depth.LENGTHS;
      VerifyReport report =
          new Verifier(store, depth, SystemNanoClock.INSTANCE, progress::println).run();
      if (output.json()) {
        output.print(spec, document(report, store.url()));
      } else {
        print(out, report, store.url());
      }
      return report.sound() ? 0 : 1;
    }
  }

  private static void print(PrintWriter out, VerifyReport report, String url) {
    report.notes().forEach(note -> out.println("note: " + note));
    for (Finding finding : report.findings()) {
      out.println("WRONG: " + finding.object() + ": " + finding.problem());
    }
    out.printf(
        "stream %s at %s: versions %d to %d, steps %d to %d, %d snapshots, %d segments,"
            + " %d data objects, %s of data read%n",
        report.streamId(),
        url,
        report.firstVersion(),
        report.headVersion(),
        report.horizon(),
        report.nextStep(),
        report.snapshots(),
        report.segments(),
        report.dataObjects(),
        ByteSize.format(report.dataBytes()));
    out.printf(
        "nothing names %d objects of %s (not committed, replaced, or to be reclaimed)%n",
        report.orphans(), ByteSize.format(report.orphanBytes()));
    out.println(
        report.sound() ? "sound" : "NOT SOUND: " + report.findingCount() + " findings, see above");
  }

  private static ObjectNode document(VerifyReport report, String url) {
    ObjectNode document = JsonDocument.create();
    document.put("stream", report.streamId().toString());
    document.put("url", url);
    document.put("sound", report.sound());
    document.put("firstVersion", report.firstVersion());
    document.put("headVersion", report.headVersion());
    document.put("horizon", report.horizon());
    document.put("steps", report.nextStep());
    document.put("snapshots", report.snapshots());
    document.put("segments", report.segments());
    document.put("dataObjects", report.dataObjects());
    document.put("dataBytes", report.dataBytes());
    document.put("orphans", report.orphans());
    document.put("orphanBytes", report.orphanBytes());
    document.put("findingCount", report.findingCount());
    ArrayNode findings = document.putArray("findings");
    for (Finding finding : report.findings()) {
      findings.addObject().put("object", finding.object()).put("problem", finding.problem());
    }
    ArrayNode notes = document.putArray("notes");
    report.notes().forEach(notes::add);
    return document;
  }
}
