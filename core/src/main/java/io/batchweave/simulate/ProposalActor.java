package io.batchweave.simulate;

import io.batchweave.BatchWeaveException;
import io.batchweave.commit.Decision;
import io.batchweave.commit.Proposal;
import io.batchweave.commit.ProposalMachine;
import io.batchweave.format.Block;
import io.batchweave.log.Bits;
import io.batchweave.log.Fingerprint;
import io.batchweave.log.FollowPolicy;
import org.jspecify.annotations.Nullable;

/** A process that wants one block in the log, and is told what became of it. */
final class ProposalActor extends Actor {
  private final String role;
  private final Proposal proposal;
  private final ProposalMachine machine;

  ProposalActor(String name, String role, Proposal proposal, long seed) {
    super(name);
    this.role = role;
    this.proposal = proposal;
    this.machine = new ProposalMachine(proposal, FollowPolicy.DEFAULT, new Bits(seed));
  }

  private ProposalActor(ProposalActor other) {
    super(other);
    this.role = other.role;
    this.proposal = other.proposal;
    this.machine = other.machine.copy();
  }

  @Override
  ProposalActor copy() {
    return new ProposalActor(this);
  }

  @Override
  ProposalMachine machine() {
    return machine;
  }

  @Override
  String role() {
    return role;
  }

  @Override
  boolean done() {
    return machine.decision() != null;
  }

  @Override
  @Nullable BatchWeaveException failure() {
    return machine.failure();
  }

  /** What it was told, in a word. */
  String told() {
    Decision decision = machine.decision();
    if (decision == null) {
      return "unknown";
    }
    return decision.block() == null ? "nothing" : decision.accepted() ? "accepted" : "refused";
  }

  @Override
  void judge(Cell cell) {
    Decision decision = machine.decision();
    Block block = decision == null ? null : decision.block();
    if (decision != null && block != null) {
      boolean holds =
          decision.accepted()
              ? cell.accepted(block, decision.version())
              : block instanceof Block.Seal || !cell.accepted(block);
      Cell.require(holds, Promise.DECISION_IS_THE_FOLD, name + " " + decision);
    }
  }

  @Override
  long extra() {
    return Fingerprint.of(machine.decision());
  }
}
