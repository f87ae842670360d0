package io.batchweave.client;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.commit.Decision;
import io.batchweave.commit.Proposal;
import io.batchweave.commit.ProposalMachine;
import io.batchweave.format.Block;
import io.batchweave.format.Block.Takeover;
import io.batchweave.format.StreamDescriptor;
import io.batchweave.log.Bits;
import io.batchweave.log.FollowPolicy;
import io.batchweave.log.SkipState;
import io.batchweave.log.State;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Changes a stream by single blocks: each method proposes one and waits until the fold has decided
 * it. Thread-safe; one proposal at a time.
 */
public final class Operator implements AutoCloseable {
  private final OperatorContext context;
  private final StreamDescriptor descriptor;
  private final MachineAgent agent;
  private final Bits bits;

  private Operator(OperatorContext context, StreamDescriptor descriptor) {
    this.context = context;
    this.descriptor = descriptor;
    this.bits = new Bits(context.seed());
    MachineAgent shared = context.agent();
    this.agent =
        shared != null ? shared : MachineAgent.start("batchweave-operator", context.nanoClock());
  }

  /**
   * Opens the stream.
   *
   * @param context settings; concluded here
   * @throws BatchWeaveException {@link Kind#CONFIG} if the root is no stream
   */
  public static Operator open(OperatorContext context) {
    context.conclude();
    return new Operator(context, Streams.describe(context.store()));
  }

  /**
   * Opens a stream that was described before; asks the store nothing.
   *
   * @param context settings; concluded here
   * @param descriptor the stream of its store
   */
  public static Operator open(OperatorContext context, StreamDescriptor descriptor) {
    context.conclude();
    return new Operator(context, descriptor);
  }

  /** The stream. */
  public StreamDescriptor descriptor() {
    return descriptor;
  }

  /** What one proposal came to. */
  private static final class Outcome {
    private @Nullable Decision decision;
    private @Nullable BatchWeaveException failure;
    private boolean written;
    private String trouble = "none";

    private boolean isThere() {
      return decision != null || failure != null;
    }
  }

  /**
   * Proposes a block and waits until the fold has decided it.
   *
   * @param proposal makes the block
   * @return accepted, or refused for good
   * @throws BatchWeaveException {@link Kind#UNKNOWN_OUTCOME} when the time has passed after it was
   *     offered, {@link Kind#RETRYABLE} when it passed before; what the proposal throws; {@link
   *     Kind#CORRUPT}, {@link Kind#TOO_NEW}
   */
  public Decision propose(Proposal proposal) {
    return propose(proposal, state -> {});
  }

  /**
   * The same, and shows the state in which it was decided.
   *
   * @param proposal makes the block
   * @param decided told once, on the agent's thread, before this returns; must not keep the state
   * @throws BatchWeaveException as {@link #propose(Proposal)}
   */
  public synchronized Decision propose(Proposal proposal, Consumer<State> decided) {
    Signal signal = new Signal(context.nanoClock());
    long deadlineNs = signal.deadlineNs(context.timeoutNs());
    ProposalMachine machine =
        new ProposalMachine(proposal, FollowPolicy.DEFAULT, new Bits(bits.nextLong()));
    Outcome outcome = new Outcome();
    DrivenMachine driven =
        new DrivenMachine(
            agent,
            machine,
            context.store(),
            handle -> {
              throw new IllegalArgumentException("an operator uploads nothing: handle=" + handle);
            },
            new Events(machine, decided, outcome, signal));
    agent.drive(driven);
    try {
      var _ = signal.await(outcome::isThere, deadlineNs);
    } finally {
      driven.stop();
    }
    return signal.under(() -> result(outcome));
  }

  /** What the agent tells about one proposal; on its thread. */
  private record Events(
      ProposalMachine machine, Consumer<State> decided, Outcome outcome, Signal signal)
      implements DrivenMachine.Observer {
    @Override
    public void afterEvent() {
      if (machine.decision() != null && outcome.decision == null) {
        decided.accept(machine.log().state());
      }
      signal.update(() -> {
        outcome.decision = machine.decision();
        outcome.failure = machine.failure();
        outcome.written = machine.written();
        String trouble = machine.trouble();
        outcome.trouble = trouble == null ? "none" : trouble;
      });
    }

    @Override
    public void onFailure(Throwable thrown) {
      signal.update(() ->
          outcome.failure =
              thrown instanceof BatchWeaveException known
                  ? known
                  : new BatchWeaveException(
                      Kind.UNKNOWN_OUTCOME,
                      "proposal stopped by a defect: "
                          + thrown
                          + "; look at the stream before doing it again",
                      thrown));
    }
  }

  private Decision result(Outcome outcome) {
    Decision decision = outcome.decision;
    BatchWeaveException failure = outcome.failure;
    if (decision != null) {
      return decision;
    }
    if (failure != null) {
      throw failure;
    }
    throw new BatchWeaveException(
        outcome.written ? Kind.UNKNOWN_OUTCOME : Kind.RETRYABLE,
        "the log did not decide in time: timeoutMs="
            + context.timeoutNs() / 1_000_000
            + " store="
            + context.store().url()
            + " lastTrouble="
            + outcome.trouble
            + (outcome.written
                ? "; it may still take effect: look at the stream before doing it again"
                : "; nothing was written: try again"));
  }

  /**
   * The state at the head, looked at now.
   *
   * @throws BatchWeaveException as {@link #propose(Proposal)}
   */
  public State state() {
    AtomicReference<@Nullable State> seen = new AtomicReference<>();
    var _ =
        propose(state -> {
          seen.set(state.copy());
          return null;
        });
    return Objects.requireNonNull(seen.get(), "looked at before the decision");
  }

  /**
   * Ends the stream at its next step. Sealing a sealed stream is no error.
   *
   * @return number of steps in the stream
   * @throws BatchWeaveException as {@link #propose(Proposal)}
   */
  public long seal() {
    // Refused means that somebody sealed it meanwhile: the end is where he put it.
    return propose(state -> state.sealed() ? null : new Block.Seal()).nextStep();
  }

  /**
   * Registers a launch of a group. Any number of nodes may register the same launch: all get the
   * same view. A launch whose base another one overtook does not offer again.
   *
   * @param group the training job
   * @param sessionId this launch of it
   * @param startStep the step it begins with
   * @param takeover what becomes of a live launch of the group
   * @return the version that registered it: the session's view
   * @throws BatchWeaveException {@link Kind#FENCED} if another launch overtook it, {@link
   *     Kind#RECLAIMED} if the step is below the horizon, {@link Kind#CONFIG} if it is beyond the
   *     head or another launch is live and stays; else as {@link #propose(Proposal)}
   */
  public long openSession(String group, String sessionId, long startStep, Takeover takeover) {
    return SessionOpening.of(group, sessionId, startStep, takeover).attempt(this).session().view();
  }

  /**
   * Registers a checkpoint by hand: steps from {@code step} on are kept until it is removed. It
   * neither evicts others nor is evicted. The same checkpoint again is no error.
   *
   * @param group the training job
   * @param id name of the checkpoint
   * @param step the next step to read when training goes on from it
   * @throws BatchWeaveException {@link Kind#RECLAIMED} below the horizon; {@link Kind#CONFIG}
   *     beyond the head, for a bad name, or if that id is registered with another step; {@link
   *     Kind#LIMIT}; else as {@link #propose(Proposal)}
   */
  public Change operatorPin(String group, String id, long step) {
    return change(Registrations.operatorPin(group, id, step));
  }

  /**
   * Removes all checkpoints of a group with this id, a session's as well; none is no error.
   *
   * @param group the training job
   * @param id name of the checkpoint
   * @throws BatchWeaveException {@link Kind#CONFIG} for a bad name; else as {@link
   *     #propose(Proposal)}
   */
  public Change unpin(String group, String id) {
    return change(Registrations.unpin(group, id));
  }

  /**
   * Ends a launch: it stops protecting steps; its checkpoints stay. One that is not live is no
   * error.
   *
   * @param group the training job
   * @param sessionId the launch
   * @throws BatchWeaveException {@link Kind#CONFIG} for a bad name; else as {@link
   *     #propose(Proposal)}
   */
  public Change endSession(String group, String sessionId) {
    return change(Registrations.endSession(group, sessionId));
  }

  /**
   * Makes all sessions that start from now on pass over steps. Steps that one earlier skip covers
   * are no error.
   *
   * @param from first step
   * @param to exclusive; at most the number of steps in the stream
   * @return the version of the skip: sessions with this view or a later one pass over them
   * @throws BatchWeaveException {@link Kind#RECLAIMED} below the horizon; {@link Kind#CONFIG}
   *     beyond the head or without any step; {@link Kind#LIMIT}; else as {@link #propose(Proposal)}
   */
  public Change skip(long from, long to) {
    long[] before = {-1};
    Proposal proposal = Registrations.skip(from, to);
    Change change =
        change(state -> {
          SkipState covered = Registrations.skipped(state, from, to);
          before[0] = covered == null ? -1 : covered.version();
          return proposal.block(state);
        });
    return change.made() || before[0] < 0 ? change : new Change(false, before[0]);
  }

  /**
   * Ends a producer for ever: nothing of it is accepted any more, and what it uploaded and never
   * committed may be deleted. A retired one is no error.
   *
   * @param producer its id
   * @throws BatchWeaveException {@link Kind#CONFIG} if there is no such producer; else as {@link
   *     #propose(Proposal)}
   */
  public Change retire(String producer) {
    return change(Registrations.retire(producer));
  }

  /**
   * Proposes until the fold accepts, or the stream is as wanted. A block whose base was overtaken
   * never takes effect, so the next one is made from the state that overtook it.
   */
  private Change change(Proposal proposal) {
    long deadlineNs = new Signal(context.nanoClock()).deadlineNs(context.timeoutNs());
    while (true) {
      Decision decision = propose(proposal);
      if (decision.accepted()) {
        return new Change(decision.block() != null, decision.version());
      }
      if (!Registrations.overtaken(decision)) {
        throw Registrations.refused(decision);
      }
      if (context.nanoClock().nanoTime() - deadlineNs >= 0) {
        throw new BatchWeaveException(
            Kind.RETRYABLE,
            "overtaken by others until the time was up: block="
                + decision.block()
                + " version="
                + decision.version()
                + "; nothing of it took effect: try again");
      }
    }
  }

  @Override
  public void close() {
    if (context.agent() == null) {
      agent.close();
    }
  }
}
