package io.batchweave.benchmarks;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A Python with torch and this project's package, and programs of the benchmarks that run in it.
 *
 * @param python the interpreter
 */
record PythonEnvironment(Path python) {
  /** The cache where environments of this project lie. */
  static Path cache() {
    return Path.of(
        setting("BATCHWEAVE_CACHE", System.getProperty("user.home") + "/.cache/batchweave"));
  }

  /** The root of this repository. */
  static Path root() {
    return Path.of(setting("BATCHWEAVE_ROOT", "."));
  }

  /**
   * The environment that the launcher made and names; without a launcher one that lies there.
   *
   * @throws IOException if there is none; the message says how to make it
   */
  static PythonEnvironment find() throws IOException {
    String named = setting("BATCHWEAVE_PYTHON", "");
    if (!named.isEmpty()) {
      return new PythonEnvironment(Path.of(named));
    }
    Path found = found(cache());
    if (found == null) {
      throw new IOException(
          "no Python with torch: ./batchweave bench makes it; what it said of that stands above");
    }
    return new PythonEnvironment(found);
  }

  private static @Nullable Path found(Path cache) throws IOException {
    if (!Files.isDirectory(cache)) {
      return null;
    }
    try (Stream<Path> entries = Files.list(cache)) {
      return entries
          .filter(entry -> entry.getFileName().toString().startsWith("python-"))
          .filter(entry -> Files.exists(entry.resolve("complete")))
          .map(entry -> entry.resolve("bin/python"))
          .findFirst()
          .orElse(null);
    }
  }

  private static String setting(String name, String otherwise) {
    String value = System.getenv(name);
    return value == null || value.isEmpty() ? otherwise : value;
  }

  /** Builds the extension in place, where that has not been done. */
  void buildExtension(BenchRun run) throws IOException, InterruptedException {
    ProcessBuilder build =
        new ProcessBuilder(python.toString(), "setup.py", "-q", "build_ext", "--inplace")
            .directory(root().resolve("shm-bridge/python").toFile());
    lines(build).forEach(line -> run.say("  " + line));
  }

  /**
   * A program of this module that can import the package.
   *
   * @param name its file
   * @param arguments for it
   */
  ProcessBuilder program(String name, String... arguments) {
    List<String> command = new ArrayList<>();
    command.add(python.toString());
    command.add(root().resolve("benchmarks/src/main/python").resolve(name).toString());
    command.addAll(List.of(arguments));
    ProcessBuilder builder = new ProcessBuilder(command);
    builder
        .environment()
        .put("PYTHONPATH", root().resolve("shm-bridge/python/src").toAbsolutePath().toString());
    builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
    return builder;
  }

  /**
   * Runs a program to its end.
   *
   * @return the lines it printed
   * @throws IOException if it failed; with what it said
   */
  static List<String> lines(ProcessBuilder builder) throws IOException, InterruptedException {
    List<String> lines = new ArrayList<>();
    run(builder, lines::add);
    return lines;
  }

  /**
   * Runs a program to its end.
   *
   * @param heard told each line that it prints
   * @throws IOException if it failed; with what it said
   */
  static void run(ProcessBuilder builder, Consumer<String> heard)
      throws IOException, InterruptedException {
    Path errors = Files.createTempFile("batchweave-bench-", ".err");
    Process process = null;
    try {
      process = ChildProcess.start(builder.redirectError(errors.toFile()));
      try (BufferedReader out =
          new BufferedReader(
              new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
        out.lines().forEach(heard);
      }
      int exit = process.waitFor();
      if (exit != 0) {
        throw new IOException(
            "a Python program ended: exit=" + exit + " said=" + Files.readString(errors));
      }
    } finally {
      if (process != null) {
        ChildProcess.end(process);
      }
      Files.delete(errors);
    }
  }
}
