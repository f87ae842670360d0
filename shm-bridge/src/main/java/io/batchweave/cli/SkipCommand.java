package io.batchweave.cli;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.batchweave.client.Change;
import io.batchweave.client.Operator;
import io.batchweave.client.OperatorContext;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code skip URL FROM..TO}. */
@Command(
    name = "skip",
    mixinStandardHelpOptions = true,
    description = {
      "Pass over steps: launches that start from now on do not see them, on all ranks alike.",
      "A launch that runs already is not changed. A skip cannot be taken back."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  ./batchweave skip file:/data/stream 1000..1020   (20 steps, 1000 to 1019)",
      "  ./batchweave skip file:/data/stream 1000         (this step alone)"
    })
final class SkipCommand implements Callable<Integer> {
  private static final Pattern STEPS = Pattern.compile("([0-9]{1,18})(?:\\.\\.([0-9]{1,18}))?");

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private StreamArgument stream = new StreamArgument();
  @Mixin private OutputOption output = new OutputOption();

  @Parameters(
      index = "1",
      paramLabel = "FROM..TO",
      description = "First step, and the one after the last; or a single step.")
  private String steps = "";

  @Override
  public Integer call() {
    Matcher matcher = STEPS.matcher(steps);
    if (!matcher.matches()) {
      throw new ParameterException(
          spec.commandLine(), "not a range of steps: " + steps + ", write it like 1000..1020");
    }
    long from = Long.parseLong(matcher.group(1));
    long to = matcher.group(2) == null ? from + 1 : Long.parseLong(matcher.group(2));
    try (StreamArgument.Opened opened = stream.openStream();
        Operator operator = Operator.open(new OperatorContext().store(opened.store()))) {
      Change change = operator.skip(from, to);
      ObjectNode document =
          JsonDocument.create()
              .put("from", from)
              .put("to", to)
              .put("skipped", change.made())
              .put("version", change.version());
      output.print(
          spec,
          document,
          (change.made() ? "skipped at version " : "skipped already at version ")
              + change.version()
              + ": "
              + (to - from)
              + " steps, "
              + from
              + " to "
              + (to - 1)
              + ", for launches that start from there on");
      return 0;
    }
  }
}
