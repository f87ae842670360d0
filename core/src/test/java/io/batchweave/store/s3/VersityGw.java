package io.batchweave.store.s3;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** A real S3 service: versitygw over a directory, as a process of its own. */
public final class VersityGw implements AutoCloseable {
  /** Names the binary, where it is not in the user's cache. */
  public static final String VARIABLE = "BATCHWEAVE_VERSITYGW";

  private static final long START_TIMEOUT_NS = TimeUnit.SECONDS.toNanos(120);

  private final Path directory;
  private final int port;
  private Process process;

  private VersityGw(Path directory, int port, Process process) {
    this.directory = directory;
    this.port = port;
    this.process = process;
  }

  /** The binary; it need not exist. */
  public static Path binary() {
    String named = System.getenv(VARIABLE);
    return named == null
        ? Path.of(System.getProperty("user.home"), ".cache/batchweave/versitygw-1.8.0/versitygw")
        : Path.of(named);
  }

  /** Starts it over a directory; it listens when this returns. */
  public static VersityGw start(Path directory) throws IOException {
    int port = freePort();
    VersityGw server = new VersityGw(directory, port, launch(directory, port));
    server.awaitListening();
    return server;
  }

  private static Process launch(Path directory, int port) throws IOException {
    Path sidecar = Files.createDirectories(directory.resolveSibling("versitygw-sidecar"));
    return new ProcessBuilder(
            binary().toString(),
            "--access",
            "AK",
            "--secret",
            "SK",
            "--port",
            "127.0.0.1:" + port,
            "posix",
            "--sidecar",
            sidecar.toString(),
            directory.toString())
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
        .start();
  }

  /** Kills it with SIGKILL; nobody listens when this returns. */
  public void kill() throws InterruptedException {
    process.destroyForcibly();
    process.waitFor();
  }

  /** Starts it again at the same place; it listens when this returns. */
  public void restart() throws IOException {
    process = launch(directory, port);
    awaitListening();
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  private void awaitListening() throws IOException {
    long deadline = System.nanoTime() + START_TIMEOUT_NS;
    while (process.isAlive() && System.nanoTime() < deadline) {
      try (Socket socket = new Socket()) {
        socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 1000);
        return;
      } catch (IOException e) {
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
      }
    }
    close();
    throw new IOException("versitygw did not start: binary=" + binary() + " port=" + port);
  }

  /** Creates a bucket. */
  public void createBucket(String bucket) throws IOException {
    Files.createDirectories(directory.resolve(bucket));
  }

  /** The URL of a root there. */
  public String url(String bucket, String prefix) {
    return "s3://"
        + bucket
        + "/"
        + prefix
        + "?endpoint=http://127.0.0.1:"
        + port
        + "&region=us-east-1";
  }

  /** The variables to open a store with. */
  public Map<String, String> environment() {
    return Map.of("AWS_ACCESS_KEY_ID", "AK", "AWS_SECRET_ACCESS_KEY", "SK");
  }

  @Override
  public void close() {
    process.destroy();
    try {
      if (!process.waitFor(10, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
