package io.batchweave.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.Bytes;
import io.batchweave.format.Block;
import io.batchweave.format.Block.Takeover;
import io.batchweave.format.DataObject;
import io.batchweave.format.Limits;
import io.batchweave.format.SourceState;
import io.batchweave.format.VersionHeader;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.UUID;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** One test per row of the table of blocks, and per reason for ignoring one. */
@Timeout(60)
class FoldTest {
  private static final UUID X = new UUID(0, 1);
  private static final UUID Y = new UUID(0, 2);

  private final LogWriter log = new LogWriter(new TreeMap<>(), 1);
  private final State state = log.state();

  private void accepted(Block block) {
    assertEquals(Fold.Outlook.ACCEPTABLE, Fold.outlook(state, block));
    decided(Verdict.ACCEPTED, block);
  }

  private void decided(Verdict verdict, Block block) {
    assertEquals(verdict, Fold.accepts(state, block), block::toString);
    ignored(verdict, block);
  }

  /** Commits the block and expects the verdict, and nothing but a counter to change if ignored. */
  private void ignored(Verdict verdict, Block block) {
    State before = state.copy();
    FoldOutcome outcome = log.commit(block);
    assertEquals(verdict, outcome.blocks().getFirst().verdict(), block::toString);
    Invariants.check(state, Invariants.Level.FULL);
    if (!verdict.accepted()) {
      assertEquals(before.ignored(verdict) + 1, state.ignored(verdict));
      before.version = state.version;
      before.commitId = state.commitId;
      before.runningHash = state.runningHash;
      before.ignored.merge(verdict, 1L, Long::sum);
      assertEquals(before.toRecord(), state.toRecord());
      assertEquals(before.fingerprint(), state.fingerprint());
    }
  }

  private ProducerState producer(String id) {
    ProducerState producer = state.producer(id);
    if (producer == null) {
      throw new AssertionError("no such producer: " + id);
    }
    return producer;
  }

  private void steps(int count) {
    if (state.producer("p") == null) {
      accepted(new Block.Fence("p", 1, X));
    }
    ProducerState p = producer("p");
    accepted(LogWriter.produce("p", p.epoch(), p.nextSeq(), count));
  }

  /** Whoever offers such a block waits for its end: it must be told that it never comes. */
  @Test
  void shouldRuleABlockOutOnceTheHorizonHasPassedItsStep() {
    steps(20);
    accepted(new Block.OpenSession("g", "s", 10, Takeover.REFUSE, 0));
    accepted(new Block.Reclaim(10, 0));
    List<Block> late =
        List.of(
            new Block.Skip(4, 6, 0),
            new Block.OpenSession("other", "s", 9, Takeover.REFUSE, 0),
            new Block.OperatorPin("other", "pin", 9, 0));
    for (Block block : late) {
      assertEquals(Verdict.STEP_OUT_OF_RANGE, Fold.accepts(state, block));
      assertEquals(Fold.Outlook.NEVER, Fold.outlook(state, block));
    }
    assertEquals(Fold.Outlook.ACCEPTABLE, Fold.outlook(state, new Block.Skip(10, 12, 0)));
  }

  @Nested
  class Fence {
    @Test
    void shouldTakeTheFirstEpochWhenTheProducerIsNew() {
      assertEquals(Verdict.WRONG_EPOCH, Fold.accepts(state, new Block.Fence("p", 0, X)));
      decided(Verdict.WRONG_EPOCH, new Block.Fence("p", 2, X));
      accepted(new Block.Fence("p", 1, X));
      assertEquals(new ProducerState(1, X, 1, SourceState.NONE, 2, false), state.producer("p"));
      assertEquals(1, state.liveProducers());
    }

    @Test
    void shouldKeepSeqAndSourceStateWhenTheEpochChanges() {
      steps(3);
      accepted(new Block.Fence("p", 2, Y));
      assertEquals(
          new ProducerState(2, Y, 4, LogWriter.stateAfter(3), 3, false), state.producer("p"));
    }

    @Test
    void shouldIgnoreTheIncarnationThatOwnsTheEpoch() {
      accepted(new Block.Fence("p", 1, X));
      decided(Verdict.SAME_INCARNATION, new Block.Fence("p", 2, X));
      assertEquals(Fold.Outlook.NEVER, Fold.outlook(state, new Block.Fence("p", 2, X)));
    }

    /** A9: X's late fence wins the epoch that Y wanted; Y takes the next one. */
    @Test
    void shouldLetTheOtherTakeTheNextEpochWhenALateFenceWins() {
      accepted(new Block.Fence("p", 1, new UUID(0, 9)));
      accepted(new Block.Fence("p", 2, X));
      decided(Verdict.WRONG_EPOCH, new Block.Fence("p", 2, Y));
      assertEquals(Fold.Outlook.NEVER, Fold.outlook(state, new Block.Fence("p", 2, Y)));
      accepted(new Block.Fence("p", 3, Y));
    }

    @Test
    void shouldIgnoreAnEpochBeyondTheNextOne() {
      accepted(new Block.Fence("p", 1, X));
      decided(Verdict.WRONG_EPOCH, new Block.Fence("p", 3, Y));
      assertEquals(Fold.Outlook.LATER, Fold.outlook(state, new Block.Fence("p", 3, Y)));
    }

    @Test
    void shouldIgnoreARetiredProducer() {
      accepted(new Block.Fence("p", 1, X));
      accepted(new Block.Retire("p", 1));
      decided(Verdict.RETIRED, new Block.Fence("p", 2, Y));
      assertEquals(Fold.Outlook.NEVER, Fold.outlook(state, new Block.Fence("p", 2, Y)));
    }

    @Test
    void shouldRefuseNewProducersAtTheLimitUntilOneRetires() {
      accepted(new Block.Fence("p", 1, X));
      state.liveProducers = Limits.PRODUCERS;
      assertEquals(Verdict.OVER_LIMIT, Fold.accepts(state, new Block.Fence("q", 1, X)));
      assertEquals(Fold.Outlook.LATER, Fold.outlook(state, new Block.Fence("q", 1, X)));
      assertEquals(Verdict.ACCEPTED, Fold.accepts(state, new Block.Fence("p", 2, Y)));
      assertEquals(Verdict.ACCEPTED, Fold.offer(state, new Block.Retire("p", 1)));
      assertEquals(Verdict.ACCEPTED, Fold.accepts(state, new Block.Fence("q", 1, X)));
    }

    @Test
    void shouldIgnoreWhatIsNoName() {
      assertEquals(Verdict.MALFORMED, Fold.accepts(state, new Block.Fence("P", 1, X)));
      assertEquals(Verdict.MALFORMED, Fold.accepts(state, new Block.Fence("", 1, X)));
      assertEquals(Verdict.MALFORMED, Fold.accepts(state, new Block.Fence("p".repeat(65), 1, X)));
    }
  }

  @Nested
  class Produce {
    @Test
    void shouldGiveEachEntryTheNextStepWhenItsSeqIsNext() {
      accepted(new Block.Fence("p", 1, X));
      accepted(new Block.Fence("q", 1, Y));
      FoldOutcome outcome =
          log.commit(LogWriter.produce("p", 1, 1, 2), LogWriter.produce("q", 1, 1, 3));
      assertEquals(0, outcome.blocks().get(0).firstStep());
      assertEquals(2, outcome.blocks().get(1).firstStep());
      assertEquals(5, state.nextStep());
      assertEquals(3, producer("p").nextSeq());
      assertEquals(LogWriter.stateAfter(2), producer("p").sourceState());
      assertEquals(outcome.version(), producer("p").lastVersion());
      assertEquals(LogWriter.produce("q", 1, 1, 3).entries().get(1), state.entry(3));
      assertNull(state.entry(5));
      assertNull(state.entry(-1));
    }

    @Test
    void shouldIgnoreAnUnknownProducer() {
      decided(Verdict.UNKNOWN_PRODUCER, LogWriter.produce("p", 1, 1, 1));
      assertEquals(Fold.Outlook.LATER, Fold.outlook(state, LogWriter.produce("p", 1, 1, 1)));
    }

    /** C1, C5: nothing of an older epoch after a fence. */
    @Test
    void shouldIgnoreAnOlderEpochWhenTheProducerWasFenced() {
      steps(1);
      accepted(new Block.Fence("p", 2, Y));
      decided(Verdict.WRONG_EPOCH, LogWriter.produce("p", 1, 2, 1));
      assertEquals(Fold.Outlook.NEVER, Fold.outlook(state, LogWriter.produce("p", 1, 2, 1)));
      decided(Verdict.WRONG_EPOCH, LogWriter.produce("p", 3, 2, 1));
      assertEquals(Fold.Outlook.LATER, Fold.outlook(state, LogWriter.produce("p", 3, 2, 1)));
      accepted(LogWriter.produce("p", 2, 2, 1));
    }

    @Test
    void shouldIgnoreADoubleAndAGapOfSeqs() {
      steps(3);
      decided(Verdict.WRONG_SEQ, LogWriter.produce("p", 1, 1, 3));
      decided(Verdict.WRONG_SEQ, LogWriter.produce("p", 1, 3, 2));
      assertEquals(Fold.Outlook.NEVER, Fold.outlook(state, LogWriter.produce("p", 1, 3, 2)));
      decided(Verdict.WRONG_SEQ, LogWriter.produce("p", 1, 5, 1));
      assertEquals(Fold.Outlook.LATER, Fold.outlook(state, LogWriter.produce("p", 1, 5, 1)));
    }

    @Test
    void shouldTakeTheRestOfAnObjectWhenTheBlockBeginsLater() {
      steps(2);
      accepted(LogWriter.produce(new DataObject("p", 1, 2, 4, 9), 3));
      assertEquals(5, producer("p").nextSeq());
    }

    @Test
    void shouldIgnoreEverythingWhenSealed() {
      steps(1);
      accepted(new Block.Seal());
      decided(Verdict.SEALED, LogWriter.produce("p", 1, 2, 1));
      assertEquals(Fold.Outlook.NEVER, Fold.outlook(state, LogWriter.produce("p", 1, 2, 1)));
    }

    @Test
    void shouldIgnoreARetiredProducer() {
      steps(1);
      accepted(new Block.Retire("p", 2));
      decided(Verdict.RETIRED, LogWriter.produce("p", 1, 2, 1));
    }

    /** Without an entry a second copy would be as acceptable as the first. */
    @Test
    void shouldIgnoreABlockWithoutEntries() {
      steps(1);
      Block.Produce empty = new Block.Produce("p", 1, 2, List.of(), SourceState.NONE);
      assertEquals(Verdict.MALFORMED, Fold.accepts(state, empty));
      assertEquals(Fold.Outlook.NEVER, Fold.outlook(state, empty));
    }

    /** D14: an object is collected by what its name says, so it must say the truth. */
    @Test
    void shouldIgnoreObjectsWhoseNamesDoNotCoverTheBlock() {
      steps(1);
      Block.Produce right = LogWriter.produce("p", 1, 2, 2);
      for (DataObject wrong :
          List.of(
              new DataObject("q", 1, 2, 3, 0),
              new DataObject("p", 2, 2, 3, 0),
              new DataObject("p", 1, 1, 2, 0),
              new DataObject("p", 1, 3, 4, 0))) {
        Block.Produce block =
            new Block.Produce(
                "p",
                1,
                2,
                List.of(LogWriter.entry(wrong, 2, 0), LogWriter.entry(wrong, 3, 0)),
                right.sourceState());
        assertEquals(Verdict.MALFORMED, Fold.accepts(state, block), wrong::toString);
        SourceState external = new SourceState.External(wrong, 100, 0);
        Block.Produce otherState = new Block.Produce("p", 1, 2, right.entries(), external);
        boolean covers = wrong.producer().equals("p") && wrong.epoch() == 1 && wrong.lastSeq() > 2;
        assertEquals(
            covers ? Verdict.ACCEPTED : Verdict.MALFORMED,
            Fold.accepts(state, otherState),
            wrong::toString);
      }
      Block.Produce outOfLine =
          new Block.Produce("p", 1, 2, List.of(right.entries().get(1)), right.sourceState());
      assertEquals(Verdict.MALFORMED, Fold.accepts(state, outOfLine));
    }

    @Test
    void shouldIgnoreASourceStateOverTheLimits() {
      steps(1);
      Block.Produce block = LogWriter.produce("p", 1, 2, 1);
      DataObject object = block.entries().getFirst().object();
      for (SourceState tooLarge :
          List.of(
              new SourceState.Inline(Bytes.wrap(new byte[Limits.INLINE_SOURCE_STATE_BYTES + 1])),
              new SourceState.External(object, Limits.SOURCE_STATE_BYTES + 1L, 0),
              new SourceState.External(object, -1, 0))) {
        assertEquals(
            Verdict.OVER_LIMIT,
            Fold.accepts(state, new Block.Produce("p", 1, 2, block.entries(), tooLarge)));
      }
      for (SourceState largest :
          List.of(
              new SourceState.Inline(Bytes.wrap(new byte[Limits.INLINE_SOURCE_STATE_BYTES])),
              new SourceState.External(object, Limits.SOURCE_STATE_BYTES, 0))) {
        assertEquals(
            Verdict.ACCEPTED,
            Fold.accepts(state, new Block.Produce("p", 1, 2, block.entries(), largest)));
      }
    }

    @Test
    void shouldStopBeforeStepsOrSeqsOverflow() {
      steps(1);
      state.nextStep = Long.MAX_VALUE - 1;
      assertEquals(Verdict.OVER_LIMIT, Fold.accepts(state, LogWriter.produce("p", 1, 2, 2)));
    }

    @Test
    void shouldHandOutEverySegmentThatBecomesFull() {
      accepted(new Block.Fence("p", 1, X));
      FoldOutcome outcome =
          log.commit(LogWriter.produce("p", 1, 1, 300), LogWriter.produce("p", 1, 301, 300));
      assertEquals(2, outcome.completed().size());
      assertEquals(1, outcome.completed().get(1).index());
      assertEquals(LogWriter.stepsOf(2), state.unfinishedStep());
      assertEquals(600, state.nextStep());
      List<Long> seqs = new ArrayList<>();
      outcome.completed().forEach(s -> s.entries().forEach(e -> seqs.add(e.seq())));
      for (int step = 0; step < 512; step++) {
        assertEquals(step + 1, seqs.get(step));
      }
      Invariants.check(state, Invariants.Level.FULL);
    }
  }

  @Nested
  class Retire {
    @Test
    void shouldEndAProducerForEverWhenTheBaseIsItsLastBlock() {
      steps(2);
      decided(Verdict.WRONG_BASE, new Block.Retire("p", 1));
      assertEquals(Fold.Outlook.NEVER, Fold.outlook(state, new Block.Retire("p", 1)));
      assertEquals(Fold.Outlook.LATER, Fold.outlook(state, new Block.Retire("p", 9)));
      accepted(new Block.Retire("p", 2));
      assertEquals(new ProducerState(1, X, 3, SourceState.NONE, 4, true), state.producer("p"));
      assertEquals(0, state.liveProducers());
      decided(Verdict.RETIRED, new Block.Retire("p", 4));
    }

    @Test
    void shouldIgnoreAnUnknownProducer() {
      decided(Verdict.UNKNOWN_PRODUCER, new Block.Retire("p", 0));
    }
  }

  @Nested
  class Session {
    @Test
    void shouldRegisterALaunchWhenNoneIsLive() {
      steps(5);
      accepted(new Block.OpenSession("g", "s0", 3, Takeover.REFUSE, 0));
      assertEquals(new SessionState("s0", 3, 3, -1), state.group("g").session());
      assertEquals(3, state.group("g").changed());
      assertEquals(3, state.protectedStep());
    }

    @Test
    void shouldRefuseOrSupersedeALiveLaunch() {
      steps(5);
      accepted(new Block.OpenSession("g", "s0", 3, Takeover.REFUSE, 0));
      decided(Verdict.SESSION_LIVE, new Block.OpenSession("g", "s1", 3, Takeover.REFUSE, 3));
      accepted(new Block.OpenSession("g", "s1", 2, Takeover.SUPERSEDE, 3));
      assertEquals(new SessionState("s1", 5, 2, -1), state.group("g").session());
    }

    @Test
    void shouldIgnoreALaunchWhoseBaseWasOvertaken() {
      accepted(new Block.OpenSession("g", "s0", 0, Takeover.REFUSE, 0));
      Block late = new Block.OpenSession("g", "s1", 0, Takeover.SUPERSEDE, 0);
      decided(Verdict.WRONG_BASE, late);
      assertEquals(Fold.Outlook.NEVER, Fold.outlook(state, late));
    }

    @Test
    void shouldIgnoreAStartOutsideTheStream() {
      steps(5);
      Block beyond = new Block.OpenSession("g", "s0", 6, Takeover.REFUSE, 0);
      decided(Verdict.STEP_OUT_OF_RANGE, beyond);
      assertEquals(Fold.Outlook.LATER, Fold.outlook(state, beyond));
      accepted(new Block.OpenSession("h", "s0", 5, Takeover.REFUSE, 0));
      accepted(new Block.Reclaim(2, 0));
      decided(Verdict.STEP_OUT_OF_RANGE, new Block.OpenSession("g", "s0", 1, Takeover.REFUSE, 0));
      accepted(new Block.OpenSession("g", "s0", 2, Takeover.REFUSE, 0));
    }

    @Test
    void shouldRefuseNewGroupsAtTheLimit() {
      for (int i = 0; i < Limits.GROUPS; i++) {
        assertEquals(
            Verdict.ACCEPTED,
            Fold.offer(state, new Block.OpenSession("g" + i, "s", 0, Takeover.REFUSE, 0)));
      }
      state.version = 1;
      Block one = new Block.OpenSession("h", "s", 0, Takeover.REFUSE, 0);
      assertEquals(Verdict.OVER_LIMIT, Fold.accepts(state, one));
      assertEquals(Verdict.OVER_LIMIT, Fold.accepts(state, new Block.OperatorPin("h", "i", 0, 0)));
      assertEquals(
          Verdict.ACCEPTED,
          Fold.accepts(state, new Block.OpenSession("g1", "t", 0, Takeover.SUPERSEDE, 1)));
    }

    /** D17: within one version too a thing changes once, else its base would not be overtaken. */
    @Test
    void shouldIgnoreABaseThatIsTheVersionBeingApplied() {
      FoldOutcome outcome =
          log.commit(
              new Block.OpenSession("g", "s0", 0, Takeover.REFUSE, 0),
              new Block.OpenSession("g", "s1", 0, Takeover.SUPERSEDE, 1));
      assertEquals(Verdict.ACCEPTED, outcome.blocks().get(0).verdict());
      assertEquals(Verdict.WRONG_BASE, outcome.blocks().get(1).verdict());
    }
  }

  @Nested
  class EndSession {
    @Test
    void shouldStopProtectingWhenTheLaunchIsLive() {
      accepted(new Block.OpenSession("g", "s0", 0, Takeover.REFUSE, 0));
      decided(Verdict.NO_SUCH_SESSION, new Block.EndSession("g", "s1", 1));
      decided(Verdict.WRONG_BASE, new Block.EndSession("g", "s0", 0));
      accepted(new Block.EndSession("g", "s0", 1));
      assertNull(state.group("g").session());
      assertEquals(Long.MAX_VALUE, state.protectedStep());
      decided(Verdict.WRONG_BASE, new Block.EndSession("g", "s0", 1));
      decided(Verdict.NO_SUCH_SESSION, new Block.EndSession("g", "s0", 4));
    }
  }

  @Nested
  class Pins {
    private long session(String id, long startStep) {
      long base = state.group("g").changed();
      accepted(new Block.OpenSession("g", id, startStep, Takeover.SUPERSEDE, base));
      return state.version();
    }

    private List<Long> pinned() {
      return state.group("g").pins().stream().map(PinState::step).toList();
    }

    @Test
    void shouldKeepTheNewestOfTheGroup() {
      steps(50);
      long view = session("s0", 0);
      long changed = state.group("g").changed();
      for (int step = 10; step <= 40; step += 10) {
        accepted(new Block.Pin("g", "s0", view, "c" + step, step, 3));
      }
      assertEquals(List.of(20L, 30L, 40L), pinned());
      assertEquals(changed, state.group("g").changed());
      assertEquals(new SessionState("s0", view, 0, 40), state.group("g").session());
      assertEquals(20, state.protectedStep());
      accepted(new Block.Pin("g", "s0", view, "c45", 45, 1));
      assertEquals(List.of(45L), pinned());
    }

    /** D15: after a rollback the newer launch's pins are the newer ones, whatever their steps. */
    @Test
    void shouldCountALaterLaunchAsNewerWhenItRolledBack() {
      steps(50);
      long view = session("s0", 0);
      accepted(new Block.Pin("g", "s0", view, "a", 30, 2));
      accepted(new Block.Pin("g", "s0", view, "b", 40, 2));
      long second = session("s1", 10);
      accepted(new Block.Pin("g", "s1", second, "c", 20, 2));
      assertEquals(List.of(40L, 20L), pinned());
      accepted(new Block.Pin("g", "s1", second, "d", 25, 2));
      assertEquals(List.of(20L, 25L), pinned());
    }

    /** D15, D17: late copies, also after the id came back with a later launch. */
    @Test
    void shouldIgnoreLateCopies() {
      steps(50);
      long view = session("s0", 0);
      Block pin = new Block.Pin("g", "s0", view, "a", 30, 2);
      accepted(pin);
      decided(Verdict.PIN_NOT_NEWER, pin);
      assertEquals(Fold.Outlook.NEVER, Fold.outlook(state, pin));
      session("s0", 10);
      decided(Verdict.NO_SUCH_SESSION, pin);
      assertEquals(Fold.Outlook.NEVER, Fold.outlook(state, pin));
      assertEquals(10, state.protectedStep());
    }

    @Test
    void shouldIgnoreWhatIsNotLiveOrOutsideTheStream() {
      steps(20);
      decided(Verdict.NO_SUCH_SESSION, new Block.Pin("g", "s0", 3, "a", 3, 1));
      long view = session("s0", 5);
      decided(Verdict.STEP_OUT_OF_RANGE, new Block.Pin("g", "s0", view, "a", 21, 1));
      assertEquals(
          Fold.Outlook.LATER, Fold.outlook(state, new Block.Pin("g", "s0", view, "a", 21, 1)));
      assertEquals(
          Fold.Outlook.LATER, Fold.outlook(state, new Block.Pin("g", "s0", 99, "a", 9, 1)));
      accepted(new Block.Reclaim(5, 0));
      decided(Verdict.STEP_OUT_OF_RANGE, new Block.Pin("g", "s0", view, "a", 4, 1));
      assertEquals(
          Fold.Outlook.NEVER, Fold.outlook(state, new Block.Pin("g", "s0", view, "a", 4, 1)));
      assertEquals(
          Verdict.MALFORMED, Fold.accepts(state, new Block.Pin("g", "s0", view, "a", 9, 0)));
      decided(Verdict.NO_SUCH_SESSION, new Block.Pin("g", "s1", view, "a", 9, 1));
    }

    @Test
    void shouldLeaveAnOperatorsPinAlone() {
      steps(50);
      accepted(new Block.OperatorPin("g", "keep", 7, 0));
      long view = session("s0", 0);
      accepted(new Block.Pin("g", "s0", view, "keep", 30, 1));
      accepted(new Block.Pin("g", "s0", view, "b", 40, 1));
      assertEquals(List.of(7L, 40L), pinned());
      decided(Verdict.WRONG_BASE, new Block.OperatorPin("g", "also", 8, 0));
      decided(
          Verdict.STEP_OUT_OF_RANGE,
          new Block.OperatorPin("g", "also", 51, state.group("g").changed()));
      accepted(new Block.OperatorPin("g", "also", 45, state.group("g").changed()));
      assertEquals(List.of(7L, 45L, 40L), pinned());
    }

    @Test
    void shouldRemoveByIdWhenTheBaseIsCurrent() {
      steps(50);
      accepted(new Block.OperatorPin("g", "a", 7, 0));
      decided(Verdict.NO_SUCH_PIN, new Block.Unpin("g", "b", 3));
      decided(Verdict.WRONG_BASE, new Block.Unpin("g", "a", 0));
      accepted(new Block.Unpin("g", "a", 3));
      assertEquals(List.of(), pinned());
      assertEquals(0, state.pinCount);
      decided(Verdict.WRONG_BASE, new Block.Unpin("g", "a", 3));
    }

    @Test
    void shouldRefuseMorePinsThanTheLimitUnlessOneGoes() {
      steps(50);
      long view = session("s0", 0);
      accepted(new Block.Pin("g", "s0", view, "a", 10, 9));
      state.pinCount = Limits.PINS;
      assertEquals(
          Verdict.OVER_LIMIT, Fold.accepts(state, new Block.Pin("g", "s0", view, "b", 20, 9)));
      assertEquals(
          Verdict.ACCEPTED, Fold.accepts(state, new Block.Pin("g", "s0", view, "b", 20, 1)));
      assertEquals(
          Verdict.OVER_LIMIT,
          Fold.accepts(state, new Block.OperatorPin("g", "c", 20, state.group("g").changed())));
    }
  }

  @Nested
  class Skip {
    @Test
    void shouldHoldForSessionsThatStartLater() {
      steps(20);
      accepted(new Block.Skip(5, 8, 0));
      accepted(new Block.Skip(8, 9, 3));
      assertFalse(state.skipped(5, 2));
      assertTrue(state.skipped(5, 3));
      assertTrue(state.skipped(7, 4));
      assertFalse(state.skipped(8, 3));
      assertEquals(5, state.nextUnskipped(5, 2));
      assertEquals(8, state.nextUnskipped(5, 3));
      assertEquals(9, state.nextUnskipped(6, 4));
    }

    @Test
    void shouldIgnoreALateCopyAndWhatMakesNoSense() {
      steps(20);
      accepted(new Block.Skip(5, 8, 0));
      decided(Verdict.WRONG_BASE, new Block.Skip(5, 8, 0));
      assertEquals(Fold.Outlook.NEVER, Fold.outlook(state, new Block.Skip(5, 8, 0)));
      decided(Verdict.MALFORMED, new Block.Skip(8, 8, 3));
      accepted(new Block.OpenSession("g", "s", 20, Takeover.REFUSE, 0));
      accepted(new Block.Reclaim(7, 0));
      decided(Verdict.STEP_OUT_OF_RANGE, new Block.Skip(6, 9, 3));
    }

    @Test
    void shouldForgetWhatIsWhollyBelowTheHorizonButNotItsBase() {
      steps(20);
      accepted(new Block.Skip(5, 8, 0));
      accepted(new Block.Skip(7, 10, 3));
      accepted(new Block.OpenSession("g", "s", 20, Takeover.REFUSE, 0));
      accepted(new Block.Reclaim(8, 0));
      assertEquals(List.of(new SkipState(7, 10, 4)), state.skips());
      accepted(new Block.Reclaim(10, 8));
      assertEquals(List.of(), state.skips());
      decided(Verdict.WRONG_BASE, new Block.Skip(12, 13, 0));
      accepted(new Block.Skip(12, 13, 4));
    }

    @Test
    void shouldRefuseMoreThanTheLimit() {
      for (int i = 0; i < Limits.SKIPS; i++) {
        assertEquals(
            Verdict.ACCEPTED, Fold.offer(state, new Block.Skip(0, 1, state.lastSkipVersion())));
        state.version++;
      }
      Block more = new Block.Skip(0, 1, state.lastSkipVersion());
      assertEquals(Verdict.OVER_LIMIT, Fold.accepts(state, more));
    }
  }

  @Nested
  class Reclaim {
    @Test
    void shouldMoveTheHorizonUpToWhatIsProtected() {
      steps(50);
      accepted(new Block.OpenSession("g", "s", 20, Takeover.REFUSE, 0));
      accepted(new Block.OperatorPin("h", "a", 15, 0));
      decided(Verdict.STEP_PROTECTED, new Block.Reclaim(16, 0));
      assertEquals(Fold.Outlook.LATER, Fold.outlook(state, new Block.Reclaim(16, 0)));
      accepted(new Block.Reclaim(15, 0));
      assertEquals(15, state.horizon());
      decided(Verdict.WRONG_BASE, new Block.Reclaim(15, 0));
      decided(Verdict.STEP_OUT_OF_RANGE, new Block.Reclaim(15, 15));
      decided(Verdict.STEP_OUT_OF_RANGE, new Block.Reclaim(51, 15));
    }

    @Test
    void shouldFollowTheLastPinOfALaunch() {
      steps(50);
      accepted(new Block.OpenSession("g", "s", 20, Takeover.REFUSE, 0));
      long view = state.version();
      accepted(new Block.Pin("g", "s", view, "a", 30, 1));
      decided(Verdict.STEP_PROTECTED, new Block.Reclaim(31, 0));
      accepted(new Block.Reclaim(30, 0));
    }

    /** P5: when nothing is registered nobody can say what may go. */
    @Test
    void shouldIgnoreItWhenNothingIsRegistered() {
      steps(50);
      decided(Verdict.NOTHING_REGISTERED, new Block.Reclaim(10, 0));
      accepted(new Block.OpenSession("g", "s", 20, Takeover.REFUSE, 0));
      accepted(new Block.EndSession("g", "s", state.version()));
      decided(Verdict.NOTHING_REGISTERED, new Block.Reclaim(10, 0));
    }
  }

  @Nested
  class Seal {
    @Test
    void shouldEndTheStreamOnce() {
      steps(3);
      accepted(new Block.Seal());
      assertTrue(state.sealed());
      decided(Verdict.SEALED, new Block.Seal());
      assertEquals(Fold.Outlook.NEVER, Fold.outlook(state, new Block.Seal()));
      accepted(new Block.Fence("q", 1, X));
    }
  }

  @Nested
  class VoidVersion {
    private VersionHeader lie(int field) {
      VersionHeader h = log.header();
      UUID no = new UUID(6, 6);
      return new VersionHeader(
          field == 0 ? no : h.streamId(),
          field == 1 ? h.version() + 1 : h.version(),
          h.commitId(),
          field == 2 ? no : h.parentCommitId(),
          field == 3 ? h.nextStep() + 1 : h.nextStep(),
          field == 4 ? h.horizon() + 1 : h.horizon(),
          field == 5 ? no : h.runningHash(),
          h.newestSnapshot(),
          h.paceMillis());
    }

    @Test
    void shouldCountAndChainButIgnoreTheBlocksOfALyingHeader() {
      steps(3);
      List<String> fields =
          List.of("streamId", "version", "parentCommitId", "nextStep", "horizon", "runningHash");
      for (int field = 0; field < fields.size(); field++) {
        long version = state.version();
        VersionHeader header = lie(field);
        FoldOutcome outcome =
            log.commit(header, List.of(LogWriter.produce("p", 1, 4, 1), new Block.Seal()));
        assertTrue(outcome.isVoid());
        assertTrue(String.valueOf(outcome.voidReason()).startsWith(fields.get(field) + ":"));
        assertEquals(version + 1, state.version());
        assertEquals(header.commitId(), state.commitId());
        assertEquals(3, state.nextStep());
        assertFalse(state.sealed());
        assertEquals(field + 1, state.voidVersions());
        assertEquals(2L * (field + 1), state.ignored(Verdict.VOID_VERSION));
      }
      assertFalse(log.commit(LogWriter.produce("p", 1, 4, 1)).isVoid());
      assertEquals(4, state.nextStep());
    }

    @Test
    void shouldHaveTheStreamIdAsParentOfVersionOne() {
      assertEquals(LogWriter.STREAM, log.header().parentCommitId());
      assertFalse(log.commit().isVoid());
    }
  }

  @Test
  void shouldDecideBlocksOfOneVersionInOrder() {
    FoldOutcome outcome =
        log.commit(
            new Block.Fence("p", 1, X),
            LogWriter.produce("p", 1, 1, 1),
            new Block.Fence("p", 2, Y),
            LogWriter.produce("p", 1, 2, 1),
            LogWriter.produce("p", 2, 2, 1));
    assertEquals(
        List.of(
            Verdict.ACCEPTED,
            Verdict.ACCEPTED,
            Verdict.ACCEPTED,
            Verdict.WRONG_EPOCH,
            Verdict.ACCEPTED),
        outcome.blocks().stream().map(BlockOutcome::verdict).toList());
  }

  @Test
  void shouldNotChangeTheOriginalWhenACopyGoesOn() {
    steps(3);
    long fingerprint = state.fingerprint();
    State copy = state.copy();
    assertEquals(fingerprint, copy.fingerprint());
    assertEquals(Verdict.ACCEPTED, Fold.offer(copy, LogWriter.produce("p", 1, 4, 300)));
    Fold.offer(copy, new Block.OpenSession("g", "s", 0, Takeover.REFUSE, 0));
    Fold.offer(copy, new Block.Skip(1, 2, 0));
    assertEquals(fingerprint, state.fingerprint());
  }
}
