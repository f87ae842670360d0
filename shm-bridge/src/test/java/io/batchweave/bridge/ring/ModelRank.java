package io.batchweave.bridge.ring;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A rank of a {@link RingWorld}: one process after another at one coordinate. */
final class ModelRank {
  /** Its place in the list of all ranks of all launches. */
  final int number;

  /** Its coordinate. */
  final int index;

  final SessionKey session;
  boolean alive = true;
  boolean finished;
  long nextStep;

  /** The step that this process took last; -1 when none. */
  long lastStep = -1;

  @Nullable ModelReader file;
  final List<ModelReader> former = new ArrayList<>();
  boolean said;
  RingCommand.@Nullable Welcome welcome;
  boolean attached;
  boolean taking;
  Id128 previous = Id128.NONE;
  int refusals;

  ModelRank(int number, int index, SessionKey session) {
    this.number = number;
    this.index = index;
    this.session = session;
  }

  /** The same without its files. */
  ModelRank copy() {
    ModelRank copy = new ModelRank(number, index, session);
    copy.alive = alive;
    copy.finished = finished;
    copy.nextStep = nextStep;
    copy.lastStep = lastStep;
    copy.said = said;
    copy.welcome = welcome;
    copy.attached = attached;
    copy.taking = taking;
    copy.previous = previous;
    copy.refusals = refusals;
    return copy;
  }
}
