package io.batchweave.simulate;

import io.batchweave.commit.Decision;
import io.batchweave.commit.Proposal;
import io.batchweave.commit.ProposalMachine;
import io.batchweave.format.Block;
import io.batchweave.log.Bits;
import io.batchweave.log.Fold;
import io.batchweave.log.FollowPolicy;
import org.jspecify.annotations.Nullable;

/** A process that wants one block in the log and waits until the fold has decided it. */
final class OperatorProcess implements Participant {
  private final World world;
  private final String name;
  private final ProposalMachine machine;
  private final ModelStore.Client client;
  private @Nullable Block block;
  private boolean stopped;

  /** Starts a process. */
  OperatorProcess(World world, String name, Proposal proposal, long seed) {
    this.world = world;
    this.name = name;
    Proposal noted =
        state -> {
          block = proposal.block(state);
          return block;
        };
    this.machine = new ProposalMachine(noted, FollowPolicy.DEFAULT, new Bits(seed));
    this.client = world.attach(name, machine);
    client.afterEvent(this::drain);
    world.chronicle().note(name, () -> "starts");
    client.touch();
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public ModelStore.Client client() {
    return client;
  }

  /** What it was told; null before. */
  @Nullable Decision decision() {
    return machine.decision();
  }

  @Override
  public boolean done() {
    return stopped || !client.alive() || waits();
  }

  /** Whether nothing but other blocks can decide its own: a reclaim below a pin, say. */
  private boolean waits() {
    return block != null && Fold.outlook(world.truth(), block) == Fold.Outlook.LATER;
  }

  @Override
  public String standing() {
    return "written=" + machine.written() + " trouble=" + machine.trouble();
  }

  private void drain() {
    if (stopped) {
      return;
    }
    Decision decision = machine.decision();
    if (decision != null) {
      stopped = true;
      world.chronicle().decided.add(new Chronicle.Decided(name, decision));
      world.chronicle().note(name, () -> "is told: " + decision);
      if (decision.accepted()) {
        world.onAccepted(decision);
      }
    } else if (machine.failure() != null) {
      stopped = true;
      String cause = String.valueOf(machine.failure());
      world.chronicle().broken(Promise.NO_UNEXPECTED_STOP, name, 0, cause);
    }
  }
}
