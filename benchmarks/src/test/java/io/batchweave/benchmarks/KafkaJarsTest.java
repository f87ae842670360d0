package io.batchweave.benchmarks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KafkaJarsTest {
  @TempDir private Path root;

  private final ByteArrayOutputStream said = new ByteArrayOutputStream();
  private final BenchRun run =
      new BenchRun(
          BenchRun.Pace.QUICK, new PrintStream(said, true, StandardCharsets.UTF_8), Path.of("."));

  /** A Maven that does what it is told here and notes its arguments. */
  private KafkaJars jars(String script) throws IOException {
    Path maven = root.resolve("mvnw");
    Files.writeString(maven, "#!/bin/sh\necho \"$@\" >> '" + root + "/called'\n" + script + "\n");
    Files.setPosixFilePermissions(maven, PosixFilePermissions.fromString("rwx------"));
    return new KafkaJars(root, root.resolve("cache"), "1.2.3");
  }

  private List<String> cached() throws IOException {
    try (Stream<Path> entries = Files.list(root.resolve("cache"))) {
      return entries.map(entry -> String.valueOf(entry.getFileName())).toList();
    }
  }

  @Test
  void shouldFetchOnceWhenTheyAreNotThere() throws Exception {
    KafkaJars jars =
        jars("for a; do case $a in -DoutputDirectory=*) touch \"${a#*=}/kafka.jar\";; esac; done");

    Path first = jars.directory(run);
    assertTrue(Files.exists(first.resolve("kafka.jar")));
    assertTrue(said.toString(StandardCharsets.UTF_8).contains("fetching"), said::toString);
    assertEquals(first, jars.directory(run));

    List<String> called = Files.readAllLines(root.resolve("called"));
    assertEquals(1, called.size(), called::toString);
    assertTrue(called.getFirst().contains("-Dkafka.version=1.2.3"), called::toString);
    assertEquals(List.of("kafka-1.2.3"), cached());
  }

  @Test
  void shouldSayWhyAndKeepNothingWhenTheyCannotBeFetched() throws Exception {
    KafkaJars jars = jars("echo no route to the repository; exit 1");

    IOException thrown = assertThrows(IOException.class, () -> jars.directory(run));
    String message = String.valueOf(thrown.getMessage());
    assertTrue(message.contains("version=1.2.3"), message);
    assertTrue(message.contains("no route to the repository"), message);
    assertEquals(List.of(), cached());
  }
}
