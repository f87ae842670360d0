package io.batchweave.simulate;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.simulate.Explorer.Findings;
import io.batchweave.simulate.Explorer.Scope;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every interleaving of small cases: two producers, each with two batches; a process that dies at
 * any point (H1, A4) and is replaced at any later one, a create whose answer is unclear or a
 * conflict (A1, A2, A6), a second process of the same producer (C1, A9), a snapshot that is due
 * with the very version that fences.
 */
@Timeout(1_800)
class ExplorerTest {
  private static final long MOST_STATES = 3_000_000;
  private static final long FEW_STATES = 40_000;

  private static void check(SmallCase small, long maxStates, TestReporter reporter) {
    Findings findings = Explorer.explore(small, maxStates);
    reporter.publishEntry(small.name(), findings.toString());
    assertNull(findings.violation(), findings::toString);
    assertTrue(findings.complete() || findings.states() >= maxStates, findings::toString);
    assertTrue(findings.ends() > 0 && findings.states() > findings.ends(), findings::toString);
  }

  /** As many interleavings as a few seconds allow: all of them where the case is small enough. */
  @ParameterizedTest
  @EnumSource(SmallCase.class)
  void shouldKeepEveryPromiseInTheFirstInterleavings(SmallCase small, TestReporter reporter) {
    check(small, FEW_STATES, reporter);
  }

  @ParameterizedTest
  @EnumSource(names = {"DEATH_AND_UNCLEAR", "FENCE_AND_SNAPSHOT", "DUPLICATE_AND_SNAPSHOT"})
  void shouldKeepEveryPromiseInEveryInterleaving(SmallCase small) {
    Findings findings = Explorer.explore(small, MOST_STATES);
    assertNull(findings.violation(), findings::toString);
    assertTrue(findings.complete(), findings::toString);
  }

  @Tag("full")
  @ParameterizedTest
  @EnumSource(SmallCase.class)
  void shouldKeepEveryPromiseInMillionsOfInterleavings(SmallCase small, TestReporter reporter) {
    check(small, MOST_STATES, reporter);
  }

  static Stream<Arguments> bugs() {
    Scope alone = new Scope(1, 2, 0, 1, 0, Prehistory.none());
    Scope unclear = new Scope(2, 2, 0, 1, 0, Prehistory.none());
    Scope snapshot = new Scope(1, 1, 0, 0, 0, Prehistory.snapshotDue());
    return Stream.of(
        bug(PlantedBugs.ConflictTakenAsExists::new, alone, Promise.FAILED_IS_NEVER_IN_THE_LOG),
        bug(PlantedBugs.ExistsTakenAsSuccess::new, unclear, null),
        bug(PlantedBugs.CleansUpAfterUnclear::new, alone, Promise.EVERY_STEP_READABLE),
        bug(PlantedBugs.FenceCheckedBeforeTheCommit::new, unclear, null),
        bug(PlantedBugs.CommitsWithoutFolding::new, unclear, Promise.NO_VOID_VERSION),
        bug(PlantedBugs.SnapshotOffByOne::new, snapshot, Promise.SNAPSHOT_IS_THE_FOLD));
  }

  private static Arguments bug(Supplier<PlantedBug> bug, Scope scope, @Nullable Promise promise) {
    return Arguments.of(bug.get().getClass().getSimpleName(), bug, scope, promise);
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("bugs")
  void shouldFindAPlantedBug(
      String name, Supplier<PlantedBug> bug, Scope scope, @Nullable Promise promise) {
    Findings findings = Explorer.explore(scope, bug.get(), MOST_STATES);
    assertNotNull(findings.violation(), name);
    if (promise != null) {
      assertTrue(findings.violation().startsWith(promise.name()), findings::violation);
    }
  }
}
