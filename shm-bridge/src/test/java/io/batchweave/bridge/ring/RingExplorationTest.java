package io.batchweave.bridge.ring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.bridge.ring.Choices.Whim;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Small rings through every interleaving (U12, U13, U35, U40, U41, U46 at the level of the
 * protocol): no foreign bytes, no step lost or doubled, no stop where admission says there is none,
 * everything free at the end. Two readers in a ring of exactly (hold + 2) regions, or one reader
 * that goes around it; that the next daemon leaves leases alone shows only where regions are used
 * again, and that generations change beside leases only in a ring with room for that, see {@link
 * RingPlantedBugTest}. Where an exploration is too large to be finished, as many states are looked
 * at as said, spread over the whole; where it is finished, the number of worlds is known.
 */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class RingExplorationTest {
  private static final long SOME = 10_000;

  /** {@code -Dbatchweave.ringStates}: where all would take too long; all of them if that many. */
  private static final long MANY = Long.getLong("batchweave.ringStates", 200_000);

  private static final long ALL = Long.MAX_VALUE;

  /** Two readers, room for three steps. */
  static RingWorld.Shape ring(int steps) {
    return new RingWorld.Shape(2, 1, 6, 2, steps, 4);
  }

  /** The same for one reader, which goes around the ring. */
  static RingWorld.Shape oneReader(int steps) {
    return new RingWorld.Shape(1, 1, 3, 1, steps, 4);
  }

  /** Two readers that keep nothing while they ask for the next step. */
  static RingWorld.Shape nothingKept(int regions, int steps) {
    return new RingWorld.Shape(2, 0, 2 * regions, 2, steps, 4);
  }

  /** Explores; the counts are printed. */
  private static Exploration.Found explore(String name, Exploration.Scope scope) {
    Exploration.Found found = Exploration.explore(scope);
    System.out.println("ring exploration, " + name + ": " + found);
    return found;
  }

  /** All of it: so many worlds, which changes with the protocol and with what is told apart. */
  private static void all(String name, long worlds, Exploration.Scope scope) {
    Exploration.Found found = explore(name, scope);
    assertTrue(found.isComplete(), found::toString);
    assertEquals(worlds, found.worlds(), found::toString);
  }

  private static void some(String name, Exploration.Scope scope) {
    Exploration.Found found = explore(name, scope);
    assertTrue(found.isComplete() || found.states() >= scope.maxStates(), found::toString);
    assertTrue(found.takeovers() == scope.daemonDeaths(), found::toString);
  }

  @Test
  void shouldHoldWhereverARankDies() {
    all("3 steps, nobody dies", 4221, new Exploration.Scope(ring(3), 0, 0, 0, Set.of(), ALL));
    all("2 steps, a rank dies", 15617, new Exploration.Scope(ring(2), 0, 1, 0, Set.of(), ALL));
  }

  @Test
  void shouldHoldWhereverARankAttachesAnew() {
    all(
        "2 steps, a rank attaches anew",
        5320,
        new Exploration.Scope(ring(2), 0, 0, 1, Set.of(), ALL));
  }

  @Test
  void shouldHoldWhereverADaemonDies() {
    all(
        "1 reader, 4 steps, a daemon dies",
        3632,
        new Exploration.Scope(oneReader(4), 1, 0, 0, Set.of(), ALL));
    all("2 steps, a daemon dies", 38946, new Exploration.Scope(ring(2), 1, 0, 0, Set.of(), ALL));
    some("2 steps, two daemons die", new Exploration.Scope(ring(2), 2, 0, 0, Set.of(), SOME));
    some("3 steps, daemon and rank die", new Exploration.Scope(ring(3), 1, 1, 0, Set.of(), SOME));
  }

  /**
   * What is left out hides nothing: with all of it, states with one fingerprint are followed by
   * states with the same fingerprints, and the same worlds are found.
   */
  @Test
  void shouldLeaveNothingOutThatDecides() {
    compare(new Exploration.Scope(oneReader(4), 1, 0, 0, Set.of(), ALL));
    compare(new Exploration.Scope(ring(1), 0, 1, 1, Set.of(), ALL));
    compare(new Exploration.Scope(ring(1), 1, 0, 0, Set.of(), ALL));
  }

  private static void compare(Exploration.Scope scope) {
    Exploration.Found exact = Exploration.compare(scope);
    Exploration.Found found = explore("told apart exactly: " + exact.states(), scope);
    assertTrue(found.isComplete() && exact.isComplete(), found::toString);
    assertEquals(exact.worlds(), found.worlds());
    assertEquals(exact.takeovers(), found.takeovers());
    assertEquals(exact.closes(), found.closes());
  }

  @Test
  @Tag("full")
  @Timeout(value = 60, unit = TimeUnit.MINUTES)
  void shouldLeaveNothingOutThatDecidesWhereMoreGoesWrong() {
    compare(new Exploration.Scope(ring(1), 1, 1, 0, Set.of(), ALL));
    compare(new Exploration.Scope(ring(1), 1, 0, 1, Set.of(), ALL));
    compare(new Exploration.Scope(ring(2), 1, 0, 0, Set.of(), ALL));
  }

  /** U12, U13, U35 at once: a daemon dies, a rank dies and one attaches anew, at any moments. */
  @Test
  @Tag("full")
  @Timeout(value = 60, unit = TimeUnit.MINUTES)
  void shouldHoldWhateverGoesWrongOnce() {
    all("2 steps, all of it", 3_125_815, new Exploration.Scope(ring(2), 1, 1, 1, Set.of(), ALL));
    all("3 steps, all of it", 21_812_265, new Exploration.Scope(ring(3), 1, 1, 1, Set.of(), ALL));
  }

  @Test
  @Tag("full")
  @Timeout(value = 60, unit = TimeUnit.MINUTES)
  void shouldHoldWhereverTwoDaemonsDie() {
    all(
        "2 steps, two daemons die",
        462_664,
        new Exploration.Scope(ring(2), 2, 0, 0, Set.of(), ALL));
    all(
        "3 steps, two daemons die",
        2_749_583,
        new Exploration.Scope(ring(3), 2, 0, 0, Set.of(), ALL));
    all(
        "2 steps, two daemons and a rank die",
        3_763_152,
        new Exploration.Scope(ring(2), 2, 1, 0, Set.of(), ALL));
    all(
        "2 steps, two daemons die, attached anew",
        3_395_845,
        new Exploration.Scope(ring(2), 2, 0, 1, Set.of(), ALL));
    all(
        "2 steps, two daemons and a rank die, attached anew",
        26_767_165,
        new Exploration.Scope(ring(2), 2, 1, 1, Set.of(), ALL));
  }

  @Test
  @Tag("full")
  @Timeout(value = 60, unit = TimeUnit.MINUTES)
  void shouldHoldInManyMoreStates() {
    all(
        "1 step, a daemon dies, room beside leases",
        10214,
        new Exploration.Scope(nothingKept(4, 1), 1, 0, 0, Set.of(), ALL));
    all(
        "1 reader, 4 steps, two daemons die",
        17710,
        new Exploration.Scope(oneReader(4), 2, 0, 0, Set.of(), ALL));
    all(
        "1 reader, 3 steps, daemon and rank die, attached anew",
        72187,
        new Exploration.Scope(oneReader(3), 1, 1, 1, Set.of(), ALL));
    all("3 steps, a daemon dies", 208819, new Exploration.Scope(ring(3), 1, 0, 0, Set.of(), ALL));
    some(
        "3 steps, daemon and rank die, late releases",
        new Exploration.Scope(
            ring(3), 1, 1, 0, Set.of(Whim.RELEASE, Whim.RELEASE_OLD, Whim.OUT_OF_ORDER), MANY));
    some(
        "2 steps, a daemon dies, attached anew",
        new Exploration.Scope(ring(2), 1, 0, 1, Set.of(Whim.RELEASE), MANY));
  }
}
