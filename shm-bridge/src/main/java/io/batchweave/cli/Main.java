package io.batchweave.cli;

import io.batchweave.BatchWeaveException;
import io.batchweave.store.StoreSettings;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.UsageMessageSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.ScopeType;

/**
 * The command line. One class per command; a command parses, calls, prints, and holds no logic.
 *
 * <p>Exit codes: 0 done, 1 failed, 2 usage or configuration, 3 fenced (a supervisor must not
 * restart it). A user's mistake is one line on standard error, never a stack trace; {@code
 * --stack-trace} shows where an error came from.
 */
@Command(
    name = "batchweave",
    mixinStandardHelpOptions = true,
    versionProvider = Version.class,
    description = {
      "The data plane for training large models: whole batches committed to an object store, each",
      "step for all ranks or for none, prefetched into the shared memory of every GPU node."
    },
    subcommands = {
      DemoCommand.class,
      InitCommand.class,
      IngestCommand.class,
      ProduceCommand.class,
      SealCommand.class,
      ServeCommand.class,
      TopCommand.class,
      RankCommand.class,
      SessionCommand.class,
      CheckpointCommand.class,
      SkipCommand.class,
      ReclaimCommand.class,
      InspectCommand.class,
      ProbeCommand.class,
      VerifyCommand.class,
      SimulateCommand.class
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  ./batchweave demo",
      "  ./batchweave init file:/data/stream --dp 8",
      "  ./batchweave ingest file:/data/stream corpus/ --seq-len 2048 --global-batch 64 --seal",
      "  ./batchweave serve file:/data/stream --memory 4GiB",
      "  ./batchweave top",
      "  ./batchweave probe 's3://bucket/prefix?region=eu-central-1'",
      "  ./batchweave verify file:/data/stream --data",
      "  ./batchweave test    (every test; --help tells more)",
      "  ./batchweave bench   (figures beside their ceilings; --list names them)",
      "",
      "Exit codes: 0 done, 1 failed, 2 usage or configuration, 3 fenced (do not restart)."
    })
public final class Main {
  /** Exit code of a process that another one has replaced: a supervisor must not restart it. */
  static final int EXIT_FENCED = 3;

  @Option(
      names = "--stack-trace",
      scope = ScopeType.INHERIT,
      description = "On an error print where it came from.")
  private boolean stackTrace;

  private Main() {}

  /**
   * Runs a command and exits.
   *
   * @param args the command and its options
   */
  public static void main(String[] args) {
    PrintWriter out = new PrintWriter(System.out, true, StandardCharsets.UTF_8);
    PrintWriter err = new PrintWriter(System.err, true, StandardCharsets.UTF_8);
    System.exit(written(out, err, run(out, err, args)));
  }

  /** The exit code of a command whose output may have got lost: then it is not done. */
  static int written(PrintWriter out, PrintWriter err, int code) {
    if (!out.checkError() || code != ExitCode.OK) {
      return code;
    }
    err.println("batchweave: cannot write all of standard output; no space, or nobody reads it");
    return ExitCode.SOFTWARE;
  }

  /** Runs a command and returns its exit code. */
  static int run(PrintWriter out, PrintWriter err, String... args) {
    Main main = new Main();
    CommandLine line = new CommandLine(main);
    line.setOut(out);
    line.setErr(err);
    line.setCaseInsensitiveEnumValuesAllowed(true);
    line.setUsageHelpWidth(100);
    describeStores(line);
    line.setExecutionStrategy(Main::execute);
    line.setParameterExceptionHandler((error, arguments) -> usage(err, error));
    line.setExecutionExceptionHandler(
        (error, commandLine, result) -> failure(err, error, main.stackTrace));
    return args.length == 0 ? helpOf(line) : line.execute(args);
  }

  /** An empty value is a variable that a script forgot to set: it never means anything. */
  private static int execute(ParseResult parsed) {
    for (ParseResult at = parsed; at != null; at = at.subcommand()) {
      for (ArgSpec argument : at.matchedArgs()) {
        if (argument.stringValues().contains("")) {
          String name =
              argument instanceof OptionSpec option ? option.longestName() : argument.paramLabel();
          throw new ParameterException(
              at.commandSpec().commandLine(), name + " is empty; give it a value");
        }
      }
    }
    return new CommandLine.RunLast().execute(parsed);
  }

  private static void describeStores(CommandLine parent) {
    for (CommandLine command : parent.getSubcommands().values()) {
      if (command.getCommandSpec().mixins().containsKey(StreamArgument.MIXIN)
          || command.getCommand() instanceof ServeCommand) {
        describeStores(command.getCommandSpec().usageMessage());
      }
      describeStores(command);
    }
  }

  /** Every command that opens a store lists the settings of all stores at the end of its help. */
  private static void describeStores(UsageMessageSpec usage) {
    List<String> footer = new ArrayList<>(List.of(usage.footer()));
    footer.add("");
    footer.add("Settings of stores, in the URL's query or as a variable:");
    StoreSettings.describe().lines().map(setting -> "  " + setting).forEach(footer::add);
    usage.footer(footer.toArray(String[]::new));
  }

  private static int helpOf(CommandLine line) {
    line.usage(line.getOut());
    return ExitCode.USAGE;
  }

  private static int usage(PrintWriter err, ParameterException error) {
    String command = error.getCommandLine().getCommandSpec().qualifiedName();
    err.println(command + ": " + error.getMessage() + " (see " + command + " --help)");
    return ExitCode.USAGE;
  }

  private static int failure(PrintWriter err, Throwable error, boolean stackTrace) {
    Throwable cause = error;
    while ((cause instanceof CompletionException || cause instanceof ExecutionException)
        && cause.getCause() != null) {
      cause = cause.getCause();
    }
    if (stackTrace) {
      cause.printStackTrace(err);
    }
    if (cause instanceof BatchWeaveException known) {
      err.println("batchweave: " + known.getMessage());
      return switch (known.kind()) {
        case FENCED -> EXIT_FENCED;
        case CONFIG -> ExitCode.USAGE;
        default -> ExitCode.SOFTWARE;
      };
    }
    err.println(
        "batchweave: internal error: "
            + cause
            + (stackTrace ? "" : " (run it again with --stack-trace and report what it prints)"));
    return ExitCode.SOFTWARE;
  }
}
