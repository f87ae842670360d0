package io.batchweave.bridge;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Another JVM that runs one class of the tests; spoken to by lines. */
public final class ChildJvm implements AutoCloseable {
  private final Process process;
  private final BufferedReader lines;
  private final PrintStream commands;

  private ChildJvm(Process process) {
    this.process = process;
    this.lines =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    this.commands = new PrintStream(process.getOutputStream(), true, StandardCharsets.UTF_8);
  }

  /**
   * Starts one.
   *
   * @param main has a main method
   * @param arguments given to it
   */
  public static ChildJvm start(Class<?> main, String... arguments) throws IOException {
    return new ChildJvm(
        new ProcessBuilder(command(List.of(), main, arguments))
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start());
  }

  /**
   * The command line of a small JVM that starts quickly and runs one class of the tests.
   *
   * @param options of the JVM, which overrule the usual ones
   * @param main has a main method
   * @param arguments given to it
   */
  public static List<String> command(List<String> options, Class<?> main, String... arguments) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(
        List.of(
            "--enable-native-access=ALL-UNNAMED",
            "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Xmx128m"));
    command.addAll(options);
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
    command.addAll(List.of(arguments));
    return command;
  }

  /** The next line that it prints; null when it has ended. */
  public @Nullable String line() throws IOException {
    return lines.readLine();
  }

  /** Gives it a line. */
  public void say(String line) {
    commands.println(line);
  }

  /** Its process id. */
  public long pid() {
    return process.pid();
  }

  /** Kills it as nothing can prevent, and waits until it is gone. */
  public void kill() throws InterruptedException {
    process.destroyForcibly();
    process.waitFor();
  }

  /** Waits until it ends by itself. */
  public int exitCode() throws InterruptedException {
    return process.waitFor(60, TimeUnit.SECONDS) ? process.exitValue() : -1;
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
