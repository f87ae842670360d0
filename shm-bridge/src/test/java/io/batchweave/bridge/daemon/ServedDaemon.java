package io.batchweave.bridge.daemon;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.batchweave.bridge.ChildJvm;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;

/** A daemon in a process of its own, to be killed and stopped by real signals. */
final class ServedDaemon implements AutoCloseable {
  private final Path directory;
  private final Process process;
  private final Queue<String> lines = new ConcurrentLinkedQueue<>();

  private ServedDaemon(Path directory, Process process) {
    this.directory = directory;
    this.process = process;
    Thread.ofPlatform().daemon().start(this::collect);
  }

  /** Starts one; it may take a while until it serves. */
  static ServedDaemon start(Path directory, String url, long memoryBytes, String... jvmOptions)
      throws IOException {
    List<String> command =
        ChildJvm.command(
            List.of(jvmOptions),
            ServeMain.class,
            directory.toString(),
            url,
            Long.toString(memoryBytes));
    return new ServedDaemon(
        directory, new ProcessBuilder(command).redirectErrorStream(true).start());
  }

  /** Starts one and waits until it serves. */
  static ServedDaemon serving(Path directory, String url, long memoryBytes) throws IOException {
    return start(directory, url, memoryBytes).awaitServing();
  }

  ServedDaemon awaitServing() {
    return awaitServing(DaemonFixture.SOON_NS);
  }

  /** A large ring takes its time to allocate. One that does not serve in time is killed. */
  ServedDaemon awaitServing(long timeoutNs) {
    boolean serves = false;
    try {
      DaemonFixture.await(
          "serving: " + lines,
          () -> !process.isAlive() || lines.stream().anyMatch(line -> line.startsWith("serving: ")),
          timeoutNs);
      assertTrue(process.isAlive(), () -> "ended: " + lines);
      serves = true;
      return this;
    } finally {
      if (!serves) {
        process.destroyForcibly();
      }
    }
  }

  private void collect() {
    try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
      for (String line = out.readLine(); line != null; line = out.readLine()) {
        lines.add(line);
      }
    } catch (IOException e) {
      lines.add(String.valueOf(e.getMessage()));
    }
  }

  /** What it has said so far. */
  List<String> lines() {
    return List.copyOf(lines);
  }

  long pid() {
    return process.pid();
  }

  boolean isAlive() {
    return process.isAlive();
  }

  /** The sum of a metric over all its labels; -1 while it cannot be asked. */
  double metric(String name) {
    return metric(name, "");
  }

  /** The same over the labels with a text in them. */
  double metric(String name, String label) {
    String all = metrics();
    return all.isEmpty()
        ? -1
        : all.lines()
            .filter(line -> line.startsWith(name + " ") || line.startsWith(name + "{"))
            .filter(line -> line.contains(label))
            .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
            .sum();
  }

  /** All metrics; empty while they cannot be asked. */
  String metrics() {
    try (HttpClient http = HttpClient.newHttpClient()) {
      String url =
          new ObjectMapper()
              .readTree(directory.resolve("daemon.json").toFile())
              .required("metrics")
              .textValue();
      HttpResponse<String> answer =
          http.send(
              HttpRequest.newBuilder(URI.create(url)).build(),
              HttpResponse.BodyHandlers.ofString());
      return answer.body();
    } catch (IOException e) {
      return "";
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return "";
    }
  }

  /** Sends a signal by its name. */
  void signal(String name) {
    signal(process, name);
  }

  static void signal(Process process, String name) {
    try {
      assertTrue(
          new ProcessBuilder("kill", "-" + name, Long.toString(process.pid()))
                  .inheritIO()
                  .start()
                  .waitFor()
              == 0);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** Kills it as nothing can prevent, and waits until it is gone. */
  void kill() {
    process.destroyForcibly();
    awaitEnd();
  }

  /** Waits until it has ended. */
  int awaitEnd() {
    try {
      assertTrue(process.waitFor(60, TimeUnit.SECONDS), () -> "still there: " + lines);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
    return process.exitValue();
  }

  /** Stops it in good order. */
  @Override
  public void close() {
    if (process.isAlive()) {
      signal("CONT");
      process.destroy();
      awaitEnd();
    }
  }
}
