package io.batchweave.benchmarks;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.crt.CRT;

/** What a figure was measured on. */
final class Machine {
  private static final String PEERS = "benchmarks/requirements-peers.txt";
  private static final List<String> LOADERS = List.of("torch", "mosaicml-streaming", "webdataset");

  private Machine() {}

  /** Processors, memory, kernel, JDK, commit, time; what the run could use, with its version. */
  static Map<String, String> facts() {
    Map<String, String> facts = new LinkedHashMap<>();
    facts.put(
        "machine",
        cpu()
            + ", "
            + Runtime.getRuntime().availableProcessors()
            + " cores, "
            + (number("/proc/meminfo", "MemTotal") >> 20)
            + " GiB");
    facts.put("system", System.getProperty("os.name") + " " + System.getProperty("os.version"));
    facts.put("JDK", Runtime.version().toString());
    facts.put("versions", versions());
    facts.put("commit", commit());
    facts.put("began", Instant.now().truncatedTo(ChronoUnit.SECONDS).toString());
    facts.put("load", load());
    return facts;
  }

  private static String versions() {
    List<String> versions = new ArrayList<>();
    versions.add("aws-crt " + Objects.requireNonNullElse(crt(), "?"));
    versions.add(LoopbackS3.installed());
    try {
      versions.add("Apache Kafka " + KafkaJars.clientVersion());
    } catch (IOException e) {
      versions.add("Apache Kafka ?");
    }
    for (String file : List.of("shm-bridge/python/requirements-test.txt", PEERS)) {
      read(PythonEnvironment.root().resolve(file).toString()).stream()
          .filter(line -> LOADERS.stream().anyMatch(name -> line.startsWith(name + "==")))
          .map(line -> line.replace("==", " "))
          .forEach(versions::add);
    }
    return String.join(", ", versions);
  }

  private static @Nullable String crt() {
    return CRT.class.getPackage().getImplementationVersion();
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
    try {
      Process git =
          new ProcessBuilder(
                  "git",
                  "-C",
                  PythonEnvironment.root().toString(),
                  "describe",
                  "--always",
                  "--dirty")
              .redirectError(ProcessBuilder.Redirect.DISCARD)
              .start();
      String answer = new String(git.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      return answer.isBlank() ? "unknown" : answer.trim();
    } catch (IOException e) {
      return "unknown";
    }
  }
}
