package io.batchweave.cli;

import io.batchweave.client.Operator;
import io.batchweave.client.OperatorContext;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code seal URL}. */
@Command(
    name = "seal",
    mixinStandardHelpOptions = true,
    description = {
      "End a stream: after its last step ranks stop instead of waiting.",
      "Sealing a sealed stream changes nothing."
    },
    footerHeading = "%nExample:%n",
    footer = "  ./batchweave seal file:/data/stream")
final class SealCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private StreamArgument stream = new StreamArgument();

  @Override
  public Integer call() {
    try (StreamArgument.Opened opened = stream.openStream();
        Operator operator = Operator.open(new OperatorContext().store(opened.store()))) {
      long steps = operator.seal();
      spec.commandLine().getOut().println("sealed at " + steps + " steps: " + opened.store().url());
      return 0;
    }
  }
}
