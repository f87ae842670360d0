package io.batchweave.demo;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** One process of the demo: its command, its output in a file, SIGKILL, and a new start. */
final class ChildProcess {
  private final String name;
  private final List<String> command;
  private final Map<String, String> environment;
  private final Path log;
  private Process process;

  /** Starts it. Output of every start goes to the end of the same file. */
  ChildProcess(String name, List<String> command, Map<String, String> environment, Path directory)
      throws IOException {
    this.name = name;
    this.command = List.copyOf(command);
    this.environment = Map.copyOf(environment);
    this.log = directory.resolve(name + ".log");
    this.process = launch();
  }

  /** A command line that runs another command of this program in a JVM like this one. */
  static List<String> batchweave(Path root, String... arguments) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("@" + root.resolve("shm-bridge/jvm.flags"));
    command.addAll(List.of("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.add("io.batchweave.cli.Main");
    command.addAll(List.of(arguments));
    return command;
  }

  private Process launch() throws IOException {
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().putAll(environment);
    return builder
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
        .start();
  }

  String name() {
    return name;
  }

  long pid() {
    return process.pid();
  }

  boolean alive() {
    return process.isAlive();
  }

  /** Sends SIGKILL and waits until the process is gone; false if it had ended by itself before. */
  boolean kill() throws InterruptedException {
    boolean wasAlive = process.isAlive();
    process.destroyForcibly().waitFor();
    return wasAlive && process.exitValue() == 128 + 9;
  }

  /** Starts the same command again. */
  void restart() throws IOException {
    process = launch();
  }

  /** Asks the process to end. */
  void askToEnd() {
    process.destroy();
  }

  /** Asks the process to end and waits a while; then kills it. */
  void stop() {
    process.destroy();
    try {
      if (!process.waitFor(10, TimeUnit.SECONDS)) {
        process.destroyForcibly().waitFor();
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }

  /** The exit code of a process that has ended. */
  int exitCode() {
    return process.exitValue();
  }

  /** The last lines it printed. */
  String tail() {
    try {
      List<String> lines = Files.readString(log, StandardCharsets.UTF_8).lines().toList();
      return String.join(
          System.lineSeparator(), lines.subList(Math.max(0, lines.size() - 8), lines.size()));
    } catch (IOException e) {
      return "(no output: " + e.getMessage() + ")";
    }
  }
}
