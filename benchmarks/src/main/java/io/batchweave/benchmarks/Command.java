package io.batchweave.benchmarks;

import io.batchweave.cli.Main;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Commands of BatchWeave, each in a JVM of its own, as users run them. */
final class Command {
  private static final long END_TIMEOUT_S = 120;

  private Command() {}

  /**
   * The line that runs a command.
   *
   * @param arguments its name and what follows
   */
  static List<String> line(String... arguments) {
    return line(List.of(), arguments);
  }

  /**
   * The line that runs a command.
   *
   * @param flags more of them for its JVM
   * @param arguments its name and what follows
   */
  static List<String> line(List<String> flags, String... arguments) {
    return SameJvm.line(flags, Main.class, arguments);
  }

  /**
   * Makes a stream of text; a step has 8 sequences of 256 tokens.
   *
   * @param url of it
   * @param folder where the text may lie
   * @param dp its data-parallel size
   * @param lines of the text, of three words
   * @throws IOException if that fails
   */
  static void makeStream(String url, Path folder, int dp, int lines)
      throws IOException, InterruptedException {
    Path text = Files.writeString(folder.resolve("a.txt"), "a few words\n".repeat(lines));
    Path nothing = Path.of("/dev/null");
    run(Map.of(), nothing, "init", url, "--dp", Integer.toString(dp));
    run(
        Map.of(),
        nothing,
        "ingest",
        url,
        text.toString(),
        "--seq-len",
        "256",
        "--global-batch",
        "8");
  }

  /**
   * Runs a command to its end.
   *
   * @param environment more variables for it
   * @param input a file that it reads, or {@code /dev/null}
   * @param arguments its name and what follows
   * @throws IOException if it fails; with what it said
   */
  static void run(Map<String, String> environment, Path input, String... arguments)
      throws IOException, InterruptedException {
    Path said = Files.createTempFile("batchweave-bench-", ".out");
    ProcessBuilder builder =
        new ProcessBuilder(line(arguments))
            .redirectInput(input.toFile())
            .redirectErrorStream(true)
            .redirectOutput(said.toFile());
    builder.environment().putAll(environment);
    Process process = ChildProcess.start(builder);
    try {
      if (!process.waitFor(END_TIMEOUT_S, TimeUnit.SECONDS) || process.exitValue() != 0) {
        throw new IOException(
            "a command failed: command=" + arguments[0] + " said=" + Files.readString(said));
      }
    } finally {
      process.destroyForcibly();
      Files.delete(said);
    }
  }
}
