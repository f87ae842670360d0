package io.batchweave.benchmarks;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;

/** What a figure was measured on. */
final class Machine {
  private Machine() {}

  /** One line: processors, memory, kernel, JDK, commit, time. */
  static String describe() {
    return "machine: "
        + cpu()
        + ", "
        + Runtime.getRuntime().availableProcessors()
        + " cores, "
        + (number("/proc/meminfo", "MemTotal") >> 20)
        + " GiB, "
        + System.getProperty("os.name")
        + " "
        + System.getProperty("os.version")
        + ", JDK "
        + Runtime.version()
        + ", commit "
        + commit()
        + ", "
        + Instant.now().truncatedTo(ChronoUnit.SECONDS);
  }

  /** The load average of the last minute. */
  static String load() {
    return read("/proc/loadavg").stream().findFirst().map(Machine::firstWord).orElse("?");
  }

  private static String cpu() {
    return field("/proc/cpuinfo", "model name").orElse(System.getProperty("os.arch"));
  }

  private static String firstWord(String line) {
    int space = line.indexOf(' ');
    return space < 0 ? line : line.substring(0, space);
  }

  private static long number(String file, String name) {
    return field(file, name).map(value -> Long.parseLong(firstWord(value))).orElse(0L);
  }

  private static Optional<String> field(String file, String name) {
    return read(file).stream()
        .filter(line -> line.startsWith(name))
        .map(line -> line.substring(line.indexOf(':') + 1).trim())
        .findFirst();
  }

  private static List<String> read(String file) {
    try {
      return Files.readAllLines(Path.of(file), StandardCharsets.UTF_8);
    } catch (IOException e) {
      return List.of();
    }
  }

  private static String commit() {
    String root = System.getenv().getOrDefault("BATCHWEAVE_ROOT", ".");
    try {
      Process git =
          new ProcessBuilder("git", "-C", root, "describe", "--always", "--dirty")
              .redirectError(ProcessBuilder.Redirect.DISCARD)
              .start();
      String answer = new String(git.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      return answer.isBlank() ? "unknown" : answer.trim();
    } catch (IOException e) {
      return "unknown";
    }
  }
}
