package io.batchweave.simulate;

import io.batchweave.BatchWeaveException;
import io.batchweave.Bytes;
import io.batchweave.format.TgbEntry;
import io.batchweave.log.Bits;
import io.batchweave.log.Fingerprint;
import io.batchweave.log.FollowPolicy;
import io.batchweave.produce.ProducerMachine;
import io.batchweave.produce.ProducerMachine.Phase;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A producer's process: takes its producer over, then makes batches from the source. */
final class ProducerActor extends Actor {
  private final String producer;
  private final long target;
  private final ProducerMachine machine;
  private final List<ProducerMachine.Committed> acknowledged = new ArrayList<>();
  private long position = -1;

  ProducerActor(String name, String producer, long target, long seed) {
    super(name);
    this.producer = producer;
    this.target = target;
    this.machine = new ProducerMachine(producer, 2, FollowPolicy.DEFAULT, new Bits(seed));
  }

  private ProducerActor(ProducerActor other) {
    super(other);
    this.producer = other.producer;
    this.target = other.target;
    this.machine = other.machine.copy();
    this.position = other.position;
  }

  @Override
  ProducerActor copy() {
    return new ProducerActor(this);
  }

  @Override
  ProducerMachine machine() {
    return machine;
  }

  @Override
  String role() {
    return producer;
  }

  @Override
  boolean done() {
    return machine.phase() == Phase.LIVE && machine.drained() && machine.nextSeq() > target;
  }

  @Override
  @Nullable BatchWeaveException failure() {
    return machine.failure();
  }

  @Override
  Bytes payload(long handle) {
    return Source.bytes(machine.payload(handle));
  }

  /** While it lives it adds a batch after every action, so that blocks of one and of more arise. */
  @Override
  void feed() {
    if (position < 0 && machine.phase() == Phase.LIVE) {
      position = Source.position(machine.sourceState());
    }
    if (machine.phase() == Phase.LIVE && position < target) {
      position++;
      machine.add(Source.batch(producer, position), Source.stateAfter(position));
      machine.onTime(localNs(), this);
    }
    takeTold();
  }

  @Override
  void takeTold() {
    for (ProducerMachine.Committed committed = machine.nextCommitted();
        committed != null;
        committed = machine.nextCommitted()) {
      acknowledged.add(committed);
    }
  }

  @Override
  void judge(Cell cell) {
    for (ProducerMachine.Committed told : acknowledged) {
      TgbEntry entry =
          told.step() < cell.entries.size() ? cell.entries.get((int) told.step()) : null;
      boolean holds =
          entry != null
              && entry.seq() == told.seq()
              && entry.object().producer().equals(producer)
              && entry.object().epoch() == machine.epoch();
      Cell.require(holds, Promise.ACKNOWLEDGED_IS_IN_THE_LOG, name + " " + told + " log=" + entry);
    }
  }

  @Override
  long extra() {
    return Fingerprint.of(position, machine.committedSeq());
  }

  int epoch() {
    return machine.epoch();
  }
}
