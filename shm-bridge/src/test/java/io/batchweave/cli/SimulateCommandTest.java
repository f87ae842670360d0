package io.batchweave.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(120)
class SimulateCommandTest {
  private static final Pattern CLOSING_LINE =
      Pattern.compile(
          "(?<seeds>\\d+) seeds from (?<from>\\d+) in (?<seconds>[0-9.]+) s: .* 0 violations in 0 seeds");

  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  private int run(String line) {
    return Main.run(new PrintWriter(out, true), new PrintWriter(err, true), line.split(" ", -1));
  }

  @Test
  void shouldPrintTheHistoryOfOneSeed() {
    assertEquals(0, run("simulate --seed 7"), err::toString);
    String text = out.toString();
    assertTrue(text.contains("calm from now on"), text);
    assertTrue(text.contains("takes effect: Created"), text);
    assertTrue(text.lines().toList().getLast().startsWith("seed 7: "), text);
    assertTrue(text.strip().endsWith(" 0 violations"), text);
  }

  @Test
  void shouldEndWithTheCountOfManySeeds() {
    assertEquals(0, run("simulate --seeds 5 --from 20"), err::toString);
    String last = out.toString().lines().toList().getLast();
    assertTrue(last.startsWith("5 seeds from 20 in "), last);
    assertTrue(last.endsWith(" 0 violations in 0 seeds"), last);
  }

  @Test
  void shouldStartAtARandomSeedWithoutFrom() {
    assertEquals(0, run("simulate --seeds 2"), err::toString);
    String last = out.toString().lines().toList().getLast();
    assertTrue(last.startsWith("2 seeds from "), last);
  }

  @Test
  void shouldRunSeedsUntilTheTimeIsOver() {
    assertEquals(0, run("simulate --for 1s --from 40"), err::toString);
    String last = out.toString().lines().toList().getLast();
    Matcher matcher = CLOSING_LINE.matcher(last);
    assertTrue(matcher.matches(), last);
    assertTrue(Long.parseLong(matcher.group("seeds")) >= 1, last);
    assertEquals("40", matcher.group("from"));
    assertTrue(Double.parseDouble(matcher.group("seconds")) >= 1, last);
  }

  @Test
  void shouldCountInJsonTheSeedsThatTheTimeAllowed() throws IOException {
    assertEquals(0, run("simulate --for 1s --json"), err::toString);
    JsonNode document = new ObjectMapper().readTree(out.toString());
    assertTrue(document.get("seeds").asLong() >= 1, document::toString);
    assertTrue(document.get("seeds").asLong() < 1_000_000, document::toString);
    assertTrue(document.get("seconds").asDouble() >= 1, document::toString);
    assertEquals(0, document.get("violatingSeeds").size(), document::toString);
  }

  @Test
  void shouldPrintOneJsonDocumentWhenAskedTo() throws IOException {
    assertEquals(0, run("simulate --seeds 3 --from 0 --json"), err::toString);
    JsonNode document = new ObjectMapper().readTree(out.toString());
    assertEquals(3, document.get("seeds").asInt());
    assertEquals(0, document.get("violations").size());
    assertTrue(document.get("versions").asLong() > 0, document::toString);
  }

  @Test
  void shouldPrintTheNumberOfStatesOfEachSmallCase() {
    assertEquals(0, run("simulate --explore 100"), err::toString);
    assertTrue(out.toString().contains(" states "), out::toString);
    assertTrue(out.toString().contains("death-and-unclear"), out::toString);
  }

  @Test
  void shouldExploreOneCaseAlone() throws IOException {
    assertEquals(0, run("simulate --explore 1000000 --case fence-and-snapshot --json"));
    JsonNode document = new ObjectMapper().readTree(out.toString());
    assertEquals(1, document.size(), document::toString);
    assertTrue(document.get(0).get("case").asText().startsWith("fence-and-snapshot "));
    assertTrue(document.get(0).get("complete").asBoolean(), document::toString);
  }

  @Test
  void shouldNameTheCasesWhenThereIsNoSuch() {
    assertEquals(2, run("simulate --explore 10 --case everything"));
    assertTrue(err.toString().contains("two-death-and-unclear"), err::toString);
  }

  @Test
  void shouldExplainItselfWithAnExample() {
    assertEquals(0, run("simulate --help"), err::toString);
    assertTrue(out.toString().contains("./batchweave simulate --seed 7"), out::toString);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "simulate",
        "simulate --seeds 0",
        "simulate --seeds 1 --seed 2",
        "simulate --seed 2 --from 1",
        "simulate --seed x",
        "simulate --for 0s",
        "simulate --for 120",
        "simulate --for 1s --seeds 2",
        "simulate --explore everything",
        "simulate --explore 0",
        "simulate --seed 1 --case two"
      })
  void shouldRefuseWhatMakesNoSenseInOneLine(String line) {
    assertEquals(2, run(line));
    assertEquals(1, err.toString().strip().lines().count(), err::toString);
  }
}
