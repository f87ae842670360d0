package io.batchweave.client;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.client.SessionRefusedException.Reason;
import io.batchweave.commit.Decision;
import io.batchweave.format.Block;
import io.batchweave.format.Block.Takeover;
import io.batchweave.format.Limits;
import io.batchweave.log.GroupState;
import io.batchweave.log.SessionState;
import io.batchweave.log.State;
import io.batchweave.log.Verdict;
import io.batchweave.read.SessionView;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Registers one launch of a group, in as many attempts as the store needs. Any number of nodes may
 * register the same launch: they offer the same block, and all get the same view. A launch whose
 * base another one overtook does not offer again, whatever became of an earlier attempt.
 *
 * <p>One thread at a time.
 */
public final class SessionOpening {
  /**
   * What is registered.
   *
   * @param session as it stands in the log
   * @param view the steps that it asks for
   */
  public record Opened(SessionState session, SessionView view) {}

  private static final long NONE = -1;

  private final String group;
  private final String sessionId;
  private final long startStep;
  private final Takeover takeover;
  private final long knownView;
  private long base = NONE;

  private SessionOpening(
      String group, String sessionId, long startStep, Takeover takeover, long knownView) {
    this.group = group;
    this.sessionId = sessionId;
    this.startStep = startStep;
    this.takeover = takeover;
    this.knownView = knownView;
  }

  /**
   * For a launch that may be new.
   *
   * @param group the training job
   * @param sessionId this launch of it
   * @param startStep the step it begins with, where it is new
   * @param takeover what becomes of a live launch of the group
   */
  public static SessionOpening of(
      String group, String sessionId, long startStep, Takeover takeover) {
    return new SessionOpening(group, sessionId, startStep, takeover, NONE);
  }

  /**
   * For a launch that was registered before: it is live, or it is over; it is never registered
   * again.
   *
   * @param group the training job
   * @param sessionId this launch of it
   * @param view the version that registered it
   */
  public static SessionOpening known(String group, String sessionId, long view) {
    return new SessionOpening(group, sessionId, NONE, Takeover.REFUSE, view);
  }

  /**
   * Registers the launch, or finds it registered.
   *
   * @param operator of the stream
   * @return the live session, with the start of whoever registered it, and its view
   * @throws SessionRefusedException if it cannot be
   * @throws BatchWeaveException {@link Kind#RETRYABLE} and {@link Kind#UNKNOWN_OUTCOME}: attempt it
   *     again; else as {@link Operator#propose(io.batchweave.commit.Proposal)}
   */
  public Opened attempt(Operator operator) {
    while (true) {
      AtomicReference<Opened> found = new AtomicReference<>();
      Decision decision =
          operator.propose(
              this::block,
              state -> {
                SessionState live = state.group(group).session();
                if (live != null && isThis(live)) {
                  found.set(new Opened(live, SessionView.of(state, live.view())));
                }
              });
      Opened opened = found.get();
      if (opened != null) {
        return opened;
      }
      if (decision.verdict() == Verdict.MALFORMED || decision.verdict() == Verdict.OVER_LIMIT) {
        throw refused(
            Reason.OVER_LIMIT,
            NONE,
            "session refused",
            "verdict=" + decision.verdict(),
            "names are 1 to 64 characters of a-z, 0-9 and -, groups at most " + Limits.GROUPS);
      }
      // Accepted and overtaken in one go, or the base moved: the next round tells which.
    }
  }

  private boolean isThis(SessionState live) {
    return live.sessionId().equals(sessionId) && (knownView == NONE || live.view() == knownView);
  }

  private @Nullable Block block(State state) {
    GroupState now = state.group(group);
    SessionState live = now.session();
    if (live != null && isThis(live)) {
      return null;
    }
    if (knownView != NONE || (base != NONE && base != now.changed())) {
      throw refused(
          Reason.OVERTAKEN,
          NONE,
          live == null ? "the launch is over" : "launch overtaken by another",
          "live=" + (live == null ? "none" : live.sessionId()) + " changedAt=" + now.changed(),
          "stop this one");
    }
    requireRegistrable(state, live);
    base = now.changed();
    return new Block.OpenSession(group, sessionId, startStep, takeover, base);
  }

  private void requireRegistrable(State state, @Nullable SessionState live) {
    if (startStep < state.horizon()) {
      throw refused(
          Reason.BELOW_HORIZON,
          state.horizon(),
          "session begins below the horizon",
          "horizon=" + state.horizon(),
          "resume from a newer checkpoint");
    }
    if (startStep > state.nextStep()) {
      throw refused(
          Reason.BEYOND_HEAD,
          state.nextStep(),
          "session begins beyond the head",
          "nextStep=" + state.nextStep(),
          "is the checkpoint of another stream?");
    }
    if (live != null && takeover == Takeover.REFUSE) {
      throw refused(
          Reason.LIVE,
          NONE,
          "another launch is live",
          "live=" + live.sessionId() + " view=" + live.view(),
          "supersede it, end it, or use another group");
    }
  }

  private SessionRefusedException refused(
      Reason reason, long step, String what, String details, String remedy) {
    return new SessionRefusedException(
        reason,
        step,
        what
            + ": group="
            + group
            + " session="
            + sessionId
            + (startStep == NONE ? "" : " startStep=" + startStep)
            + " "
            + details
            + "; "
            + remedy);
  }
}
