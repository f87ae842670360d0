package io.batchweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.read.StepResult;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Stores;
import io.batchweave.store.s3proxy.LocalS3;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Real producer processes that die: H1 and H4 at level P. */
@Timeout(300)
class ProducerProcessTest {
  /** Every step of the commit path; the occurrence counts within one process. */
  private static final List<String> POINTS =
      List.of(
          "before:get:stream:1",
          "before:list:snapshot/:1",
          "after:list:manifest/:1",
          "before:create:manifest/:1",
          "after:create:manifest/:1",
          "before:put:.tgb:1",
          "after:put:.tgb:1",
          "before:create:manifest/:2",
          "after:create:manifest/:2",
          "before:put:.state:1",
          "after:put:.state:1",
          "after:create:manifest/:4");

  @TempDir Path root;

  private record Ended(int code, List<String> lines) {}

  private String stream(Path directory) {
    return "file:" + directory.resolve("stream");
  }

  private static ProcessBuilder builder(Map<String, String> environment, List<String> args) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx128m"));
    command.addAll(List.of("-XX:-UsePerfData", "--enable-native-access=ALL-UNNAMED"));
    command.addAll(List.of("--add-opens", "java.base/jdk.internal.misc=ALL-UNNAMED"));
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.add(ProducerMain.class.getName());
    command.addAll(args);
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().putAll(environment);
    return builder;
  }

  private static Ended run(Map<String, String> environment, String... args) throws Exception {
    Process process = builder(environment, List.of(args)).start();
    try {
      List<String> lines = new ArrayList<>();
      try (BufferedReader output =
          new BufferedReader(
              new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
        for (String line = output.readLine(); line != null; line = output.readLine()) {
          lines.add(line);
        }
      }
      return new Ended(process.waitFor(), lines);
    } finally {
      process.destroyForcibly();
    }
  }

  /** What was acknowledged must be in the log, at that step, for ever. */
  private static void checkAcknowledged(ObjectStore store, List<String> lines) {
    try (StreamReader reader = StreamReader.open(new ReaderContext().store(store))) {
      for (String line : lines) {
        assertFalse(line.startsWith("WRONG"), line);
        if (line.startsWith("acked ")) {
          String[] parts = line.split(" ", -1);
          StepResult.Ready ready =
              assertInstanceOf(
                  StepResult.Ready.class,
                  reader.await(Long.parseLong(parts[2]), TestBatches.TIMEOUT_NS));
          assertEquals(Long.parseLong(parts[1]), ready.entry().seq(), line);
        }
      }
    }
  }

  /** H1: halted at every step of the commit path, started again, with store faults. */
  @ParameterizedTest
  @ValueSource(strings = {"file", "s3"})
  void shouldHoldEachSeqOnceWhenHaltedAtEveryStepOfTheCommitPath(String kind) throws Exception {
    try (LocalS3 localS3 = LocalS3.start(root.resolve("s3"))) {
      localS3.createBucket("bucket");
      boolean s3 = kind.equals("s3");
      String url = s3 ? localS3.url("bucket", "stream") : stream(root);
      Map<String, String> environment = s3 ? localS3.environment() : Map.of();
      List<String> lines = new ArrayList<>();
      try (ObjectStore store = Stores.open(url, environment)) {
        Streams.create(store, TestBatches.GRID);
        int seed = 1;
        for (String point : POINTS) {
          Ended ended = run(environment, url, "p", "1000", "8", "" + seed++, point);
          assertEquals(ProducerMain.HALTED, ended.code(), () -> point + ": " + ended.lines());
          lines.addAll(ended.lines());
        }
        long committed = TestBatches.check(store).getOrDefault("p", 0L);
        String lastSeq = Long.toString(committed + 7);
        Ended ended = run(environment, url, "p", lastSeq, "8", "" + seed);
        assertEquals(0, ended.code(), () -> ended.lines().toString());
        lines.addAll(ended.lines());
        assertEquals(Map.of("p", committed + 7), TestBatches.check(store));
        checkAcknowledged(store, lines);
      }
    }
  }

  /** H1: SIGKILL from outside at random moments; the restart overlaps the dying process. */
  @Test
  void shouldHoldEachSeqOnceWhenKilledAtRandom() throws Exception {
    String url = stream(root);
    SplittableRandom random = new SplittableRandom(17);
    List<String> lines = new ArrayList<>();
    try (ObjectStore store = Stores.open(url, Map.of())) {
      Streams.create(store, TestBatches.GRID);
      for (int i = 0; i < 6; i++) {
        lines.addAll(killAfterAcks(url, 1 + random.nextInt(40), i));
      }
      long committed = TestBatches.check(store).getOrDefault("p", 0L);
      assertTrue(committed > 0);
      Ended ended = run(Map.of(), url, "p", Long.toString(committed + 5), "0", "99");
      assertEquals(0, ended.code(), () -> ended.lines().toString());
      lines.addAll(ended.lines());
      assertEquals(Map.of("p", committed + 5), TestBatches.check(store));
      checkAcknowledged(store, lines);
    }
  }

  private static List<String> killAfterAcks(String url, int acks, int seed) throws Exception {
    List<String> lines = new ArrayList<>();
    Process process =
        builder(Map.of(), List.of(url, "p", "100000", "3", Integer.toString(seed))).start();
    try (BufferedReader output =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      int seen = 0;
      for (String line = output.readLine(); line != null; line = output.readLine()) {
        lines.add(line);
        seen += line.startsWith("acked") ? 1 : 0;
        if (seen == acks) {
          process.destroyForcibly();
        }
      }
    } catch (IOException e) {
      // The pipe of a killed process.
      assertTrue(lines.size() > 1, e.toString());
    } finally {
      process.destroyForcibly();
    }
    assertEquals(ProducerMain.HALTED, process.waitFor(), () -> lines.toString());
    // The last line may be cut off by the kill.
    lines.removeIf(line -> line.startsWith("acked") && line.split(" ", -1).length != 3);
    return lines.subList(0, Math.max(0, lines.size() - 1));
  }

  /** H4: dies with an object half written, before any commit: no reader ever sees the step. */
  @Test
  void shouldShowNothingWhenTheProducerDiedWithAnUnfinishedObject() throws Exception {
    String url = stream(root);
    try (ObjectStore store = Stores.open(url, Map.of())) {
      Streams.create(store, TestBatches.GRID);
      Ended ended = run(Map.of(), url, "p", "1", "0", "1", "before:create:manifest/:2");
      assertEquals(ProducerMain.HALTED, ended.code(), () -> ended.lines().toString());
      Path object = onlyObject(root.resolve("stream").resolve("data"));
      byte[] whole = Files.readAllBytes(object);
      Files.write(object, java.util.Arrays.copyOf(whole, whole.length * 7 / 8));
      try (StreamReader reader = StreamReader.open(new ReaderContext().store(store))) {
        assertEquals(0, reader.refresh(TestBatches.TIMEOUT_NS).nextStep());
        assertInstanceOf(StepResult.NotYet.class, reader.lookup(0));
      }
      Ended again = run(Map.of(), url, "p", "1", "0", "2");
      assertEquals(0, again.code(), () -> again.lines().toString());
      assertEquals(new TreeMap<>(Map.of("p", 1L)), new TreeMap<>(TestBatches.check(store)));
      assertTrue(Files.exists(object), "nothing is cleaned up behind an unclear outcome");
    }
  }

  private static Path onlyObject(Path directory) throws IOException {
    try (var files = Files.walk(directory)) {
      List<Path> found = files.filter(Files::isRegularFile).toList();
      assertEquals(1, found.size(), found.toString());
      return found.getFirst();
    }
  }
}
