package io.batchweave.simulate;

import io.batchweave.Bytes;
import io.batchweave.log.Fingerprint;
import io.batchweave.log.Machine;
import io.batchweave.produce.ProducerMachine;
import io.batchweave.produce.ProducerMachine.Phase;
import io.batchweave.store.StoreRequest;
import io.batchweave.store.StoreResponse;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One producer's process as a value for exploration: the real machine, its own clock, and what it
 * has asked for. Clocks of actors are independent: each moves only as its machine waits.
 */
final class Actor implements Machine.Requests {
  private static final long ANSWER_NS = 1_000_000;

  /**
   * A request that is not answered yet.
   *
   * @param payload what an upload carries
   * @param response null until it takes effect
   */
  record Pending(long id, StoreRequest request, Bytes payload, @Nullable StoreResponse response) {}

  final String name;
  final String producer;
  final long target;
  final ProducerMachine machine;
  final List<Pending> pending;
  private final List<ProducerMachine.Committed> acknowledged = new ArrayList<>();
  private long localNs;
  private long position = -1;
  boolean alive = true;
  private long fingerprint;

  Actor(String name, String producer, long target, ProducerMachine machine) {
    this.name = name;
    this.producer = producer;
    this.target = target;
    this.machine = machine;
    this.pending = new ArrayList<>();
    this.localNs = 1;
  }

  private Actor(Actor other) {
    this.name = other.name;
    this.producer = other.producer;
    this.target = other.target;
    this.machine = other.machine.copy();
    this.pending = new ArrayList<>(other.pending);
    this.localNs = other.localNs;
    this.position = other.position;
    this.alive = other.alive;
  }

  /** A copy that will act; whoever holds this one sees no change. */
  Actor copy() {
    return new Actor(this);
  }

  @Override
  public void send(long requestId, StoreRequest request) {
    Bytes payload =
        request instanceof StoreRequest.Upload upload
            ? Source.bytes(machine.payload(upload.handle()))
            : Bytes.EMPTY;
    pending.add(new Pending(requestId, request, payload, null));
  }

  /** When its time is next due; {@code Long.MAX_VALUE} if it waits for an answer or for nothing. */
  long dueNs() {
    return alive && pending.isEmpty() ? machine.wakeAtNs() : Long.MAX_VALUE;
  }

  long localNs() {
    return localNs;
  }

  /** Lets its time come. */
  void pass() {
    localNs = Math.max(localNs + 1, machine.wakeAtNs());
    machine.onTime(localNs, this);
    feed();
  }

  void start() {
    machine.onTime(localNs, this);
  }

  void hear(long requestId, StoreResponse response) {
    hearAtOnce(requestId, response);
    feed();
  }

  /** Hears an answer as part of the same action. */
  void hearAtOnce(long requestId, StoreResponse response) {
    localNs += ANSWER_NS;
    machine.onResponse(requestId, response, localNs, this);
    drain();
  }

  /** While it lives it adds a batch after every action, so that blocks of one and of more arise. */
  private void feed() {
    if (position < 0 && machine.phase() == Phase.LIVE) {
      position = Source.position(machine.sourceState());
    }
    if (machine.phase() == Phase.LIVE && position < target) {
      position++;
      machine.add(Source.batch(producer, position), Source.stateAfter(position));
      machine.onTime(localNs, this);
    }
    drain();
  }

  private void drain() {
    for (ProducerMachine.Committed committed = machine.nextCommitted();
        committed != null;
        committed = machine.nextCommitted()) {
      acknowledged.add(committed);
    }
  }

  /** What it was told by its last action. */
  List<ProducerMachine.Committed> acknowledged() {
    return acknowledged;
  }

  boolean drained() {
    return machine.phase() == Phase.LIVE && machine.drained() && machine.nextSeq() > target;
  }

  long fingerprint() {
    if (fingerprint == 0) {
      fingerprint =
          Fingerprint.of(
              name,
              alive,
              alive ? machine.fingerprint() : 0,
              alive ? localNs : 0,
              alive ? machine.committedSeq() : 0,
              position);
      for (Pending one : pending) {
        // Records without components all hash alike, so an answer counts by its name.
        String answer = one.response() == null ? "" : one.response().toString();
        fingerprint = Fingerprint.add(fingerprint, Fingerprint.of(one.id(), one.request(), answer));
      }
    }
    return fingerprint;
  }
}
