package io.batchweave.simulate;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(600)
class SimulationTest {
  @Test
  void shouldKeepEveryPromiseOnEverySeed() {
    for (long seed = 0; seed < 300; seed++) {
      SeedReport report = Simulation.run(seed);
      assertEquals(List.of(), report.violations(), "seed " + seed);
    }
  }
}
