package io.batchweave.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.batchweave.client.ReaderContext;
import io.batchweave.client.StreamReader;
import io.batchweave.log.GroupState;
import io.batchweave.log.SessionState;
import io.batchweave.log.State;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code session list URL}. */
@Command(
    name = "list",
    mixinStandardHelpOptions = true,
    description = "List the live launches, and the lowest step that each may still ask for.",
    footerHeading = "%nExamples:%n",
    footer = {
      "  ./batchweave session list file:/data/stream",
      "  ./batchweave session list file:/data/stream --json"
    })
final class SessionListCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private StreamArgument stream = new StreamArgument();
  @Mixin private OutputOption output = new OutputOption();

  @Override
  public Integer call() {
    try (StreamArgument.Opened opened = stream.openStream();
        StreamReader reader = StreamReader.open(new ReaderContext().store(opened.store()))) {
      State state = reader.refresh(StreamArgument.TIMEOUT_NS);
      ObjectNode document = StreamArgument.describe(opened, state);
      ArrayNode rows = document.putArray("sessions");
      for (String name : state.groups()) {
        GroupState group = state.group(name);
        SessionState session = group.session();
        if (session != null) {
          rows.addObject()
              .put("group", name)
              .put("session", session.sessionId())
              .put("view", session.view())
              .put("startStep", session.startStep())
              .put("lastPin", session.lastPin() < 0 ? "none" : Long.toString(session.lastPin()))
              .put("protectsFrom", session.protectedStep());
        }
      }
      output.print(spec, document);
      return 0;
    }
  }
}
