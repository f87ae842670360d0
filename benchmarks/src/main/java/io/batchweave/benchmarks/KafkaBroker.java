package io.batchweave.benchmarks;

import java.io.IOException;
import java.io.Writer;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.Uuid;

/**
 * A real Apache Kafka broker on 127.0.0.1, alone and its own controller, in a process of its own
 * with its log in a directory of its own, which goes with it.
 */
public final class KafkaBroker implements AutoCloseable {
  private static final long START_TIMEOUT_NS = TimeUnit.SECONDS.toNanos(120);
  private static final long STOP_TIMEOUT_S = 60;
  private static final long TOPIC_TIMEOUT_S = 60;
  private static final long LOOK_AGAIN_NS = TimeUnit.MILLISECONDS.toNanos(20);
  private static final List<String> MEMORY =
      List.of("-Xms2g", "-Xmx2g", "-XX:MaxDirectMemorySize=2g");

  private final Path directory;
  private final Process process;
  private final String bootstrap;
  private final Admin admin;

  private KafkaBroker(Path directory, Process process, String bootstrap) {
    this.directory = directory;
    this.process = process;
    this.bootstrap = bootstrap;
    this.admin = Admin.create(Map.of(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap));
    Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
  }

  /**
   * Formats a log and starts a broker on it; it serves when this returns.
   *
   * @param run is told if the jars have to be fetched first
   * @param parent where its log goes: on the disk that is measured
   * @throws IOException if it cannot be had or does not start: what it said
   */
  public static KafkaBroker start(BenchRun run, Path parent)
      throws IOException, InterruptedException {
    Path jars = KafkaJars.ofThisUser().directory(run);
    Path directory = DirectoryTree.make(parent);
    int port = freePort();
    Path settings = directory.resolve("server.properties");
    try (Writer out = Files.newBufferedWriter(settings)) {
      KafkaSettings.broker(directory.resolve("log"), port, freePort()).store(out, null);
    }
    Path said = directory.resolve("broker.out");
    int formatted =
        java(
                jars,
                said,
                List.of(),
                "kafka.tools.StorageTool",
                "format",
                "-t",
                Uuid.randomUuid().toString(),
                "-c",
                settings.toString())
            .waitFor();
    if (formatted != 0) {
      throw new IOException("Kafka's log cannot be formatted: " + Files.readString(said));
    }
    KafkaBroker broker =
        new KafkaBroker(
            directory,
            java(jars, said, MEMORY, "kafka.Kafka", settings.toString()),
            "127.0.0.1:" + port);
    try {
      broker.awaitServing(said);
      return broker;
    } catch (IOException | InterruptedException | RuntimeException e) {
      broker.close();
      throw e;
    }
  }

  private static Process java(
      Path jars, Path said, List<String> flags, String main, String... arguments)
      throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(flags);
    command.addAll(List.of("-Dlog4j2.level=WARN", "-cp", jars + "/*", main));
    command.addAll(Arrays.asList(arguments));
    return new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.appendTo(said.toFile()))
        .start();
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  private void awaitServing(Path said) throws IOException, InterruptedException {
    long deadlineNs = System.nanoTime() + START_TIMEOUT_NS;
    while (process.isAlive() && System.nanoTime() - deadlineNs < 0) {
      try {
        if (!admin.describeCluster().nodes().get(1, TimeUnit.SECONDS).isEmpty()) {
          return;
        }
      } catch (ExecutionException | TimeoutException e) {
        LockSupport.parkNanos(LOOK_AGAIN_NS);
      }
    }
    throw new IOException("the Kafka broker did not start: " + Files.readString(said));
  }

  /** Where clients connect. */
  public String bootstrap() {
    return bootstrap;
  }

  /**
   * Makes a topic.
   *
   * @param name a new one
   * @param partitions how many
   * @param flush when an append is on the disk
   */
  public void createTopic(String name, int partitions, KafkaSettings.Flush flush)
      throws IOException, InterruptedException {
    NewTopic topic = new NewTopic(name, Optional.of(partitions), Optional.of((short) 1));
    try {
      admin
          .createTopics(List.of(topic.configs(KafkaSettings.topic(flush))))
          .all()
          .get(TOPIC_TIMEOUT_S, TimeUnit.SECONDS);
    } catch (ExecutionException | TimeoutException e) {
      throw new IOException("Kafka does not make the topic: topic=" + name + " reason=" + e, e);
    }
  }

  /**
   * Deletes a topic and waits until its files are gone, so that this falls into no figure.
   *
   * @param name which
   */
  public void deleteTopic(String name) throws IOException, InterruptedException {
    try {
      admin.deleteTopics(List.of(name)).all().get(TOPIC_TIMEOUT_S, TimeUnit.SECONDS);
    } catch (ExecutionException | TimeoutException e) {
      throw new IOException("Kafka does not delete the topic: topic=" + name + " reason=" + e, e);
    }
    long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(TOPIC_TIMEOUT_S);
    while (isOnDisk(name)) {
      if (System.nanoTime() - deadlineNs > 0) {
        throw new IOException("Kafka keeps the files of a deleted topic: topic=" + name);
      }
      LockSupport.parkNanos(LOOK_AGAIN_NS);
    }
  }

  private boolean isOnDisk(String topic) throws IOException {
    try (Stream<Path> partitions = Files.list(directory.resolve("log"))) {
      return partitions.anyMatch(path -> {
        Path name = path.getFileName();
        return name != null && name.toString().startsWith(topic + "-");
      });
    }
  }

  /** Processor time of the broker so far, nanoseconds. */
  public long cpuNanos() {
    return ProcessTime.nanos(process.pid());
  }

  /**
   * Bytes that the broker has written so far, to sockets and files.
   *
   * @throws IOException if the kernel does not say
   */
  public long writtenBytes() throws IOException {
    return ProcessBytes.written(process.pid());
  }

  /** Ends the broker in good order and deletes its log. */
  @Override
  public void close() {
    admin.close();
    process.destroy();
    try {
      if (!process.waitFor(STOP_TIMEOUT_S, TimeUnit.SECONDS)) {
        process.destroyForcibly().waitFor();
      }
      DirectoryTree.delete(directory);
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    } catch (IOException e) {
      System.err.println("left behind: " + directory + " reason=" + e);
    }
  }
}
