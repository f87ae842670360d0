package io.batchweave.cli;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.PrintWriter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;

/** {@code --json}: what a command says, for programs. */
final class OutputOption {
  @Option(names = "--json", description = "Print JSON, one document.")
  private boolean json;

  boolean json() {
    return json;
  }

  /** Prints the whole document. */
  void print(CommandSpec spec, ObjectNode document) {
    PrintWriter out = spec.commandLine().getOut();
    if (json) {
      JsonDocument.printJson(out, document);
    } else {
      JsonDocument.printText(out, document);
    }
  }

  /** Prints the document, or for people the one line that says it all. */
  void print(CommandSpec spec, ObjectNode document, String line) {
    if (json) {
      print(spec, document);
    } else {
      spec.commandLine().getOut().println(line);
    }
  }
}
