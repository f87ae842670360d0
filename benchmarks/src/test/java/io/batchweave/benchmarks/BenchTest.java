package io.batchweave.benchmarks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.ObjectMapper;

class BenchTest {
  private static final List<Bar> BARS =
      List.of(
          new Fixed(
              "quick",
              new Verdict("quick", 331.4, "ns/step", 284, "<= 1000", true)
                  .within(new Sample.Interval(320, 1340.2))),
          new Fixed("slow", new Verdict("slow", 0.872, "of a bare GET", 1, ">= 0.95", false)),
          new Fixed("shown", new Verdict("shown", 72, "GB/s", 73, "", true)),
          new Fixed("absent", null),
          new Fixed("broken", null));

  private final ByteArrayOutputStream said = new ByteArrayOutputStream();

  /** A bar that has been measured, or cannot be. */
  private record Fixed(String name, @Nullable Verdict verdict) implements Bar {
    @Override
    public String question() {
      return "is it " + name + "?";
    }

    @Override
    public Verdict measure(BenchRun run) throws IOException {
      run.say("  measuring " + name);
      if (name.equals("broken")) {
        throw new NoClassDefFoundError("peer");
      }
      if (verdict == null) {
        throw new IOException("no such\n  peer");
      }
      return verdict;
    }
  }

  private int bench(String... arguments) {
    return Bench.run(
        BARS,
        UnaryOperator.identity(),
        new PrintStream(said, true, StandardCharsets.UTF_8),
        arguments);
  }

  private List<String> lines() {
    return said.toString(StandardCharsets.UTF_8).lines().toList();
  }

  @Test
  void shouldEndWithTheTableBelowWhatItWasMeasuredOnWhenBarsHaveRun(@TempDir Path directory)
      throws IOException {
    Path out = directory.resolve("a/b");

    assertEquals(1, bench("--out", out.toString()));

    List<String> table = Files.readAllLines(out.resolve("results.md"));
    for (String fact : List.of("machine", "system", "JDK", "versions", "commit", "began")) {
      assertTrue(table.stream().anyMatch(line -> line.startsWith("| " + fact + " | ")), fact);
    }
    assertTrue(table.contains("| JDK | " + Runtime.version() + " |"));
    int head = table.indexOf("| name | value | unit | ceiling | goal | met | spread |");
    assertEquals(
        List.of(
            "|---|---|---|---|---|---|---|",
            "| `quick` | 331.400 | ns/step | 284.000 | <= 1000 | yes | [320.000, 1340] |",
            "| `slow` | 0.872 | of a bare GET | 1.000 | >= 0.95 | **no** |  |",
            "| `shown` | 72.000 | GB/s | 73.000 |  |  |  |",
            "",
            "- `absent` could not be measured: java.io.IOException: no such peer",
            "- `broken` could not be measured: java.lang.NoClassDefFoundError: peer"),
        table.subList(head + 1, table.size()));
    List<String> printed = lines();
    int from = printed.size() - 2 - table.size();
    assertEquals(table, printed.subList(from, printed.size() - 2));
  }

  @Test
  void shouldWriteTheSameAsJsonBesideTheTable(@TempDir Path directory) throws IOException {
    bench("--quick", "--out", directory.toString());

    JsonNode json =
        new ObjectMapper().readTree(Files.readString(directory.resolve("results.json")));
    assertEquals("quick", json.get("pace").asString());
    assertEquals(Runtime.version().toString(), json.get("JDK").asString());
    assertFalse(json.get("commit").asString().isBlank());
    assertEquals(3, json.get("figures").size());
    JsonNode first = json.get("figures").get(0);
    assertEquals("quick", first.get("name").asString());
    assertEquals(331.4, first.get("value").asDouble());
    assertEquals(1340.2, first.get("spread").get(1).asDouble());
    assertTrue(first.get("met").asBoolean());
    assertTrue(first.get("seconds").asDouble() >= 0);
    assertEquals(0, json.get("figures").get(1).get("spread").size());
    assertTrue(json.get("unmeasured").get("absent").asString().contains("no such"));
  }

  @Test
  void shouldEndWithOneLineOfJsonWhenOneBarIsAskedForIt(@TempDir Path directory) {
    assertEquals(0, bench("--only", "quick", "--json", "--out", directory.toString()));

    assertEquals(
        "{\"name\":\"quick\",\"value\":331.400,\"unit\":\"ns/step\",\"ceiling\":284.000,"
            + "\"goal\":\"<= 1000\",\"met\":true}",
        lines().getLast());
    assertFalse(lines().contains("  measuring slow"));
  }

  @Test
  void shouldEndWithOneLineOfJsonAlsoWhenTheBarCannotBeMeasured(@TempDir Path directory) {
    assertEquals(1, bench("--only", "absent", "--json", "--out", directory.toString()));

    assertEquals(
        "{\"name\":\"absent\",\"value\":null,\"unit\":\"\",\"ceiling\":null,"
            + "\"goal\":null,\"met\":false}",
        lines().getLast());
  }

  @Test
  void shouldRunTheNamedBarsInThatOrderWhenSeveralAreGiven(@TempDir Path directory) {
    assertEquals(0, bench("--only", "shown,quick", "--out", directory.toString()));

    assertEquals(
        List.of("  measuring shown", "  measuring quick"),
        lines().stream().filter(line -> line.startsWith("  measuring")).toList());
  }

  @Test
  void shouldMeasureNothingWhenItIsAskedInAWrongWay() {
    assertEquals(2, bench("--only", "quick,nobody"));
    assertEquals(2, bench("--only"));
    assertEquals(2, bench("--out"));
    assertEquals(2, bench("--fast"));
    assertEquals(List.of(), lines());
  }

  @Test
  void shouldHaveEveryPromisedBarUnderAnOwnNameWhenTheyAreListed() {
    Set<String> names = new HashSet<>();
    for (Bar bar : Bench.bars()) {
      assertTrue(names.add(bar.name()), bar.name());
      assertFalse(bar.question().isBlank(), bar.name());
    }
    List<String> promised =
        List.of(
            "store-to-ring",
            "ingest",
            "attach",
            "handoff-java",
            "handoff-c",
            "handoff-python",
            "copies",
            "heap-per-fetch",
            "amplification",
            "kafka-ingest",
            "kafka-read",
            "end-to-end",
            "commit-scaling",
            "flatness");
    assertTrue(names.containsAll(promised), names.toString());
  }
}
