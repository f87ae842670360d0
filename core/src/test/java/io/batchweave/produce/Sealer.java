package io.batchweave.produce;

import io.batchweave.commit.ProposalMachine;
import io.batchweave.format.Block;
import io.batchweave.log.Bits;
import io.batchweave.log.FollowPolicy;

/** An operator that seals the modelled stream. */
final class Sealer {
  private final ProposalMachine machine;

  Sealer(ProducerModel model) {
    machine =
        new ProposalMachine(
            state -> state.sealed() ? null : new Block.Seal(),
            FollowPolicy.DEFAULT,
            new Bits(model.bits().nextLong()));
    model.store.attach(machine);
  }

  boolean done() {
    return machine.decision() != null;
  }
}
