package io.batchweave.simulate;

import io.batchweave.BatchWeaveException;
import io.batchweave.log.Bits;
import io.batchweave.retain.CollectPolicy;
import io.batchweave.retain.CollectorMachine;
import org.jspecify.annotations.Nullable;

/** A process that collects once. */
final class CollectorActor extends Actor {
  private final CollectorMachine machine;

  CollectorActor(String name, long seed) {
    super(name);
    this.machine = new CollectorMachine(CollectPolicy.DEFAULT, new Bits(seed));
  }

  private CollectorActor(CollectorActor other) {
    super(other);
    this.machine = other.machine.copy();
  }

  @Override
  CollectorActor copy() {
    return new CollectorActor(this);
  }

  @Override
  CollectorMachine machine() {
    return machine;
  }

  @Override
  String role() {
    return "collector";
  }

  @Override
  boolean done() {
    return machine.phase() == CollectorMachine.Phase.DONE;
  }

  @Override
  @Nullable BatchWeaveException failure() {
    return machine.failure();
  }
}
