package io.batchweave.benchmarks;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;

/**
 * The jars of a Kafka broker of the client's version. Maven brings them into the user's cache the
 * first time; later runs find them there.
 */
final class KafkaJars {
  private static final int SAID_CHARACTERS = 2_000;

  private final Path root;
  private final Path cache;
  private final String version;

  /**
   * Says where to look.
   *
   * @param root the checkout
   * @param cache the user's cache directory
   * @param version of Kafka
   */
  KafkaJars(Path root, Path cache, String version) {
    this.root = root;
    this.cache = cache;
    this.version = version;
  }

  /** Those of this checkout and user. */
  static KafkaJars ofThisUser() throws IOException {
    return new KafkaJars(PythonEnvironment.root(), PythonEnvironment.cache(), clientVersion());
  }

  /** The version of Kafka's client on the class path, which the broker has too. */
  static String clientVersion() throws IOException {
    try (InputStream in =
        KafkaProducer.class.getResourceAsStream("/kafka/kafka-version.properties")) {
      Properties properties = new Properties();
      if (in != null) {
        properties.load(in);
      }
      String version = properties.getProperty("version", "");
      if (version.isEmpty()) {
        throw new IOException("Kafka's client does not say which version it is");
      }
      return version;
    }
  }

  /**
   * The directory of the jars, which are there when this returns.
   *
   * @param run is told when they have to be fetched
   * @throws IOException if they are not there and cannot be fetched: why, and what Maven said
   */
  Path directory(BenchRun run) throws IOException, InterruptedException {
    Path directory = cache.resolve("kafka-" + version);
    if (Files.isDirectory(directory)) {
      return directory;
    }
    run.say("  fetching the jars of Kafka " + version + " (43 MB, once) into " + directory + "…");
    Files.createDirectories(cache);
    Path fetched = Files.createTempDirectory(cache, "kafka-");
    try {
      fetch(fetched);
      // Under its name only when it is whole.
      Files.move(fetched, directory, StandardCopyOption.ATOMIC_MOVE);
    } catch (FileSystemException e) {
      if (!Files.isDirectory(directory)) { // else another run was faster
        throw e;
      }
    } finally {
      DirectoryTree.delete(fetched);
    }
    return directory;
  }

  private void fetch(Path target) throws IOException, InterruptedException {
    List<String> command =
        List.of(
            root.resolve("mvnw").toAbsolutePath().toString(),
            "-q",
            "-B",
            "-f",
            root.resolve("benchmarks/kafka-broker/pom.xml").toAbsolutePath().toString(),
            "-Dkafka.version=" + version,
            "-DoutputDirectory=" + target,
            "dependency:copy-dependencies");
    Path output = Files.createTempFile("batchweave-bench-", ".mvn");
    try {
      ProcessBuilder builder =
          new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
      builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
      int exit = builder.start().waitFor();
      if (exit != 0) {
        String said = Files.readString(output);
        throw new IOException(
            "Kafka is not here and its jars cannot be fetched: version="
                + version
                + " exit="
                + exit
                + "; a Maven repository must be within reach the first time; Maven said: "
                + said.substring(0, Math.min(said.length(), SAID_CHARACTERS)));
      }
    } finally {
      Files.delete(output);
    }
  }
}
