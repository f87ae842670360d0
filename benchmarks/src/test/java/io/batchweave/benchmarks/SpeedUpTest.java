package io.batchweave.benchmarks;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class SpeedUpTest {
  private static SpeedUp curve(double... ratios) {
    List<SpeedUp.At> points = new ArrayList<>();
    for (int i = 0; i < ratios.length; i++) {
      points.add(new SpeedUp.At(10 * i, ratios[i]));
    }
    return new SpeedUp(points);
  }

  @Test
  void shouldSayWhereTheCurveCrossesTheRatio() {
    assertEquals(15, curve(1, 1, 1.2, 2).paysFromMs(1.1), 1e-9);
  }

  @Test
  void shouldLookAtTheLastCrossingWhenOneBeforeItWasNoise() {
    assertEquals(25, curve(1, 1.2, 1, 1.2).paysFromMs(1.1), 1e-9);
  }

  @Test
  void shouldPayFromTheFirstPointOnWhenAllAreAbove() {
    assertEquals(0, curve(1.5, 2).paysFromMs(1.1));
  }

  @Test
  void shouldNeverPayWhenTheLastPointIsBelow() {
    assertEquals(Double.POSITIVE_INFINITY, curve(1, 1.2, 1.05).paysFromMs(1.1));
  }
}
