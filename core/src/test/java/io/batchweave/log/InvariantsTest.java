package io.batchweave.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.format.Block;
import io.batchweave.format.Block.Takeover;
import io.batchweave.format.Limits;
import io.batchweave.format.ManifestVersion;
import io.batchweave.format.SourceState;
import io.batchweave.format.VersionHeader;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.Consumer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Every predicate fires on the state it is there for, under its name. */
@Timeout(60)
class InvariantsTest {
  private final LogWriter log = new LogWriter(new TreeMap<>(), 1);
  private final State state = log.state();

  @BeforeEach
  void fill() {
    log.commit(new Block.Fence("p", 1, new UUID(1, 1)));
    log.commit(LogWriter.produce("p", 1, 1, 300));
    log.commit(new Block.OpenSession("g", "s", 10, Takeover.REFUSE, 0), new Block.Skip(50, 60, 0));
    log.commit(new Block.Pin("g", "s", 3, "a", 20, 2));
    log.commit(new Block.Pin("g", "s", 3, "b", 30, 2), new Block.Reclaim(5, 0));
    Invariants.check(state, Invariants.Level.FULL);
  }

  private static void broken(String predicate, Runnable check) {
    BatchWeaveException e = assertThrows(BatchWeaveException.class, check::run);
    assertEquals(Kind.CORRUPT, e.kind());
    assertTrue(e.toString().contains("predicate=" + predicate + " "), e::toString);
  }

  /** One way to break each predicate on a single state. */
  @SuppressWarnings("ImmutableEnumChecker")
  enum Damage {
    HORIZON(Invariants.Level.CHEAP, "horizonWithinSteps", s -> s.horizon = s.nextStep + 1),
    NEGATIVE_HORIZON(Invariants.Level.CHEAP, "horizonWithinSteps", s -> s.horizon = -1),
    LOST_ENTRY(
        Invariants.Level.CHEAP, "unfinishedSegmentIsTheTail", s -> s.unfinished.removeLast()),
    FULL_SEGMENT(
        Invariants.Level.CHEAP,
        "unfinishedSegmentIsTheTail",
        s -> {
          while (s.unfinished.size() < Limits.SEGMENT_STEPS) {
            s.unfinished.add(s.unfinished.getFirst());
          }
          s.nextStep = 512;
        }),
    EMPTY_LOG(Invariants.Level.CHEAP, "emptyLogIsEmpty", s -> s.version = 0),
    NEGATIVE_VERSION(Invariants.Level.CHEAP, "emptyLogIsEmpty", s -> s.version = -1),
    LIMIT(Invariants.Level.CHEAP, "withinLimits", s -> s.liveProducers = Limits.PRODUCERS + 1),
    EPOCH(Invariants.Level.FULL, "producersSound", s -> producer(s, 0, 1, 1, false)),
    SEQ(Invariants.Level.FULL, "producersSound", s -> producer(s, 1, 0, 1, false)),
    FUTURE_BLOCK(Invariants.Level.FULL, "producersSound", s -> producer(s, 1, 1, 99, false)),
    RETIRED_WITH_STATE(Invariants.Level.FULL, "producersSound", s -> producer(s, 1, 1, 1, true)),
    LIVE_COUNT(Invariants.Level.FULL, "producersSound", s -> s.liveProducers = 7),
    PIN_COUNT(Invariants.Level.FULL, "groupsSound", s -> s.pinCount = 7),
    GROUP_BASE(Invariants.Level.FULL, "groupsSound", s -> group(s, 99, s.group("g").pins())),
    PIN_ORDER(
        Invariants.Level.FULL, "groupsSound", s -> group(s, 3, s.group("g").pins().reversed())),
    RECLAIMED_PIN(Invariants.Level.FULL, "nothingProtectedReclaimed", s -> s.horizon = 21),
    PIN_BEYOND(
        Invariants.Level.FULL,
        "nothingProtectedReclaimed",
        s -> group(s, 3, List.of(new PinState("a", 3, 20), new PinState("b", 3, 999)))),
    OLD_SKIP(
        Invariants.Level.FULL, "skipsAboveHorizon", s -> s.skips.set(0, new SkipState(1, 5, 3))),
    EMPTY_SKIP(
        Invariants.Level.FULL, "skipsAboveHorizon", s -> s.skips.set(0, new SkipState(9, 9, 3))),
    SKIP_BASE(Invariants.Level.FULL, "skipsAboveHorizon", s -> s.lastSkipVersion = 2),
    SKIP_FUTURE(Invariants.Level.FULL, "skipsAboveHorizon", s -> s.lastSkipVersion = 99);

    private final Invariants.Level level;
    private final String predicate;
    private final Consumer<State> how;

    Damage(Invariants.Level level, String predicate, Consumer<State> how) {
      this.level = level;
      this.predicate = predicate;
      this.how = how;
    }
  }

  private static void producer(
      State s, int epoch, long nextSeq, long lastVersion, boolean retired) {
    s.producers.put(
        "p",
        new ProducerState(
            epoch, new UUID(1, 1), nextSeq, LogWriter.stateAfter(3), lastVersion, retired));
  }

  private static void group(State s, long changed, List<PinState> pins) {
    s.groups.put("g", new GroupState(changed, s.group("g").session(), pins));
  }

  @ParameterizedTest
  @EnumSource
  void shouldNameWhatIsBrokenInAState(Damage damage) {
    damage.how.accept(state);
    broken(damage.predicate, () -> Invariants.check(state, damage.level));
  }

  // ---- between two states

  private ManifestVersion next(Block... blocks) {
    return new ManifestVersion(log.header(), Arrays.asList(blocks), new UUID(5, 5), 100);
  }

  private void brokenAfter(String predicate, Consumer<State> damage, Block... blocks) {
    ManifestVersion version = next(blocks);
    Invariants.Before before = Invariants.before(state, version);
    FoldOutcome outcome = Fold.apply(state, version);
    damage.accept(state);
    broken(predicate, () -> Invariants.after(before, state, outcome));
  }

  @Test
  void shouldNameAVersionThatDoesNotFollow() {
    brokenAfter("versionsContiguousAndChained", s -> s.version++);
    brokenAfter("versionsContiguousAndChained", s -> s.commitId = new UUID(0, 0));
  }

  @Test
  void shouldNameASeqThatIsMissingOrDoubled() {
    brokenAfter(
        "seqsOnceAndContiguous",
        s -> producer(s, 1, 305, s.version, false),
        LogWriter.produce("p", 1, 301, 2));
  }

  @Test
  void shouldNameAnEpochThatMovedAlone() {
    brokenAfter(
        "epochsNeverDecrease",
        s -> producer(s, 2, 303, s.version, false),
        LogWriter.produce("p", 1, 301, 2));
  }

  @Test
  void shouldNameAStepThatWasSkipped() {
    brokenAfter("stepsContiguous", s -> s.nextStep++, LogWriter.produce("p", 1, 301, 2));
  }

  @Test
  void shouldNameAHorizonThatMovedAlone() {
    brokenAfter("horizonMonotone", s -> s.horizon = 4);
    state.horizon = 5;
    brokenAfter("horizonMonotone", s -> s.horizon = 6);
  }

  private void brokenOutcome(String predicate, Block block, long firstStep) {
    ManifestVersion version = next(block);
    Invariants.Before before = Invariants.before(state, version);
    VersionHeader header = version.header();
    state.version++;
    state.commitId = header.commitId();
    FoldOutcome outcome =
        new FoldOutcome(
            state.version,
            header,
            null,
            List.of(new BlockOutcome(block, Verdict.ACCEPTED, firstStep)),
            state.nextStep,
            state.nextStep,
            List.of());
    broken(predicate, () -> Invariants.after(before, state, outcome));
  }

  @Test
  void shouldNameABatchOfAnOlderEpoch() {
    log.commit(new Block.Fence("p", 2, new UUID(2, 2)));
    brokenOutcome("nothingOfAnOlderEpoch", LogWriter.produce("p", 1, 301, 1), 300);
  }

  @Test
  void shouldNameAFenceThatLeapt() {
    brokenOutcome("epochsNeverDecrease", new Block.Fence("p", 3, new UUID(2, 2)), -1);
  }

  @Test
  void shouldNameADoubledSeq() {
    brokenOutcome("seqsOnceAndContiguous", LogWriter.produce("p", 1, 300, 1), 300);
  }

  @Test
  void shouldNameABlockOutOfStep() {
    brokenOutcome("stepsContiguous", LogWriter.produce("p", 1, 301, 1), 299);
  }

  @Test
  void shouldNameAHorizonThatFell() {
    brokenOutcome("horizonMonotone", new Block.Reclaim(4, 5), -1);
  }

  @Test
  void shouldNameAStepAfterTheSeal() {
    log.commit(new Block.Seal());
    brokenOutcome("sealedForEver", LogWriter.produce("p", 1, 301, 1), 300);
  }

  @Test
  void shouldNameARetiredProducerThatReturns() {
    log.commit(new Block.Retire("p", 2));
    assertEquals(SourceState.NONE, Objects.requireNonNull(state.producer("p")).sourceState());
    brokenOutcome("retiredForEver", new Block.Fence("p", 2, new UUID(2, 2)), -1);
  }

  @Test
  void shouldRefuseASnapshotThatNoFoldCanHaveMade() {
    state.horizon = 25;
    broken("nothingProtectedReclaimed", () -> State.of(state.toRecord()));
  }
}
