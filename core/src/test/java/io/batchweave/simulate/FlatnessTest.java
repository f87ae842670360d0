package io.batchweave.simulate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.simulate.Flatness.Figures;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** E1: what opening, finding and committing cost does not depend on the length of the history. */
@Timeout(600)
class FlatnessTest {
  private static final double WITHIN = 1.1;
  private static final long REST = 200;

  /** Versions of about so many, at the same place between snapshots, segments and groups. */
  private static long about(long versions) {
    return versions / Flatness.PERIOD_VERSIONS * Flatness.PERIOD_VERSIONS + REST;
  }

  private static void compare(Figures few, Figures many) {
    assertEquals(few.tail(), many.tail());
    assertEquals(few.fill(), many.fill());
    assertTrue(many.roundTrips() <= 4, many.toString());
    assertTrue(few.roundTrips() <= 4, few.toString());
    String both = few + "\n" + many;
    assertTrue(many.open().over(few.open()) <= WITHIN, both);
    assertTrue(many.find().over(few.find()) <= WITHIN, both);
    assertTrue(many.commit().over(few.commit()) <= WITHIN, both);
    assertTrue(many.crowded().over(few.crowded()) <= WITHIN, both);
  }

  /** E1. */
  @Test
  void shouldCostTheSameWhenTheHistoryIsTenTimesAsLong() {
    compare(Flatness.of(about(1_100)), Flatness.of(about(10_000)));
  }

  /** E1: a million versions. */
  @Test
  @Tag("full")
  void shouldCostTheSameWhenTheHistoryIsAThousandTimesAsLong() {
    compare(Flatness.of(about(1_100)), Flatness.of(about(1_000_000)));
  }

  /** E1: hardly any history. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2})
  void shouldOpenInFourRoundTripsWhenThereIsHardlyAnyHistory(long versions) {
    Figures figures = Flatness.of(versions);
    assertTrue(figures.roundTrips() <= 4, figures.toString());
    assertTrue(figures.open().requests() <= 6, figures.toString());
  }
}
