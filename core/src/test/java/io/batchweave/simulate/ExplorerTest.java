package io.batchweave.simulate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.simulate.Explorer.Ends;
import io.batchweave.simulate.Explorer.Findings;
import io.batchweave.simulate.Explorer.Reduction;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every interleaving of small cases: two producers, each with two batches, who help each other; a
 * process that dies at any point (H1, A4) and is replaced at any later one, a change whose answer
 * is unclear or a conflict (A1, A2, A6), a second process of the same producer (C1, A9), a snapshot
 * that is due with the very version that fences, launches and skips, and a collector next to all
 * that registers or commits.
 */
@Timeout(3_600)
class ExplorerTest {
  private static final long MOST_STATES = 30_000_000;
  private static final long MANY_STATES = 5_000_000;
  private static final long FEW_STATES = 8_000;

  private static Scope empty() {
    return Scope.of(Prehistory.none());
  }

  private static void checkAll(SmallCase small, TestReporter reporter) {
    Findings findings = Explorer.explore(small, MOST_STATES);
    reporter.publishEntry(small.name(), findings.toString());
    assertNull(findings.violation(), findings::toString);
    assertTrue(findings.complete(), findings::toString);
    assertTrue(findings.ends() > 0, findings::toString);
    assertTrue(findings.collisionChance() < 1e-3, findings::toString);
  }

  @ParameterizedTest
  @EnumSource(
      names = {
        "DEATH_AND_UNCLEAR",
        "TWO",
        "FENCE_AND_SNAPSHOT",
        "DUPLICATE_AND_SNAPSHOT",
        "SKIP_SESSION_AND_RECLAIM",
        "ROLLBACK_RACE",
        "PIN_RACE",
        "PACK_OVER_THE_HORIZON"
      })
  void shouldKeepEveryPromiseInEveryInterleaving(SmallCase small, TestReporter reporter) {
    checkAll(small, reporter);
  }

  @Tag("full")
  @ParameterizedTest
  @EnumSource(
      mode = Mode.EXCLUDE,
      names = {
        "TWO_DEATH_AND_UNCLEAR",
        "DEATH_AND_UNCLEAR",
        "TWO",
        "FENCE_AND_SNAPSHOT",
        "DUPLICATE_AND_SNAPSHOT",
        "SKIP_SESSION_AND_RECLAIM",
        "ROLLBACK_RACE",
        "PIN_RACE",
        "PACK_OVER_THE_HORIZON"
      })
  void shouldKeepEveryPromiseInEveryInterleavingOfLargerCases(
      SmallCase small, TestReporter reporter) {
    checkAll(small, reporter);
  }

  /** The largest case: its tens of millions of states take more heap than a test has. */
  @Tag("full")
  @Test
  void shouldKeepEveryPromiseInMillionsOfInterleavingsOfTheLargestCase(TestReporter reporter) {
    Findings findings = Explorer.explore(SmallCase.TWO_DEATH_AND_UNCLEAR, MANY_STATES);
    reporter.publishEntry("TWO_DEATH_AND_UNCLEAR", findings.toString());
    assertNull(findings.violation(), findings::toString);
    assertTrue(findings.complete() || findings.states() >= MANY_STATES, findings::toString);
  }

  @ParameterizedTest
  @EnumSource(
      names = {
        "DUPLICATE_AND_UNCLEAR",
        "TWO_DEATH_AND_UNCLEAR",
        "FENCE_SNAPSHOT_SKIP_AND_SESSION",
        "HELPER_AND_COLLECTOR",
        "DEATH_AND_COLLECTOR"
      })
  void shouldKeepEveryPromiseInTheFirstInterleavings(SmallCase small) {
    Findings findings = Explorer.explore(small, FEW_STATES);
    assertNull(findings.violation(), findings::toString);
    assertTrue(findings.states() >= FEW_STATES, findings::toString);
    assertTrue(findings.ends() > 0, findings::toString);
  }

  /**
   * A launch that goes back while checkpoints move on and a collector runs, a pin below the horizon
   * to come: either the data is there or whoever registers is refused, and both do happen.
   */
  @Test
  void shouldEndRacesWithTheDataOrARefusal() {
    Ends rollback = new Ends();
    explore(SmallCase.ROLLBACK_RACE.scope(), Reduction.LOCAL_FIRST, rollback);
    assertEquals(
        Set.of(
            "horizon=1 session=accepted pin=accepted",
            "horizon=1 session=accepted pin=refused",
            "horizon=4 session=refused pin=accepted"),
        rollback.outcomes);
    Ends pin = new Ends();
    explore(SmallCase.PIN_RACE.scope(), Reduction.LOCAL_FIRST, pin);
    assertEquals(Set.of("horizon=0 pin=accepted", "horizon=1 pin=refused"), pin.outcomes);
  }

  private static Findings explore(Scope scope, Reduction reduction, Ends ends) {
    Findings findings = Explorer.explore(scope, PlantedBug.NONE, reduction, MOST_STATES, ends);
    assertNull(findings.violation(), findings::toString);
    assertTrue(findings.complete(), findings::toString);
    return findings;
  }

  static Stream<Scope> alike() {
    return Stream.of(empty().producers(1, 2).faults(0, 1), empty().producers(1, 1).faults(1, 1));
  }

  static Stream<Scope> comparable() {
    return Stream.of(
        empty().producers(1, 2).faults(1, 1).ticks(1),
        empty().producers(2, 1),
        empty().producers(1, 1).duplicates(1, 1).ticks(1),
        empty().producers(1, 2).faults(0, 2),
        Scope.of(Prehistory.snapshotDue()).producers(1, 1).duplicates(1, 1),
        SmallCase.PIN_RACE.scope(),
        SmallCase.PACK_OVER_THE_HORIZON.scope());
  }

  /** What machines have lived through makes no difference unless their fingerprints tell it. */
  @ParameterizedTest
  @MethodSource("alike")
  void shouldReachTheSameEndsWhateverStatesAreTakenToBeAlike(Scope scope) {
    checkAlike(scope);
  }

  /** The same of those who help each other. */
  @Tag("full")
  @Test
  void shouldReachTheSameEndsOfHelpersWhateverStatesAreTakenToBeAlike() {
    checkAlike(empty().producers(2, 1));
  }

  private static void checkAlike(Scope scope) {
    checkSameEnds(scope, Reduction.NOTHING_ALIKE, Reduction.NONE, Findings::states);
  }

  /** Both reach the same ends, the second by less. */
  private static void checkSameEnds(
      Scope scope, Reduction wholly, Reduction reduced, ToLongFunction<Findings> effort) {
    Ends of = new Ends();
    Ends ofLess = new Ends();
    Findings all = explore(scope, wholly, of);
    Findings fewer = explore(scope, reduced, ofLess);
    assertEquals(of.fingerprints, ofLess.fingerprints);
    assertEquals(of.outcomes, ofLess.outcomes);
    assertTrue(effort.applyAsLong(fewer) < effort.applyAsLong(all), () -> all + " " + fewer);
  }

  /** What is left out cannot be told: every end of the whole is an end of the reduced. */
  @ParameterizedTest
  @MethodSource("comparable")
  void shouldReachTheSameEndsWithAndWithoutReduction(Scope scope) {
    checkSameEnds(scope, Reduction.NONE, Reduction.LOCAL_FIRST, Findings::transitions);
  }

  /** A committer that does not list serves itself alone: told by what its versions hold. */
  @Test
  void shouldHelpAndTellACommitterThatDoesNotList() {
    Ends listing = new Ends();
    Explorer.explore(
        empty().producers(2, 1), PlantedBug.NONE, Reduction.LOCAL_FIRST, MOST_STATES, listing);
    assertTrue(listing.helped > 0);
    Ends blind = new Ends();
    Explorer.explore(
        empty().producers(2, 1),
        new PlantedBugs.DoesNotList(),
        Reduction.LOCAL_FIRST,
        MOST_STATES,
        blind);
    assertEquals(0, blind.helped);
  }

  static Stream<Arguments> bugs() {
    Scope alone = empty().producers(1, 2).faults(0, 1);
    Scope unclear = empty().producers(2, 2).faults(0, 1);
    Scope snapshot = Scope.of(Prehistory.snapshotDue()).producers(1, 1);
    return Stream.of(
        bug(PlantedBugs.ConflictTakenAsExists::new, alone, Promise.FAILED_IS_NEVER_IN_THE_LOG),
        bug(PlantedBugs.ExistsTakenAsSuccess::new, unclear, null),
        bug(PlantedBugs.CleansUpAfterUnclear::new, alone, Promise.EVERY_STEP_READABLE),
        bug(PlantedBugs.FenceCheckedBeforeTheCommit::new, unclear, null),
        bug(PlantedBugs.CommitsWithoutFolding::new, unclear, Promise.NO_VOID_VERSION),
        bug(
            PlantedBugs.JudgesAPackByItsFirstSeq::new,
            SmallCase.PACK_OVER_THE_HORIZON.scope(),
            Promise.EVERY_STEP_READABLE),
        bug(PlantedBugs.TrimDeletes::new, SmallCase.ROLLBACK_RACE.scope(), Promise.NOTHING_REMOVED),
        bug(PlantedBugs.SnapshotOffByOne::new, snapshot, Promise.SNAPSHOT_IS_THE_FOLD));
  }

  private static Arguments bug(Supplier<PlantedBug> bug, Scope scope, @Nullable Promise promise) {
    return Arguments.of(bug.get().getClass().getSimpleName(), bug, scope, promise);
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("bugs")
  void shouldFindAPlantedBug(
      String name, Supplier<PlantedBug> bug, Scope scope, @Nullable Promise promise) {
    for (Reduction reduction : List.of(Reduction.NONE, Reduction.LOCAL_FIRST)) {
      Findings findings = Explorer.explore(scope, bug.get(), reduction, MOST_STATES, new Ends());
      assertNotNull(findings.violation(), () -> name + " " + reduction);
      if (promise != null) {
        assertTrue(findings.violation().startsWith(promise.name()), findings::violation);
      }
    }
  }
}
