package io.batchweave.log;

import io.batchweave.BatchWeaveException;
import io.batchweave.format.Block;
import io.batchweave.format.Limits;
import io.batchweave.format.ManifestVersion;
import io.batchweave.format.SourceState;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What is always true of the state, each a named predicate. Run after every read (each version that
 * is folded, each snapshot that is opened) and before every write (each version and snapshot that
 * is about to be created). They are written against the effect, not with the code of {@link Fold}.
 *
 * <p>Between a state and the next one ({@link #after}), in the blocks of the version:
 *
 * <ol>
 *   <li>{@code versionsContiguousAndChained}: the version grows by one and names the one before as
 *       its parent, or is void
 *   <li>{@code seqsOnceAndContiguous}: a producer's accepted batches begin at its next seq, one
 *       after the other, and its next seq grows by exactly their number
 *   <li>{@code epochsNeverDecrease}: they grow by one with each accepted fence, and only so
 *   <li>{@code nothingOfAnOlderEpoch}: an accepted batch has the epoch that is current where it
 *       stands
 *   <li>{@code stepsContiguous}: the next step grows by exactly the accepted entries, and each
 *       block's steps follow those before
 *   <li>{@code horizonMonotone}: it never falls, and moves only by an accepted reclaim
 *   <li>{@code sealedForEver}: a sealed stream stays sealed and takes no step
 *   <li>{@code retiredForEver}: a retired producer stays as it is
 * </ol>
 *
 * <p>In one state, cheap ({@link Level#CHEAP}):
 *
 * <ol>
 *   <li>{@code horizonWithinSteps}: 0 <= horizon <= nextStep
 *   <li>{@code unfinishedSegmentIsTheTail}: it holds exactly nextStep mod 256 entries
 *   <li>{@code emptyLogIsEmpty}: version 0 holds nothing
 *   <li>{@code withinLimits}: producers, groups, pins and skips
 * </ol>
 *
 * <p>In one state, linear in its size ({@link Level#FULL}):
 *
 * <ol>
 *   <li>{@code producersSound}: epoch and next seq from 1, last version within the log, nothing
 *       left of a retired one, the live ones counted
 *   <li>{@code groupsSound}: one live session at most, not newer than its group's last change, its
 *       last pin within the steps; pins in order and counted
 *   <li>{@code nothingProtectedReclaimed}: no session or pin asks for a step below the horizon or
 *       beyond the head
 *   <li>{@code skipsAboveHorizon}: in order of version, none is empty or wholly below the horizon
 * </ol>
 */
public final class Invariants {
  private Invariants() {}

  /** How much is looked at. */
  public enum Level {
    /** What costs nothing next to a request. */
    CHEAP,
    /** All of the state. */
    FULL
  }

  /** What is remembered of the state before a version, to be held against the one after it. */
  public static final class Before {
    private final long version;
    private final java.util.UUID commitId;
    private final long nextStep;
    private final long horizon;
    private final boolean sealed;
    private final Map<String, @Nullable ProducerState> producers = new HashMap<>();

    private Before(State state) {
      this.version = state.version();
      this.commitId = state.commitId();
      this.nextStep = state.nextStep();
      this.horizon = state.horizon();
      this.sealed = state.sealed();
    }
  }

  /**
   * Remembers what a version may change; linear in its blocks.
   *
   * @param state before the version is applied
   * @param version the version
   */
  public static Before before(State state, ManifestVersion version) {
    Before before = new Before(state);
    for (Block block : version.blocks()) {
      String producer = producerOf(block);
      if (producer != null) {
        before.producers.put(producer, state.producer(producer));
      }
    }
    return before;
  }

  /**
   * Checks what a version did.
   *
   * @param before what {@link #before} remembered
   * @param state after the version was applied
   * @param outcome what the fold says it did
   * @throws BatchWeaveException CORRUPT, naming the predicate
   */
  public static void after(Before before, State state, FoldOutcome outcome) {
    versionsContiguousAndChained(before, state, outcome);
    Replay replay = new Replay(before);
    for (BlockOutcome block : outcome.blocks()) {
      if (block.accepted()) {
        require(!outcome.isVoid(), "versionsContiguousAndChained", "accepted in a void version");
        replay.accepted(block);
      }
    }
    replay.compare(state, outcome);
    check(state, Level.CHEAP);
  }

  /**
   * Checks a state on its own.
   *
   * @param state any state
   * @param level how much is looked at
   * @throws BatchWeaveException CORRUPT, naming the predicate
   */
  public static void check(State state, Level level) {
    horizonWithinSteps(state);
    unfinishedSegmentIsTheTail(state);
    emptyLogIsEmpty(state);
    withinLimits(state);
    if (level == Level.FULL) {
      producersSound(state);
      groupsSound(state);
      nothingProtectedReclaimed(state);
      skipsAboveHorizon(state);
    }
  }

  static void require(boolean holds, String predicate, String detail) {
    if (!holds) {
      throw new BatchWeaveException(
          BatchWeaveException.Kind.CORRUPT,
          "invariant broken: predicate="
              + predicate
              + " "
              + detail
              + "; stop every writer of this stream and keep its objects for inspection");
    }
  }

  private static void versionsContiguousAndChained(
      Before before, State state, FoldOutcome outcome) {
    boolean chained = outcome.isVoid() || outcome.header().parentCommitId().equals(before.commitId);
    require(
        chained
            && state.version() == before.version + 1
            && outcome.version() == state.version()
            && state.commitId().equals(outcome.header().commitId()),
        "versionsContiguousAndChained",
        "before=" + before.version + " after=" + state.version());
  }

  private static void horizonWithinSteps(State state) {
    require(
        0 <= state.horizon() && state.horizon() <= state.nextStep(),
        "horizonWithinSteps",
        "horizon=" + state.horizon() + " nextStep=" + state.nextStep());
  }

  private static void unfinishedSegmentIsTheTail(State state) {
    require(
        state.unfinishedStep() % Limits.SEGMENT_STEPS == 0
            && state.nextStep() - state.unfinishedStep() < Limits.SEGMENT_STEPS,
        "unfinishedSegmentIsTheTail",
        "unfinishedStep=" + state.unfinishedStep() + " nextStep=" + state.nextStep());
  }

  private static void emptyLogIsEmpty(State state) {
    boolean empty =
        state.nextStep() == 0
            && !state.sealed()
            && state.producers.isEmpty()
            && state.groups.isEmpty()
            && state.skips.isEmpty()
            && state.commitId().equals(state.streamId())
            && state.runningHash().equals(state.streamId());
    require(
        state.version() > 0 || (state.version() == 0 && empty),
        "emptyLogIsEmpty",
        "version=" + state.version());
  }

  private static void withinLimits(State state) {
    require(
        state.liveProducers() <= Limits.PRODUCERS
            && state.groups.size() <= Limits.GROUPS
            && state.pinCount <= Limits.PINS
            && state.skips.size() <= Limits.SKIPS,
        "withinLimits",
        "liveProducers="
            + state.liveProducers()
            + " groups="
            + state.groups.size()
            + " pins="
            + state.pinCount
            + " skips="
            + state.skips.size());
  }

  private static void producersSound(State state) {
    int live = 0;
    for (Map.Entry<String, ProducerState> entry : state.producers.entrySet()) {
      ProducerState producer = entry.getValue();
      live += producer.retired() ? 0 : 1;
      require(
          producer.epoch() >= 1
              && producer.nextSeq() >= ProducerState.FIRST_SEQ
              && producer.lastVersion() >= 1
              && producer.lastVersion() <= state.version()
              && (!producer.retired() || producer.sourceState().equals(SourceState.NONE)),
          "producersSound",
          "producer=" + entry.getKey() + " state=" + producer);
    }
    require(
        live == state.liveProducers(),
        "producersSound",
        "counted=" + state.liveProducers() + " live=" + live);
  }

  private static void groupsSound(State state) {
    int pins = 0;
    for (Map.Entry<String, GroupState> entry : state.groups.entrySet()) {
      GroupState group = entry.getValue();
      SessionState session = group.session();
      boolean sound = 1 <= group.changed() && group.changed() <= state.version();
      if (session != null) {
        sound &= 1 <= session.view() && session.view() <= group.changed();
        sound &= session.lastPin() >= -1 && session.startStep() >= 0;
      }
      PinState previous = null;
      for (PinState pin : group.pins()) {
        sound &= pin.view() >= 0 && pin.view() <= state.version();
        sound &= previous == null || previous.compareTo(pin) <= 0;
        previous = pin;
      }
      pins += group.pins().size();
      require(sound, "groupsSound", "group=" + entry.getKey() + " state=" + group);
    }
    require(pins == state.pinCount, "groupsSound", "counted=" + state.pinCount + " pins=" + pins);
  }

  private static void nothingProtectedReclaimed(State state) {
    for (Map.Entry<String, GroupState> entry : state.groups.entrySet()) {
      GroupState group = entry.getValue();
      SessionState session = group.session();
      boolean within = group.protectedStep() >= state.horizon();
      within &= session == null || session.protectedStep() <= state.nextStep();
      for (PinState pin : group.pins()) {
        within &= pin.step() <= state.nextStep();
      }
      require(
          within,
          "nothingProtectedReclaimed",
          "group="
              + entry.getKey()
              + " protectedStep="
              + group.protectedStep()
              + " horizon="
              + state.horizon()
              + " nextStep="
              + state.nextStep());
    }
  }

  private static void skipsAboveHorizon(State state) {
    long previous = 0;
    for (SkipState skip : state.skips) {
      require(
          skip.from() < skip.to()
              && skip.from() >= 0
              && skip.to() > state.horizon()
              && skip.version() > previous
              && skip.version() <= state.lastSkipVersion(),
          "skipsAboveHorizon",
          "skip=" + skip + " horizon=" + state.horizon());
      previous = skip.version();
    }
    require(
        state.lastSkipVersion() >= 0 && state.lastSkipVersion() <= state.version(),
        "skipsAboveHorizon",
        "lastSkipVersion=" + state.lastSkipVersion() + " version=" + state.version());
  }

  private static @Nullable String producerOf(Block block) {
    return switch (block) {
      case Block.Fence b -> b.producer();
      case Block.Produce b -> b.producer();
      case Block.Retire b -> b.producer();
      default -> null;
    };
  }

  /** The accepted blocks of one version once more, counted instead of applied. */
  private static final class Replay {
    private final Before before;
    private final Map<String, Integer> epochs = new HashMap<>();
    private final Map<String, Long> seqs = new HashMap<>();
    private long nextStep;
    private long horizon;

    Replay(Before before) {
      this.before = before;
      this.nextStep = before.nextStep;
      this.horizon = before.horizon;
      before.producers.forEach((id, producer) -> {
        epochs.put(id, producer == null ? 0 : producer.epoch());
        seqs.put(id, producer == null ? ProducerState.FIRST_SEQ : producer.nextSeq());
      });
    }

    void accepted(BlockOutcome outcome) {
      String producer = producerOf(outcome.block());
      if (producer != null) {
        ProducerState old = before.producers.get(producer);
        require(old == null || !old.retired(), "retiredForEver", "producer=" + producer);
      }
      switch (outcome.block()) {
        case Block.Fence b -> {
          require(
              b.epoch() == epochs.getOrDefault(b.producer(), 0) + 1,
              "epochsNeverDecrease",
              "producer=" + b.producer() + " epoch=" + b.epoch());
          epochs.put(b.producer(), b.epoch());
        }
        case Block.Produce b -> produced(b, outcome.firstStep());
        case Block.Reclaim b -> {
          require(b.step() > horizon, "horizonMonotone", "from=" + horizon + " to=" + b.step());
          horizon = b.step();
        }
        default -> {}
      }
    }

    private void produced(Block.Produce block, long firstStep) {
      String at = "producer=" + block.producer() + " firstSeq=" + block.firstSeq();
      require(!before.sealed, "sealedForEver", at);
      require(
          block.epoch() == epochs.getOrDefault(block.producer(), 0),
          "nothingOfAnOlderEpoch",
          at + " epoch=" + block.epoch());
      require(
          block.firstSeq() == seqs.getOrDefault(block.producer(), -1L),
          "seqsOnceAndContiguous",
          at + " expected=" + seqs.get(block.producer()));
      require(firstStep == nextStep, "stepsContiguous", at + " firstStep=" + firstStep);
      seqs.put(block.producer(), block.firstSeq() + block.entries().size());
      nextStep += block.entries().size();
    }

    void compare(State state, FoldOutcome outcome) {
      require(
          state.nextStep() == nextStep && outcome.nextStep() == nextStep,
          "stepsContiguous",
          "expected=" + nextStep + " nextStep=" + state.nextStep());
      require(
          state.horizon() == horizon,
          "horizonMonotone",
          "expected=" + horizon + " horizon=" + state.horizon());
      require(!before.sealed || state.sealed(), "sealedForEver", "version=" + state.version());
      for (Map.Entry<String, Integer> entry : epochs.entrySet()) {
        ProducerState producer = state.producer(entry.getKey());
        int epoch = producer == null ? 0 : producer.epoch();
        long seq = producer == null ? ProducerState.FIRST_SEQ : producer.nextSeq();
        require(epoch == entry.getValue(), "epochsNeverDecrease", "producer=" + entry.getKey());
        require(
            seq == seqs.getOrDefault(entry.getKey(), -1L),
            "seqsOnceAndContiguous",
            "producer=" + entry.getKey() + " nextSeq=" + seq);
      }
    }
  }
}
