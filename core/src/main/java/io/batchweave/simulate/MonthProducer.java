package io.batchweave.simulate;

import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.log.Bits;
import io.batchweave.log.FollowPolicy;
import io.batchweave.produce.ProducerMachine;
import io.batchweave.produce.ProducerMachine.Phase;

/** One process of a {@link Month} that produces in bursts, as far ahead of training as it may. */
final class MonthProducer {
  private static final long TICK_NS = 250_000_000L;
  private static final int BURST = 4;
  private static final int MAX_PENDING = 16;

  private final Month month;
  private final String producer;
  private final ProducerMachine machine;
  private final ModelStore.Client client;
  private long position = -1;
  private boolean paused;

  MonthProducer(Month month, String producer, Bits bits) {
    this.month = month;
    this.producer = producer;
    this.machine = new ProducerMachine(producer, 2, FollowPolicy.DEFAULT, bits);
    this.client = month.attach(machine, producer);
    client.payloads(handle -> Source.bytes(machine.payload(handle)));
    client.afterEvent(this::drain);
    client.touch();
    tick();
  }

  /** Dies; what it sent may still take effect. */
  void kill() {
    client.crash();
  }

  /** Stands still for a time, as if its machine were suspended. */
  void suspend(long forNs) {
    if (paused || !client.alive()) {
      return;
    }
    paused = true;
    client.pause();
    month
        .store()
        .after(
            forNs,
            () -> {
              paused = false;
              if (client.alive()) {
                client.resume();
              }
            });
  }

  private void tick() {
    if (!client.alive() || machine.failure() != null) {
      return;
    }
    if (!paused && machine.phase() == Phase.LIVE) {
      if (position < 0) {
        position = Source.position(machine.sourceState());
      }
      if (month.mayProduce() && machine.nextSeq() - machine.committedSeq() < MAX_PENDING) {
        for (int i = 0; i < BURST; i++) {
          position++;
          machine.add(Source.batch(producer, position), Source.stateAfter(position));
        }
        client.touch();
      }
    }
    month.store().after(TICK_NS, this::tick);
  }

  private void drain() {
    for (ProducerMachine.Committed committed = machine.nextCommitted();
        committed != null;
        committed = machine.nextCommitted()) {
      month.ledger().acknowledged(producer, committed.seq(), committed.step());
    }
    var failure = machine.failure();
    if (failure != null && failure.kind() != Kind.FENCED) {
      month.ledger().broken(Promise.NO_UNEXPECTED_STOP, producer + " " + failure);
    }
  }
}
