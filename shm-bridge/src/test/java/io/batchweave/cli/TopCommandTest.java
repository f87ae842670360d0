package io.batchweave.cli;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.batchweave.Bytes;
import io.batchweave.bridge.daemon.Daemon;
import io.batchweave.bridge.daemon.DaemonContext;
import io.batchweave.bridge.handshake.AeronAttacher;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.rank.RankClient;
import io.batchweave.bridge.rank.RankContext;
import io.batchweave.bridge.rank.RankIdentity;
import io.batchweave.bridge.rank.StepLease;
import io.batchweave.bridge.ring.Coordinate;
import io.batchweave.format.Block.Takeover;
import java.io.FilterWriter;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.agrona.concurrent.SystemNanoClock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class TopCommandTest {
  private static final long SOON_NS = TimeUnit.SECONDS.toNanos(60);
  private static final ObjectMapper JSON = new ObjectMapper();

  @TempDir Path root;
  private Path directory;
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  @BeforeEach
  void create() throws IOException {
    directory = Files.createTempDirectory(Path.of("/dev/shm"), "bw-top-");
  }

  @AfterEach
  void delete() throws IOException {
    try (Stream<Path> tree = Files.walk(directory)) {
      for (Path path : tree.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(path);
      }
    }
  }

  private int run(String... args) {
    out.getBuffer().setLength(0);
    err.getBuffer().setLength(0);
    return Main.run(new PrintWriter(out), new PrintWriter(err), args);
  }

  private Daemon serveStream() throws IOException {
    String url = root.resolve("stream").toString();
    Path text = Files.writeString(root.resolve("a.txt"), "some words of text\n".repeat(200));
    assertEquals(0, run("init", url, "--dp", "1"), err::toString);
    assertEquals(
        0,
        run("ingest", url, text.toString(), "--seq-len", "64", "--global-batch", "4", "--seal"),
        err::toString);
    return Daemon.launch(
        new DaemonContext()
            .streams(List.of(url))
            .directory(directory)
            .memoryBytes(1 << 20)
            .reserveBytes(0)
            .lines(line -> {}));
  }

  private RankClient attach() {
    SystemNanoClock clock = SystemNanoClock.INSTANCE;
    return RankClient.open(
        new RankContext()
            .directory(directory)
            .identity(
                new RankIdentity(
                    root.resolve("stream").toString(),
                    "train",
                    "run-0",
                    new Coordinate(0, 0),
                    1,
                    1,
                    1,
                    7))
            .attacher(
                new AeronAttacher(
                    NativeMemory.system(), directory, clock, Bytes.EMPTY, Takeover.SUPERSEDE)),
        SOON_NS);
  }

  private JsonNode look() throws IOException {
    assertEquals(0, run("top", "--once", "--json", "--dir", directory.toString()), err::toString);
    return JSON.readTree(out.toString());
  }

  private static StepLease next(RankClient rank) {
    StepLease lease = rank.next(SOON_NS);
    assertNotNull(lease);
    return lease;
  }

  @Test
  void shouldShowRingRanksAndFetches() throws IOException {
    try (Daemon daemon = serveStream();
        RankClient rank = attach()) {
      next(rank).release();
      StepLease held = next(rank);
      JsonNode node = look();
      long endNs = SystemNanoClock.INSTANCE.nanoTime() + SOON_NS;
      // The daemon counts a step just after ranks can take it.
      while ((node.at("/rings/0/nextStep").asLong() < 2
              || node.at("/metrics/batchweave_steps_published_total").asDouble() < 2)
          && SystemNanoClock.INSTANCE.nanoTime() < endNs) {
        node = look();
      }
      assertEquals(ProcessHandle.current().pid(), node.path("pid").asLong());
      assertTrue(node.path("streams").get(0).asText().endsWith("/stream"));
      assertTrue(node.path("metrics").path("batchweave_steps_published_total").asDouble() >= 2);
      assertEquals(0, node.path("notes").size(), node::toString);
      JsonNode ring = node.path("rings").get(0);
      assertEquals("train", ring.path("group").asText());
      assertEquals("run-0", ring.path("session").asText());
      assertEquals("open", ring.path("state").asText());
      assertEquals(1 << 20, ring.path("lengthBytes").asLong());
      assertTrue(ring.path("usedBytes").asLong() > 0);
      assertTrue(ring.path("nextStep").asLong() >= 2);
      JsonNode seen = ring.path("ranks").get(0);
      assertEquals(7, seen.path("rank").asInt());
      assertEquals(1, seen.path("step").asLong());
      assertEquals(1, seen.path("heldSteps").asLong());
      assertTrue(seen.path("lives").asBoolean());
      assertFalse(seen.path("waits").asBoolean());
      assertEquals(0, run("top", "--once", "--dir", directory.toString()));
      assertTrue(out.toString().contains("group train  session run-0"), out::toString);
      assertTrue(out.toString().contains("computes"), out::toString);
      held.release();
      assertEquals(0, look().at("/rings/0/ranks/0/heldSteps").asLong());
      assertTrue(daemon.metricsUrl().startsWith("http://127.0.0.1:"));
    }
  }

  @Test
  void shouldShowARingThatNobodyReads() throws IOException {
    try (Daemon daemon = serveStream()) {
      JsonNode ring = look().path("rings").get(0);
      assertEquals("empty", ring.path("state").asText());
      assertEquals(-1, ring.path("generation").asLong());
      assertEquals(0, run("top", "--once", "--dir", directory.toString()));
      assertTrue(out.toString().contains("no session"), out::toString);
      assertTrue(daemon.metricsUrl().startsWith("http"));
    }
  }

  /** Until nobody reads what it says: a pipe into {@code head} ends it. */
  @Test
  void shouldLookAgainAndAgainAndSayHowMuchCameMeanwhile() throws IOException {
    StringWriter shown = new StringWriter();
    Writer screen =
        new FilterWriter(shown) {
          private int looks;

          @Override
          public void flush() throws IOException {
            if (shown.toString().split("daemon /", -1).length > 3 && ++looks > 1) {
              throw new IOException("nobody reads on");
            }
          }
        };
    try (Daemon daemon = serveStream();
        RankClient rank = attach()) {
      next(rank).release();
      String[] live = {"top", "--interval", "0.1", "--dir", directory.toString()};
      Main.run(new PrintWriter(screen), new PrintWriter(err), live);
      String[] looks = shown.toString().split("\u001b\\[H\u001b\\[2J", -1);
      assertEquals(4, looks.length, shown::toString);
      assertEquals("", looks[0]);
      assertFalse(looks[1].contains("requests/s"), looks[1]);
      for (int i = 2; i < looks.length; i++) {
        assertTrue(looks[i].contains("steps/s") && looks[i].contains("requests/s"), looks[i]);
        assertTrue(looks[i].contains("group train  session run-0"), looks[i]);
      }
      assertTrue(daemon.metricsUrl().startsWith("http"));
    }
  }

  @Test
  void shouldChangeNothingAndLeaveOutWhatIsDamaged() throws IOException {
    try (Daemon daemon = serveStream();
        RankClient rank = attach()) {
      StepLease held = next(rank);
      Path own = readerFile();
      Files.write(directory.resolve("ring-0.999.ctl"), new byte[5000]);
      Files.write(directory.resolve("0".repeat(32) + ".reader"), new byte[8704]);
      Files.write(directory.resolve("1".repeat(32) + ".reader"), new byte[3]);
      Files.createSymbolicLink(directory.resolve("2".repeat(32) + ".reader"), root);
      List<String> before = names();
      byte[] reader = Files.readAllBytes(own);
      JsonNode node = look();
      assertTrue(node.path("notes").size() >= 2, node::toString);
      assertEquals(1, node.at("/rings/0/ranks").size(), node::toString);
      assertEquals(0, node.at("/rings/0/ranks/0/step").asLong(), node::toString);
      assertEquals(before, names());
      assertArrayEquals(reader, Files.readAllBytes(own));
      Files.delete(directory.resolve("2".repeat(32) + ".reader"));
      held.release();
      assertTrue(daemon.metricsUrl().startsWith("http"));
    }
  }

  private Path readerFile() throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      return files.filter(file -> file.toString().endsWith(".reader")).findFirst().orElseThrow();
    }
  }

  private List<String> names() throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      return files.map(Path::toString).sorted().toList();
    }
  }

  @Test
  void shouldSayHowToStartADaemonWhereThereIsNone() throws IOException {
    assertEquals(1, run("top", "--dir", directory.resolve("none").toString()));
    assertTrue(err.toString().contains("no daemon serves this directory"), err::toString);
    assertTrue(err.toString().contains("batchweave serve"), err::toString);
    Files.write(directory.resolve("daemon.lock"), new byte[4096]);
    assertEquals(1, run("top", "--once", "--dir", directory.toString()));
    assertTrue(err.toString().contains("has ended"), err::toString);
    assertEquals(2, run("top", "--interval", "0"));
    assertTrue(err.toString().contains("--interval"), err::toString);
  }
}
