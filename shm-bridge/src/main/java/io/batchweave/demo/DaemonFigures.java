package io.batchweave.demo;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

/**
 * What the daemon did: its metrics by name (labels summed up), and the bytes its process wrote.
 *
 * @param metrics value by name
 * @param writtenBytes {@code wchar} of {@code /proc/PID/io}
 */
record DaemonFigures(Map<String, Double> metrics, long writtenBytes) {
  DaemonFigures {
    metrics = Map.copyOf(metrics);
  }

  /** Reads {@code daemon.json}, the metrics it names, and the kernel's account of the process. */
  static DaemonFigures read(Path directory, long pid) throws IOException, InterruptedException {
    JsonNode daemon = new ObjectMapper().readTree(directory.resolve("daemon.json").toFile());
    URI metrics = URI.create(daemon.required("metrics").textValue());
    try (HttpClient client = HttpClient.newHttpClient()) {
      HttpRequest request = HttpRequest.newBuilder(metrics).timeout(Duration.ofSeconds(10)).build();
      String text = client.send(request, HttpResponse.BodyHandlers.ofString()).body();
      return new DaemonFigures(parse(text), written(pid));
    }
  }

  private static Map<String, Double> parse(String text) {
    Map<String, Double> values = new HashMap<>();
    text.lines()
        .filter(line -> !line.startsWith("#") && !line.isBlank())
        .forEach(line -> {
          int space = line.lastIndexOf(' ');
          int brace = line.indexOf('{');
          String name = line.substring(0, brace < 0 ? space : Math.min(brace, space));
          values.merge(name, Double.valueOf(line.substring(space + 1)), Double::sum);
        });
    return values;
  }

  private static long written(long pid) throws IOException {
    return Files.readString(Path.of("/proc", String.valueOf(pid), "io"))
        .lines()
        .filter(line -> line.startsWith("wchar:"))
        .mapToLong(line -> Long.parseLong(line.substring("wchar:".length()).strip()))
        .sum();
  }

  /** A metric's value; 0 if there is none of that name. */
  double value(String name) {
    return metrics.getOrDefault(name, 0.0);
  }
}
