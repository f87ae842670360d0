package io.batchweave.read;

import io.batchweave.log.State;
import java.util.OptionalLong;

/**
 * In which order a session reads steps: all of them, but those that its view passes over. A pure
 * function of the log up to the view, so the same on every rank, whether it opened from a snapshot
 * or folded every version, and whatever was committed since.
 */
public final class StepOrder {
  private StepOrder() {}

  /**
   * The first step at or after one that a session reads; it may not be committed yet.
   *
   * @param state as far as this reader has folded the log
   * @param view version that registered the session; 0 for a reader without a session, which passes
   *     over nothing
   * @param step from 0; one below the horizon is answered as it is, since nobody knows any more
   *     what was skipped there
   * @return empty while the state is older than the view: what the view skips is not known yet
   */
  public static OptionalLong firstFrom(State state, long view, long step) {
    if (state.version() < view) {
      return OptionalLong.empty();
    }
    return OptionalLong.of(step < state.horizon() ? step : state.nextUnskipped(step, view));
  }
}
