package io.batchweave.simulate;

import io.batchweave.log.Bits;
import io.batchweave.log.FollowPolicy;
import io.batchweave.produce.ProducerMachine;
import io.batchweave.produce.ProducerMachine.Phase;

/**
 * A process that produces: takes its producer over, then makes batches from the source, one after
 * another or, every third process, several at a time that share objects.
 */
final class ProducerProcess implements Participant {
  private static final int MAX_PENDING = 4;
  private static final int MAX_BURST = 6;
  private static final long MIN_GAP_NS = 1_000_000;
  private static final long MAX_WAIT_NS = 2_000_000_000;

  private final World world;
  private final String name;
  private final String producer;
  private final long target;
  private final long seed;
  private final long gapNs;
  private final int burst;
  private final long openedAt;
  private final ProducerMachine machine;
  private final ModelStore.Client client;
  private long waitNs;
  private boolean began;
  private boolean stopped;
  private long position;

  /**
   * Starts a process.
   *
   * @param world where it lives
   * @param producer whose incarnation it is
   * @param target it stops after that batch
   * @param seed of its machine
   */
  ProducerProcess(World world, String name, String producer, long target, long seed) {
    this.world = world;
    this.name = name;
    this.producer = producer;
    this.target = target;
    this.seed = seed;
    Bits bits = new Bits(seed);
    this.gapNs = MIN_GAP_NS + bits.nextBelow(400_000_000);
    this.waitNs = gapNs;
    Bits shape = new Bits(seed + 1);
    this.burst = shape.nextBelow(3) == 0 ? 2 + (int) shape.nextBelow(MAX_BURST - 1) : 1;
    this.openedAt = world.positionInLog(producer);
    this.machine = new ProducerMachine(producer, 2, FollowPolicy.DEFAULT, bits);
    this.client = world.attach(name, machine);
    client.payloads(handle -> Source.bytes(machine.payload(handle)));
    client.afterEvent(this::drain);
    world.chronicle().note(name, () -> "starts as " + producer);
    client.touch();
    feed();
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public ModelStore.Client client() {
    return client;
  }

  String producer() {
    return producer;
  }

  long target() {
    return target;
  }

  long seed() {
    return seed;
  }

  /** Whether it stopped for good, by itself. */
  boolean stopped() {
    return stopped;
  }

  @Override
  public boolean done() {
    return stopped
        || !client.alive()
        || (machine.phase() == Phase.LIVE && position >= target && machine.drained());
  }

  @Override
  public String standing() {
    return "producer="
        + producer
        + " phase="
        + machine.phase()
        + " committedSeq="
        + machine.committedSeq()
        + " target="
        + target
        + " trouble="
        + machine.trouble();
  }

  private void feed() {
    if (!client.alive() || stopped) {
      return;
    }
    waitNs = Math.min(MAX_WAIT_NS, waitNs + waitNs / 4);
    if (!client.paused() && machine.phase() == Phase.LIVE) {
      begin();
      if (position < target && machine.nextSeq() - machine.committedSeq() < MAX_PENDING) {
        waitNs = gapNs;
        for (int i = 0; i < burst && position < target; i++) {
          add();
        }
        client.touch();
      }
    }
    if (!done()) {
      world.store().after(waitNs, this::feed);
    }
  }

  private void add() {
    position++;
    long batch = position;
    long seq = machine.add(Source.batch(producer, batch), Source.stateAfter(batch));
    world.chronicle().note(name, () -> "adds batch " + batch + " as seq " + seq);
  }

  private void begin() {
    if (began) {
      return;
    }
    began = true;
    position =
        world
            .bug()
            .position(
                world.hands(client), producer, openedAt, Source.position(machine.sourceState()));
    world
        .chronicle()
        .began
        .add(new Chronicle.Began(name, producer, machine.epoch(), machine.nextSeq(), position));
    world
        .chronicle()
        .note(
            name, () -> "owns epoch " + machine.epoch() + ", goes on at seq " + machine.nextSeq());
  }

  private void drain() {
    if (machine.phase() == Phase.LIVE) {
      begin();
    }
    for (ProducerMachine.Committed committed = machine.nextCommitted();
        committed != null;
        committed = machine.nextCommitted()) {
      Chronicle.Acknowledged told =
          new Chronicle.Acknowledged(name, producer, committed.seq(), committed.step());
      world.chronicle().acknowledged.add(told);
      world.chronicle().note(name, () -> "is told: seq " + told.seq() + " is step " + told.step());
    }
    if (machine.failure() != null && !stopped) {
      stopped = true;
      world
          .chronicle()
          .stopped
          .add(new Chronicle.Stopped(name, producer, machine.epoch(), machine.failure()));
      world.chronicle().note(name, () -> "stops: " + machine.failure());
      world.onStopped(this);
    }
  }
}
