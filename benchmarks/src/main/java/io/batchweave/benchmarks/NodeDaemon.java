package io.batchweave.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** A node daemon in a process of its own, which serves when this is there. */
final class NodeDaemon implements AutoCloseable {
  private static final long START_TIMEOUT_NS = TimeUnit.SECONDS.toNanos(60);
  private static final long STOP_TIMEOUT_S = 20;

  private final Process process;

  private NodeDaemon(Process process) {
    this.process = process;
  }

  /**
   * Starts one.
   *
   * @param environment credentials of the store
   * @param url the stream
   * @param directory on a tmpfs
   * @param memory length of its ring
   * @throws IOException if it does not serve
   */
  static NodeDaemon start(
      Map<String, String> environment, String url, Path directory, String memory)
      throws IOException {
    return start(List.of(), environment, url, directory, memory);
  }

  /**
   * Starts one.
   *
   * @param flags more of them for its JVM
   * @param environment credentials of the store
   * @param url the stream
   * @param directory on a tmpfs
   * @param memory length of its ring
   * @throws IOException if it does not serve
   */
  static NodeDaemon start(
      List<String> flags,
      Map<String, String> environment,
      String url,
      Path directory,
      String memory)
      throws IOException {
    ProcessBuilder builder =
        new ProcessBuilder(
                Command.line(
                    flags, "serve", url, "--dir", directory.toString(), "--memory", memory))
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .redirectError(ProcessBuilder.Redirect.INHERIT);
    builder.environment().putAll(environment);
    NodeDaemon daemon = new NodeDaemon(ChildProcess.start(builder));
    long deadlineNs = System.nanoTime() + START_TIMEOUT_NS;
    while (!Files.exists(directory.resolve("daemon.json"))) {
      if (!daemon.process.isAlive() || System.nanoTime() - deadlineNs > 0) {
        daemon.close();
        throw new IOException("the daemon did not start; see its output above");
      }
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
    }
    return daemon;
  }

  long pid() {
    return process.pid();
  }

  @Override
  public void close() {
    process.destroy();
    try {
      if (!process.waitFor(STOP_TIMEOUT_S, TimeUnit.SECONDS)) {
        process.destroyForcibly().waitFor();
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
