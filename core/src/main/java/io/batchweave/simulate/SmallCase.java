package io.batchweave.simulate;

import io.batchweave.commit.Proposal;
import io.batchweave.format.Block;
import io.batchweave.format.Block.Takeover;
import java.util.Locale;

/** The cases that are explored, each through every interleaving. */
public enum SmallCase {
  /** One producer dies at any point and is replaced at any later one; one unclear answer. */
  DEATH_AND_UNCLEAR,
  /** Two processes of one producer, one unclear answer. */
  DUPLICATE_AND_UNCLEAR,
  /** Two producers. */
  TWO,
  /** Two producers, one unclear answer. */
  TWO_AND_UNCLEAR,
  /** Two producers, one of them dies and is replaced. */
  TWO_AND_DEATH,
  /** Two producers, one dies and is replaced, one unclear answer. */
  TWO_DEATH_AND_UNCLEAR,
  /** The version that fences makes a snapshot due; one unclear answer. */
  FENCE_AND_SNAPSHOT,
  /** Two processes of one producer fence while a snapshot is due. */
  DUPLICATE_AND_SNAPSHOT,
  /** A fence, a launch and a skip meet in the version that makes a snapshot due. */
  FENCE_SNAPSHOT_SKIP_AND_SESSION,
  /** The same next to a reclaim. */
  SKIP_SESSION_AND_RECLAIM,
  /**
   * A launch goes back to an old checkpoint while the one before it registers a new checkpoint in
   * place of the old ones, and a collector runs.
   */
  ROLLBACK_RACE,
  /** A checkpoint is registered below those that stand, while a collector runs. */
  PIN_RACE,
  /** The horizon moves into the middle of a pack; the collector dies and runs again. */
  PACK_OVER_THE_HORIZON,
  /** A collector runs while batches are announced, and committed by whoever comes first. */
  HELPER_AND_COLLECTOR,
  /** The same for a producer that dies and begins again. */
  DEATH_AND_COLLECTOR;

  Scope scope() {
    return switch (this) {
      case DEATH_AND_UNCLEAR -> empty().producers(1, 2).faults(1, 1).ticks(1);
      case DUPLICATE_AND_UNCLEAR -> empty().producers(1, 2).duplicates(1, 2).faults(0, 1);
      case TWO -> empty().producers(2, 2);
      case TWO_AND_UNCLEAR -> empty().producers(2, 2).faults(0, 1);
      case TWO_AND_DEATH -> empty().producers(2, 2).faults(1, 0);
      case TWO_DEATH_AND_UNCLEAR -> empty().producers(2, 2).faults(1, 1);
      case FENCE_AND_SNAPSHOT -> snapshotDue().producers(1, 2).faults(0, 1);
      case DUPLICATE_AND_SNAPSHOT -> snapshotDue().producers(1, 1).duplicates(1, 1);
      case FENCE_SNAPSHOT_SKIP_AND_SESSION ->
          snapshotDue()
              .producers(1, 1)
              .proposal("session", launch("s2", 0))
              .proposal("skip", skip());
      case SKIP_SESSION_AND_RECLAIM ->
          checkpoints()
              .proposal("session", launch("s2", 1))
              .proposal("skip", skip())
              .proposal("reclaim", reclaim());
      case ROLLBACK_RACE ->
          checkpoints()
              .proposal("session", launch("s2", 1))
              .proposal("pin", checkpoint("c4", 4, 1))
              .collector();
      case PIN_RACE -> checkpoints().proposal("pin", pinAt(0)).collector().faults(0, 1);
      case PACK_OVER_THE_HORIZON -> checkpoints().collector().faults(1, 1);
      case HELPER_AND_COLLECTOR -> empty().producers(2, 2).collector();
      case DEATH_AND_COLLECTOR -> empty().producers(1, 2).collector().faults(1, 1);
    };
  }

  private static Scope empty() {
    return Scope.of(Prehistory.none());
  }

  private static Scope snapshotDue() {
    return Scope.of(Prehistory.snapshotDue());
  }

  private static Scope checkpoints() {
    return Scope.of(Prehistory.checkpoints());
  }

  private static Proposal launch(String id, long startStep) {
    return state ->
        new Block.OpenSession(
            Prehistory.GROUP,
            id,
            startStep,
            Takeover.SUPERSEDE,
            state.group(Prehistory.GROUP).changed());
  }

  /** By the launch that the log begins with. */
  private static Proposal checkpoint(String id, long step, int keep) {
    long view = Prehistory.checkpoints().state().group(Prehistory.GROUP).changed();
    return state -> new Block.Pin(Prehistory.GROUP, "s1", view, id, step, keep);
  }

  private static Proposal pinAt(long step) {
    return state ->
        new Block.OperatorPin(
            Prehistory.GROUP, "kept", step, state.group(Prehistory.GROUP).changed());
  }

  private static Proposal skip() {
    return state -> new Block.Skip(state.horizon() + 1, 3, state.lastSkipVersion());
  }

  private static Proposal reclaim() {
    return state -> {
      long step = Math.min(state.nextStep(), state.protectedStep());
      return step > state.horizon() ? new Block.Reclaim(step, state.horizon()) : null;
    };
  }

  /** Its name for people. */
  public String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /** Its name for people, and what is in it. */
  @Override
  public String toString() {
    Scope scope = scope();
    return label()
        + " (roles="
        + scope.parts().stream().map(Scope.Part::role).toList()
        + " batches="
        + scope.batches()
        + " deaths="
        + scope.crashes()
        + " unclear="
        + scope.unclear()
        + " log="
        + scope.prehistory()
        + ")";
  }
}
