package io.batchweave.benchmarks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class TurnsTest {
  private static final int WAYS = 6;

  @Test
  void shouldHaveEachWayOnceInARound() {
    for (int round = -1; round < 2 * WAYS; round++) {
      Set<Integer> ways = new HashSet<>();
      for (int place = 0; place < WAYS; place++) {
        ways.add(Turns.of(round, place, WAYS));
      }
      assertEquals(Set.of(0, 1, 2, 3, 4, 5), ways);
    }
  }

  @Test
  void shouldBeginWithEachInTurnAndHaveEachAfterTwoOthers() {
    Set<Integer> first = new HashSet<>();
    for (int round = 0; round < WAYS; round++) {
      first.add(Turns.of(round, 0, WAYS));
    }
    assertEquals(WAYS, first.size());
    for (int way = 0; way < WAYS; way++) {
      Set<Integer> before = new HashSet<>();
      for (int round = 0; round < WAYS; round++) {
        for (int place = 1; place < WAYS; place++) {
          if (Turns.of(round, place, WAYS) == way) {
            before.add(Turns.of(round, place - 1, WAYS));
          }
        }
      }
      assertTrue(before.size() > 1, "way=" + way + " before=" + before);
    }
  }
}
