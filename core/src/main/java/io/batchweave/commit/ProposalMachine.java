package io.batchweave.commit;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.format.Block;
import io.batchweave.log.Bits;
import io.batchweave.log.BlockOutcome;
import io.batchweave.log.Fingerprint;
import io.batchweave.log.Fold;
import io.batchweave.log.Fold.Outlook;
import io.batchweave.log.FollowPolicy;
import io.batchweave.log.LogEvent;
import io.batchweave.log.LogFollower;
import io.batchweave.log.Machine;
import io.batchweave.log.State;
import io.batchweave.log.Verdict;
import io.batchweave.store.StoreResponse;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Gets one block into the log, without I/O: makes it from the state at the head, offers it until
 * the fold has accepted it, or until the fold says that it never will. In between its outcome is
 * unknown.
 */
public final class ProposalMachine implements Machine<ProposalMachine> {
  private final Proposal proposal;
  private final CommitMachine commit;
  private @Nullable Block block;
  private boolean written;
  private @Nullable Decision decision;
  private @Nullable BatchWeaveException failure;

  /**
   * Creates a machine; it starts at the first {@link #onTime}.
   *
   * @param proposal makes the block
   * @param followPolicy how eagerly the log is read
   * @param bits ids and spacing: two machines must never share a seed
   */
  public ProposalMachine(Proposal proposal, FollowPolicy followPolicy, Bits bits) {
    this.proposal = proposal;
    this.commit =
        new CommitMachine(
            new LogFollower(followPolicy, new Bits(bits.nextLong())),
            new CommitPolicy("operator", new Bits(bits.nextLong())),
            new Bits(bits.nextLong()));
  }

  private ProposalMachine(ProposalMachine other) {
    this.proposal = other.proposal;
    this.commit = other.commit.copy();
    this.block = other.block;
    this.written = other.written;
    this.decision = other.decision;
    this.failure = other.failure;
  }

  /** What the fold decided; null before. */
  public @Nullable Decision decision() {
    return decision;
  }

  /** The block it was made to propose; null before, and if there was nothing to do. */
  public @Nullable Block block() {
    return block;
  }

  /** Why the machine has stopped without a decision; null while it works. */
  public @Nullable BatchWeaveException failure() {
    return failure;
  }

  /** Whether the block was written, landed or not. */
  public boolean written() {
    return written;
  }

  /** The last failed request while there is passing trouble, for messages; null otherwise. */
  public @Nullable String trouble() {
    return commit.trouble();
  }

  /** The log as far as it is folded; nothing may be asked of it that changes it. */
  public LogFollower log() {
    return commit.log();
  }

  @Override
  public void onResponse(long requestId, StoreResponse response, long nowNs, Requests requests) {
    if (!ended()) {
      commit.onResponse(requestId, response, nowNs, requests);
      advance(nowNs, requests);
    }
  }

  @Override
  public void onTime(long nowNs, Requests requests) {
    if (!ended()) {
      commit.onTime(nowNs, requests);
      advance(nowNs, requests);
    }
  }

  @Override
  public long wakeAtNs() {
    return ended() ? Long.MAX_VALUE : commit.wakeAtNs();
  }

  private boolean ended() {
    return decision != null || failure != null;
  }

  private void advance(long nowNs, Requests requests) {
    written |= !commit.written().isEmpty();
    for (LogEvent event = commit.nextEvent(); event != null; event = commit.nextEvent()) {
      judge(event);
    }
    if (decision == null && commit.failure() != null) {
      failure = commit.failure();
    }
    if (ended() || !commit.headKnown()) {
      return;
    }
    State state = commit.log().state();
    if (block == null) {
      propose(state);
      if (!ended()) {
        commit.onTime(nowNs, requests);
        written |= !commit.written().isEmpty();
      }
    } else if (!commit.writing() && Fold.outlook(state, block) == Outlook.NEVER) {
      refuse(state, block);
    }
  }

  private void propose(State state) {
    try {
      block = proposal.block(state);
    } catch (BatchWeaveException e) {
      failure = e;
      return;
    }
    if (block == null) {
      decision = new Decision(null, Verdict.ACCEPTED, state.version(), state.nextStep());
    } else if (Fold.outlook(state, block) == Outlook.NEVER) {
      refuse(state, block);
    } else {
      commit.offer(List.of(block));
    }
  }

  private void refuse(State state, Block refused) {
    decision =
        new Decision(refused, Fold.accepts(state, refused), state.version(), state.nextStep());
  }

  private void judge(LogEvent event) {
    if (block == null || ended()) {
      return;
    }
    switch (event) {
      case LogEvent.Folded folded -> {
        for (BlockOutcome outcome : folded.outcome().blocks()) {
          if (outcome.accepted() && outcome.block().equals(block)) {
            decision =
                new Decision(
                    block,
                    Verdict.ACCEPTED,
                    folded.outcome().version(),
                    folded.outcome().nextStep());
          }
        }
      }
      case LogEvent.Jumped jumped -> {
        State state = commit.log().state();
        if (written && Fold.outlook(state, block) == Outlook.NEVER) {
          failure =
              new BatchWeaveException(
                  Kind.UNKNOWN_OUTCOME,
                  "the versions that decided a block were trimmed: block="
                      + block
                      + " fromVersion="
                      + jumped.fromVersion()
                      + " toVersion="
                      + jumped.toVersion()
                      + "; look at the stream before doing it again");
        }
      }
    }
  }

  @Override
  public ProposalMachine copy() {
    return new ProposalMachine(this);
  }

  @Override
  public long fingerprint() {
    return Fingerprint.of(block, written, decision, failure == null, commit.fingerprint());
  }
}
