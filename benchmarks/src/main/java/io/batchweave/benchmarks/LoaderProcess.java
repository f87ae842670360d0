package io.batchweave.benchmarks;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.ObjectMapper;

/** A Python process with one loader, which makes a pass over the steps when it is told to. */
final class LoaderProcess implements AutoCloseable {
  private static final long END_TIMEOUT_S = 10;

  private final ObjectMapper json = new ObjectMapper();
  private final String name;
  private final Path errors;
  private final Process process;
  private final BufferedReader out;
  private final BufferedWriter in;

  /**
   * Starts one; it may still be importing when this returns.
   *
   * @param python where the loader is installed
   * @param name of the loader
   * @param settings a file
   * @param environment credentials of the store
   * @param work where its files go
   */
  LoaderProcess(
      PythonEnvironment python,
      String name,
      Path settings,
      Map<String, String> environment,
      Path work)
      throws IOException {
    this.name = name;
    errors = work.resolve(name + ".err");
    ProcessBuilder builder = python.program("peers.py", name, settings.toString());
    builder.environment().putAll(environment);
    builder.environment().put("TMPDIR", work.toString());
    process = ChildProcess.start(builder.redirectError(errors.toFile()));
    out = process.inputReader(StandardCharsets.UTF_8);
    in = process.outputWriter(StandardCharsets.UTF_8);
  }

  String name() {
    return name;
  }

  /** Waits until it can begin. */
  void awaitReady() throws IOException, InterruptedException {
    answer();
  }

  /**
   * One pass over all steps.
   *
   * @param how {@code cold} or {@code warm}
   */
  JsonNode pass(String how) throws IOException, InterruptedException {
    in.write(how + "\n");
    in.flush();
    return answer();
  }

  private JsonNode answer() throws IOException, InterruptedException {
    String line = out.readLine();
    if (line == null) {
      int exit = process.waitFor();
      throw new IOException(
          "a loader ended: loader=%s exit=%d said=%s"
              .formatted(name, exit, Files.readString(errors)));
    }
    return json.readTree(line);
  }

  /** Its workers end with it. */
  @Override
  public void close() {
    try {
      in.close();
      if (!process.waitFor(END_TIMEOUT_S, TimeUnit.SECONDS)) {
        ChildProcess.end(process);
        process.waitFor();
      }
    } catch (IOException e) {
      ChildProcess.end(process); // it is gone already, or as good as that
    } catch (InterruptedException e) {
      ChildProcess.end(process);
      Thread.currentThread().interrupt();
    }
  }
}
