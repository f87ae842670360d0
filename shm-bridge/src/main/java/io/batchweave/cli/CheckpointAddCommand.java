package io.batchweave.cli;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.batchweave.client.Change;
import io.batchweave.client.Operator;
import io.batchweave.client.OperatorContext;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code checkpoint add URL GROUP ID STEP}. */
@Command(
    name = "add",
    mixinStandardHelpOptions = true,
    description = {
      "Keep the steps that a checkpoint needs until it is removed by hand.",
      "Neither does it push out the checkpoints that the job registers itself, nor they it.",
      "The same one again changes nothing; below the horizon it is refused with the horizon."
    },
    footerHeading = "%nExample:%n",
    footer = "  ./batchweave checkpoint add file:/data/stream pretrain before-decay 120000")
final class CheckpointAddCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private StreamArgument stream = new StreamArgument();
  @Mixin private OutputOption output = new OutputOption();

  @Parameters(index = "1", paramLabel = "GROUP", description = "The training job.")
  private String group = "";

  @Parameters(index = "2", paramLabel = "ID", description = "Name of the checkpoint.")
  private String id = "";

  @Parameters(
      index = "3",
      paramLabel = "STEP",
      description = "The next step to read when training goes on from it.")
  private long step;

  @Override
  public Integer call() {
    if (step < 0) {
      throw new ParameterException(spec.commandLine(), "steps count from 0: " + step);
    }
    try (StreamArgument.Opened opened = stream.openStream();
        Operator operator = Operator.open(new OperatorContext().store(opened.store()))) {
      Change change = operator.operatorPin(group, id, step);
      ObjectNode document =
          JsonDocument.create()
              .put("group", group)
              .put("checkpoint", id)
              .put("step", step)
              .put("added", change.made())
              .put("version", change.version());
      output.print(
          spec,
          document,
          (change.made() ? "added at version " + change.version() : "registered already")
              + ": group="
              + group
              + " checkpoint="
              + id
              + ", steps from "
              + step
              + " on are kept");
      return 0;
    }
  }
}
