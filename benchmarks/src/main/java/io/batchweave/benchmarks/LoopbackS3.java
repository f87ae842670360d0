package io.batchweave.benchmarks;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * An S3 endpoint on 127.0.0.1 in a process of its own: versitygw where its binary is, else S3Proxy
 * in a JVM. As S3 itself, it keeps connections open: by default versitygw closes each after an
 * answer, and then the clients' timers for new connections take more of the processor than what is
 * measured.
 */
public final class LoopbackS3 implements AutoCloseable {
  /** The bucket that is there. */
  public static final String BUCKET = "bench";

  private static final String VERSITYGW = "versitygw 1.8.0";
  private static final String S3PROXY = "S3Proxy 4.1.0";
  private static final String ACCESS_KEY_ID = "AK";
  private static final String SECRET_ACCESS_KEY = "SK";
  private static final long START_TIMEOUT_NS = TimeUnit.SECONDS.toNanos(30);

  private final String server;
  private final Process process;
  private final String endpoint;
  private final Map<String, String> environment;

  private LoopbackS3(
      String server, Process process, String endpoint, Map<String, String> environment) {
    this.server = server;
    this.process = process;
    this.endpoint = endpoint;
    this.environment = environment;
    Runtime.getRuntime().addShutdownHook(new Thread(process::destroy));
  }

  /**
   * Starts one; it listens when this returns.
   *
   * @param directory an empty directory for its objects
   * @throws IOException if it does not start
   */
  public static LoopbackS3 start(Path directory) throws IOException {
    Path buckets = Files.createDirectories(directory.resolve("buckets"));
    Files.createDirectories(buckets.resolve(BUCKET));
    Path versitygw = versitygw();
    return Files.isExecutable(versitygw)
        ? startVersityGw(versitygw, directory, buckets)
        : startS3Proxy(buckets);
  }

  /** Which server would be started. */
  static String installed() {
    return Files.isExecutable(versitygw()) ? VERSITYGW : S3PROXY;
  }

  private static Path versitygw() {
    String named = System.getenv("BATCHWEAVE_VERSITYGW");
    if (named != null) {
      return Path.of(named);
    }
    String cache = System.getenv("BATCHWEAVE_CACHE");
    Path directory =
        cache == null
            ? Path.of(System.getProperty("user.home"), ".cache/batchweave")
            : Path.of(cache);
    return directory.resolve("versitygw-1.8.0/versitygw");
  }

  private static LoopbackS3 startVersityGw(Path binary, Path directory, Path buckets)
      throws IOException {
    int port = freePort();
    Path sidecar = Files.createDirectories(directory.resolve("sidecar"));
    List<String> command =
        List.of(
            binary.toString(),
            "--access",
            ACCESS_KEY_ID,
            "--secret",
            SECRET_ACCESS_KEY,
            "--port",
            "127.0.0.1:" + port,
            "--keep-alive",
            "--quiet",
            "posix",
            "--sidecar",
            sidecar.toString(),
            buckets.toString());
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    LoopbackS3 started =
        new LoopbackS3(
            VERSITYGW,
            process,
            "http://127.0.0.1:" + port,
            Map.of("AWS_ACCESS_KEY_ID", ACCESS_KEY_ID, "AWS_SECRET_ACCESS_KEY", SECRET_ACCESS_KEY));
    started.awaitListening(port);
    return started;
  }

  private static LoopbackS3 startS3Proxy(Path buckets) throws IOException {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx1g",
                "-cp",
                System.getProperty("java.class.path"),
                S3ProxyMain.class.getName(),
                buckets.toString())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    BufferedReader answer =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    String endpoint = answer.readLine();
    String accessKeyId = answer.readLine();
    String secret = answer.readLine();
    if (endpoint == null || accessKeyId == null || secret == null) {
      process.destroyForcibly();
      throw new IOException("S3Proxy did not start; see its output above");
    }
    return new LoopbackS3(
        S3PROXY,
        process,
        endpoint,
        Map.of("AWS_ACCESS_KEY_ID", accessKeyId, "AWS_SECRET_ACCESS_KEY", secret));
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  private void awaitListening(int port) throws IOException {
    long deadlineNs = System.nanoTime() + START_TIMEOUT_NS;
    while (process.isAlive() && System.nanoTime() - deadlineNs < 0) {
      try (Socket socket = new Socket()) {
        socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 1000);
        return;
      } catch (IOException e) {
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
      }
    }
    close();
    throw new IOException("the S3 server did not start: server=" + server + " port=" + port);
  }

  /** Which server it is. */
  public String server() {
    return server;
  }

  /** Its process id. */
  public long pid() {
    return process.pid();
  }

  /** Where it listens. */
  public String endpoint() {
    return endpoint;
  }

  /**
   * Bytes that the server has written so far, to sockets and files.
   *
   * @throws IOException if the kernel does not say
   */
  public long writtenBytes() throws IOException {
    return ProcessBytes.written(process.pid());
  }

  /** The root of a store in its bucket. */
  public String url() {
    return "s3://" + BUCKET + "/root?endpoint=" + endpoint + "&region=us-east-1";
  }

  /** Path of an object of that store in a request. */
  public String objectPath(String key) {
    return "/" + BUCKET + "/root/" + key;
  }

  /** Credentials. */
  public Map<String, String> environment() {
    return environment;
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
