package io.batchweave.benchmarks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import org.junit.jupiter.api.Test;

class VerdictTest {
  @Test
  void shouldBeOneLineOfJsonWhenAGoalIsMissed() throws IOException {
    String line = new Verdict("a-bar", 12345.6, "ns/step", 0.25, "<= 1000", false).json();

    assertFalse(line.contains("\n"), line);
    JsonNode json = new ObjectMapper().readTree(line);
    assertEquals("a-bar", json.get("name").asText());
    assertEquals(12346, json.get("value").asDouble());
    assertEquals("ns/step", json.get("unit").asText());
    assertEquals(0.25, json.get("ceiling").asDouble());
    assertEquals("<= 1000", json.get("goal").asText());
    assertFalse(json.get("met").asBoolean());
  }

  @Test
  void shouldHaveNoGoalAndBeMetWhenAFigureIsOnlyReported() throws IOException {
    JsonNode json = new ObjectMapper().readTree(new Verdict("a", 1, "GB/s", 2, "", true).json());

    assertTrue(json.get("goal").isNull());
    assertTrue(json.get("met").asBoolean());
  }
}
