package io.batchweave.cli;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.batchweave.client.Change;
import io.batchweave.client.Operator;
import io.batchweave.client.OperatorContext;
import io.batchweave.format.Limits;
import io.batchweave.log.SessionState;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code session end URL GROUP [SESSION]}. */
@Command(
    name = "end",
    mixinStandardHelpOptions = true,
    description = {
      "End a launch: it keeps no steps any more; the checkpoints of its group do.",
      "A launch that still runs may find its steps reclaimed. Ending none changes nothing."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  ./batchweave session end file:/data/stream pretrain",
      "  ./batchweave session end file:/data/stream pretrain run-7"
    })
final class SessionEndCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private StreamArgument stream = new StreamArgument();
  @Mixin private OutputOption output = new OutputOption();

  @Parameters(index = "1", paramLabel = "GROUP", description = "The training job.")
  private String group = "";

  @Parameters(
      index = "2",
      arity = "0..1",
      paramLabel = "SESSION",
      description = "Its launch; without it the one that is live now.")
  private @Nullable String session;

  @Override
  public Integer call() {
    if (!Limits.NAME_PATTERN.matcher(group).matches()) {
      throw new ParameterException(
          spec.commandLine(), "GROUP is 1 to 64 characters of a-z, 0-9 and -: " + group);
    }
    try (StreamArgument.Opened opened = stream.openStream();
        Operator operator = Operator.open(new OperatorContext().store(opened.store()))) {
      SessionState live = operator.state().group(group).session();
      String named = session;
      String id = named != null ? named : live == null ? null : live.sessionId();
      ObjectNode document = JsonDocument.create().put("group", group).put("session", id);
      if (id == null) {
        document.put("ended", false);
        output.print(spec, document, "no live session: group=" + group);
        return 0;
      }
      Change change = operator.endSession(group, id);
      document.put("ended", change.made()).put("version", change.version());
      String what = "group=" + group + " session=" + id;
      output.print(
          spec,
          document,
          change.made()
              ? "ended at version " + change.version() + ": " + what
              : "not live, nothing to end: "
                  + what
                  + (live == null ? "" : " live=" + live.sessionId()));
      return 0;
    }
  }
}
