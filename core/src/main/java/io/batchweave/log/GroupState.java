package io.batchweave.log;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the fold knows of one group: a training job.
 *
 * @param changed version of the last accepted session, endSession, operatorPin or unpin of the
 *     group: the base of the next one; 0 if never. A session's pins do not move it.
 * @param session the live launch, or null
 * @param pins by (version of the session, step); an operator's pins first, with session version 0
 */
public record GroupState(long changed, @Nullable SessionState session, List<PinState> pins) {
  static final GroupState NEW = new GroupState(0, null, List.of());

  /** Copies the list. */
  public GroupState {
    pins = List.copyOf(pins);
  }

  /** Lowest step that this group may still ask for; {@code Long.MAX_VALUE} if nothing is here. */
  public long protectedStep() {
    long step = session == null ? Long.MAX_VALUE : session.protectedStep();
    for (PinState pin : pins) {
      step = Math.min(step, pin.step());
    }
    return step;
  }
}
