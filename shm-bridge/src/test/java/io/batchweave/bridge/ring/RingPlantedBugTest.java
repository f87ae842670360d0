package io.batchweave.bridge.ring;

import static org.junit.jupiter.api.Assertions.assertNotNull;

import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * That the exploration of small rings bites: each planted bug is found, in the smallest ring that
 * shows it.
 */
@Timeout(value = 10, unit = TimeUnit.MINUTES)
class RingPlantedBugTest {
  private static final long MOST_STATES = 100_000;

  private static Arguments bug(
      RingBug bug, RingWorld.Shape shape, int daemonDeaths, int rankDeaths) {
    return Arguments.of(
        bug, new Exploration.Scope(shape, daemonDeaths, rankDeaths, 0, Set.of(), MOST_STATES));
  }

  static Stream<Arguments> bugs() {
    RingWorld.Shape small = RingExplorationTest.nothingKept(2, 2);
    RingWorld.Shape roomy = RingExplorationTest.nothingKept(4, 2);
    RingWorld.Shape around = RingExplorationTest.nothingKept(2, 3);
    RingWorld.Shape alone = RingExplorationTest.oneReader(2);
    RingWorld.Shape aloneAround = RingExplorationTest.oneReader(4);
    return Stream.of(
        bug(RingBug.CLOSES_WITHOUT_A_LOOK, roomy, 0, 1),
        bug(RingBug.CANCELLED_IS_FINISHED, roomy, 0, 1),
        bug(RingBug.DOES_NOT_BACK_OUT, roomy, 0, 1),
        bug(RingBug.TAKES_OVER_WITHOUT_A_LOOK, aloneAround, 1, 0),
        bug(RingBug.NEVER_RELEASES_OLD_LEASES, aloneAround, 1, 0),
        bug(RingBug.ASKS_FOR_ITS_LAST_STEP, alone, 1, 0),
        bug(RingBug.COUNTS_A_STEP_THAT_IS_BACKED_OUT_OF, small, 1, 0),
        bug(RingBug.FORGETS_WHO_WAS_ATTACHING, small, 1, 0),
        bug(RingBug.TRUSTS_KEPT_BYTES, small, 1, 0),
        bug(RingBug.DROPS_CONTROLS_AT_ONCE, aloneAround, 2, 0),
        bug(RingBug.TAKEN_IS_RELEASED, around, 0, 0),
        bug(RingBug.IGNORES_LOCKS, small, 0, 0));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("bugs")
  void shouldBeFound(RingBug bug, Exploration.Scope scope) {
    assertNotNull(found(bug, scope), () -> "not found: " + bug);
  }

  /** It shows only where a rank attaches for the third time and another one ends meanwhile. */
  @Test
  @Tag("full")
  void shouldFindARankThatDropsItsFilesTooEarly() {
    Exploration.Scope scope =
        new Exploration.Scope(RingExplorationTest.ring(2), 2, 0, 1, Set.of(), 50 * MOST_STATES);
    assertNotNull(found(RingBug.ATTACHES_TO_WHAT_IS_CLOSED, scope));
  }

  private static @Nullable Throwable found(RingBug bug, Exploration.Scope scope) {
    try {
      Exploration.explore(scope, bug);
      return null;
    } catch (AssertionError | RuntimeException e) {
      return e;
    }
  }
}
