package io.batchweave.simulate;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.util.EnumSet;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * That the checker bites: each planted bug is found, by the promise that it breaks. Others are
 * found by exploration: see {@link ExplorerTest}.
 */
@Timeout(1_800)
class PlantedBugTest {
  private static final int MOST_SEEDS = 1_500;

  private static Arguments bug(Supplier<PlantedBug> bug, Promise promise, Promise... others) {
    return Arguments.of(bug.get().getClass().getSimpleName(), bug, EnumSet.of(promise, others));
  }

  static Stream<Arguments> bugs() {
    return Stream.of(
        bug(PlantedBugs.ConflictTakenAsExists::new, Promise.FAILED_IS_NEVER_IN_THE_LOG),
        bug(PlantedBugs.MissingTakenAsFailed::new, Promise.FAILED_IS_NEVER_IN_THE_LOG),
        bug(PlantedBugs.FailedReadTakenAsFailed::new, Promise.FAILED_IS_NEVER_IN_THE_LOG),
        bug(PlantedBugs.RetryTrustsPreconditionFailed::new, Promise.FAILED_IS_NEVER_IN_THE_LOG),
        bug(PlantedBugs.ExistsTakenAsSuccess::new, Promise.ACKNOWLEDGED_IS_IN_THE_LOG),
        bug(PlantedBugs.CleansUpAfterUnclear::new, Promise.EVERY_STEP_READABLE),
        bug(PlantedBugs.FenceCheckedBeforeTheCommit::new, Promise.ACKNOWLEDGED_IS_IN_THE_LOG),
        bug(PlantedBugs.SnapshotOffByOne::new, Promise.SNAPSHOT_IS_THE_FOLD),
        bug(PlantedBugs.SegmentTakenBecauseItExists::new, Promise.SEGMENT_IS_THE_LOG),
        bug(
            PlantedBugs.SourceStateBeforeTheFence::new,
            Promise.EACH_BATCH_ONCE_IN_ORDER,
            Promise.SOURCE_STATE_MATCHES),
        bug(PlantedBugs.EndForNotYet::new, Promise.END_ONLY_WHEN_SEALED),
        bug(PlantedBugs.SeqOfferedWithAnotherObject::new, Promise.SEQ_BOUND_TO_ONE_OBJECT),
        bug(PlantedBugs.CommitsWithoutFolding::new, Promise.NO_VOID_VERSION),
        bug(
            PlantedBugs.HelpsAnOldEpoch::new,
            Promise.SEQ_BOUND_TO_ONE_OBJECT,
            Promise.EACH_BATCH_ONCE_IN_ORDER,
            Promise.ACKNOWLEDGED_IS_IN_THE_LOG),
        bug(PlantedBugs.TrimDeletes::new, Promise.NOTHING_REMOVED),
        bug(PlantedBugs.HearsNoLists::new, Promise.PROGRESS),
        bug(PlantedBugs.AsksTwiceForEveryAnswer::new, Promise.PROGRESS),
        bug(PlantedBugs.AsksAgainAtOnce::new, Promise.REQUESTS_BOUNDED));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("bugs")
  void shouldBeFound(String name, Supplier<PlantedBug> bug, Set<Promise> promises) {
    assertFound(name, bug, promises);
  }

  /** Takes hundreds of seeds: the fence that is forgotten must lie behind a snapshot. */
  @Tag("full")
  @Test
  void shouldFindAnIncarnationThatFencesAgain() {
    assertFound(
        "FencesAgainAfterLosing",
        PlantedBugs.FencesAgainAfterLosing::new,
        EnumSet.of(Promise.INCARNATION_OWNS_ONCE));
  }

  private static void assertFound(String name, Supplier<PlantedBug> bug, Set<Promise> promises) {
    for (long seed = 0; seed < MOST_SEEDS; seed++) {
      for (Violation violation : Simulation.run(seed, bug.get()).violations()) {
        if (promises.contains(violation.promise())) {
          assertTrue(violation.toString().contains("seed=" + seed));
          return;
        }
      }
    }
    fail(name + " was not found in " + MOST_SEEDS + " seeds");
  }
}
