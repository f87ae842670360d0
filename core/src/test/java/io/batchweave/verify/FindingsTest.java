package io.batchweave.verify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;

import java.util.List;
import org.junit.jupiter.api.Test;

/** What is kept of many findings, and what a reclaim meanwhile excuses. */
class FindingsTest {
  private static final int MANY = Findings.KEPT + 500;

  private final Findings findings = new Findings();

  @Test
  void shouldExcuseReclaimedStepsThatAreOnlyCounted() {
    for (int step = 0; step < MANY; step++) {
      findings.addOfStep(step, "object " + step, "missing");
    }
    assertEquals(MANY, findings.count());
    assertEquals(Findings.KEPT, findings.all().size());
    findings.excuse(() -> MANY - 10);
    assertEquals(10, findings.count());
    assertEquals(List.of(), findings.all());
    findings.excuse(() -> MANY);
    assertEquals(0, findings.count());
  }

  @Test
  void shouldNotExcuseWhatBelongsToNoStep() {
    findings.add("snapshot", "damaged");
    findings.excuse(() -> fail("nothing asks for the horizon"));
    assertEquals(1, findings.count());
    findings.addOfStep(3, "object", "missing");
    findings.excuse(() -> Long.MAX_VALUE - 1);
    assertEquals(List.of(new Finding("snapshot", "damaged")), findings.all());
  }
}
