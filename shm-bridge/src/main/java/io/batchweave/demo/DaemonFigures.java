package io.batchweave.demo;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.batchweave.bridge.view.NodeMetrics;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * What the daemon did: its metrics, and the bytes its process wrote.
 *
 * @param metrics what it counted
 * @param writtenBytes {@code wchar} of {@code /proc/PID/io}
 */
record DaemonFigures(NodeMetrics metrics, long writtenBytes) {
  /** Reads {@code daemon.json}, the metrics it names, and the kernel's account of the process. */
  static DaemonFigures read(Path directory, long pid) throws IOException, InterruptedException {
    JsonNode daemon = new ObjectMapper().readTree(directory.resolve("daemon.json").toFile());
    NodeMetrics metrics = NodeMetrics.fetch(daemon.required("metrics").textValue());
    return new DaemonFigures(metrics, written(pid));
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
    return metrics.value(name);
  }
}
