package io.batchweave.cli;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.batchweave.client.Change;
import io.batchweave.client.Operator;
import io.batchweave.client.OperatorContext;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code checkpoint remove URL GROUP ID}. */
@Command(
    name = "remove",
    mixinStandardHelpOptions = true,
    description = {
      "Remove a checkpoint, whoever registered it: no step is kept for it any more.",
      "Nothing is deleted by this command. Removing one that is not there changes nothing."
    },
    footerHeading = "%nExample:%n",
    footer = "  ./batchweave checkpoint remove file:/data/stream pretrain before-decay")
final class CheckpointRemoveCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private StreamArgument stream = new StreamArgument();
  @Mixin private OutputOption output = new OutputOption();

  @Parameters(index = "1", paramLabel = "GROUP", description = "The training job.")
  private String group = "";

  @Parameters(index = "2", paramLabel = "ID", description = "Name of the checkpoint.")
  private String id = "";

  @Override
  public Integer call() {
    try (StreamArgument.Opened opened = stream.openStream();
        Operator operator = Operator.open(new OperatorContext().store(opened.store()))) {
      Change change = operator.unpin(group, id);
      ObjectNode document =
          JsonDocument.create()
              .put("group", group)
              .put("checkpoint", id)
              .put("removed", change.made())
              .put("version", change.version());
      output.print(
          spec,
          document,
          (change.made() ? "removed at version " + change.version() : "not there, nothing removed")
              + ": group="
              + group
              + " checkpoint="
              + id);
      return 0;
    }
  }
}
