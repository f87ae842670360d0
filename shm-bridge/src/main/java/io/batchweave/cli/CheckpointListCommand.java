package io.batchweave.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.batchweave.client.ReaderContext;
import io.batchweave.client.StreamReader;
import io.batchweave.log.PinState;
import io.batchweave.log.State;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code checkpoint list URL}. */
@Command(
    name = "list",
    mixinStandardHelpOptions = true,
    description = "List the checkpoints that steps are kept for, and who registered them.",
    footerHeading = "%nExamples:%n",
    footer = {
      "  ./batchweave checkpoint list file:/data/stream",
      "  ./batchweave checkpoint list file:/data/stream --json"
    })
final class CheckpointListCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private StreamArgument stream = new StreamArgument();
  @Mixin private OutputOption output = new OutputOption();

  @Override
  public Integer call() {
    try (StreamArgument.Opened opened = stream.openStream();
        StreamReader reader = StreamReader.open(new ReaderContext().store(opened.store()))) {
      State state = reader.refresh(StreamArgument.TIMEOUT_NS);
      ObjectNode document = StreamArgument.describe(opened, state);
      ArrayNode rows = document.putArray("checkpoints");
      for (String group : state.groups()) {
        for (PinState pin : state.group(group).pins()) {
          rows.addObject()
              .put("group", group)
              .put("checkpoint", pin.id())
              .put("step", pin.step())
              .put("by", pin.byOperator() ? "operator" : "session of version " + pin.view());
        }
      }
      output.print(spec, document);
      return 0;
    }
  }
}
