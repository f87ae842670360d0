package io.batchweave.client;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.client.SessionRefusedException.Reason;
import io.batchweave.commit.Decision;
import io.batchweave.format.Block;
import io.batchweave.format.Limits;
import io.batchweave.log.PinState;
import io.batchweave.log.SessionState;
import io.batchweave.log.State;
import io.batchweave.log.Verdict;
import org.jspecify.annotations.Nullable;

/**
 * Registers a model checkpoint of a live session, so that the steps from there on are kept. Any
 * number of ranks may register the same checkpoint, as often as they like.
 *
 * @param group the training job
 * @param sessionId the launch that wrote the checkpoint
 * @param view the version that registered the launch
 * @param id the checkpoint's name
 * @param step the next step to read when training goes on from it
 * @param keep how many checkpoints of the group stay, the newest, this one included
 */
public record SessionCheckpoint(
    String group, String sessionId, long view, String id, long step, int keep) {

  /**
   * Registers it, or finds it registered.
   *
   * @param operator of the stream
   * @return the version at which it was seen to be registered
   * @throws SessionRefusedException if it cannot be
   * @throws BatchWeaveException {@link Kind#RETRYABLE} and {@link Kind#UNKNOWN_OUTCOME}: attempt it
   *     again; else as {@link Operator#propose(io.batchweave.commit.Proposal)}
   */
  public long attempt(Operator operator) {
    while (true) {
      Decision decision = operator.propose(this::block);
      if (decision.accepted()) {
        return decision.version();
      }
      if (decision.verdict() == Verdict.MALFORMED || decision.verdict() == Verdict.OVER_LIMIT) {
        throw refused(
            Reason.OVER_LIMIT,
            -1,
            "checkpoint refused",
            "verdict=" + decision.verdict(),
            "an id is 1 to 64 characters of a-z, 0-9 and -, pins are at most " + Limits.PINS);
      }
      // The log moved past it: the next round tells whether by this very checkpoint.
    }
  }

  private @Nullable Block block(State state) {
    if (state.group(group).pins().contains(new PinState(id, view, step))) {
      return null;
    }
    SessionState live = state.group(group).session();
    if (live == null || !live.sessionId().equals(sessionId) || live.view() != view) {
      throw refused(
          Reason.OVERTAKEN,
          -1,
          "the launch that wrote the checkpoint is over",
          "live=" + (live == null ? "none" : live.sessionId()),
          "stop this one");
    }
    if (step < state.horizon()) {
      throw refused(
          Reason.BELOW_HORIZON,
          state.horizon(),
          "checkpoint below the horizon",
          "horizon=" + state.horizon(),
          "its steps are deleted: register checkpoints as soon as they are durable");
    }
    if (step > state.nextStep()) {
      throw refused(
          Reason.BEYOND_HEAD,
          state.nextStep(),
          "checkpoint beyond the head",
          "nextStep=" + state.nextStep(),
          "name the step that its token names");
    }
    if (step <= live.lastPin()) {
      throw refused(
          Reason.NOT_NEWER,
          live.lastPin(),
          "the session has registered a later checkpoint, or another at that step",
          "lastPin=" + live.lastPin(),
          "register checkpoints in the order of their steps");
    }
    return new Block.Pin(group, sessionId, view, id, step, keep);
  }

  private SessionRefusedException refused(
      Reason reason, long at, String what, String details, String remedy) {
    return new SessionRefusedException(
        reason,
        at,
        what
            + ": group="
            + group
            + " session="
            + sessionId
            + " checkpoint="
            + id
            + " step="
            + step
            + " "
            + details
            + "; "
            + remedy);
  }
}
