package io.batchweave.simulate;

import io.batchweave.BatchWeaveException;
import io.batchweave.Bytes;
import io.batchweave.log.Fingerprint;
import io.batchweave.log.Machine;
import io.batchweave.produce.ProducerMachine;
import io.batchweave.store.StoreRequest;
import io.batchweave.store.StoreResponse;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One process as a value for exploration: a real machine, its own clock, and what it has asked for.
 * Clocks of actors are independent: each moves only as its machine waits.
 */
abstract class Actor implements Machine.Requests {
  /** What becomes of a request that changes something. */
  enum Fate {
    /** Just sent, to be decided. */
    OPEN,
    /** It takes effect, then it is answered. */
    CLEAR,
    /** At any time its outcome is called unclear; that it takes effect is left to a ghost. */
    LOST,
    /** It never takes effect; at any time it is answered as a conflict. */
    REFUSED
  }

  /**
   * A request that is not answered yet.
   *
   * @param payload what an upload carries
   * @param response null until it takes effect
   */
  record Pending(
      long id, StoreRequest request, Bytes payload, Fate fate, @Nullable StoreResponse response) {
    /** Whether it only reads. */
    boolean reads() {
      return request instanceof StoreRequest.Get || request instanceof StoreRequest.ListPrefix;
    }

    Pending with(Fate newFate) {
      return new Pending(id, request, payload, newFate, response);
    }
  }

  final String name;
  final List<Pending> pending;
  private long localNs;
  private boolean alive = true;
  private long fingerprint;
  private long heard;

  Actor(String name) {
    this.name = name;
    this.pending = new ArrayList<>();
    this.localNs = 1;
  }

  Actor(Actor other) {
    this.name = other.name;
    this.pending = new ArrayList<>(other.pending);
    this.localNs = other.localNs;
    this.alive = other.alive;
    this.heard = other.heard;
  }

  /** A copy that will act; whoever holds this one sees no change. */
  abstract Actor copy();

  abstract Machine<?> machine();

  /** Whom it works for: one of several processes of one role must get its work done. */
  abstract String role();

  /** Whether it has done all its work. */
  abstract boolean done();

  /** Why it stopped for good; null while it works. */
  abstract @Nullable BatchWeaveException failure();

  /** Whether that is a reason to stop. */
  boolean mayStop(BatchWeaveException cause) {
    return cause.kind() == BatchWeaveException.Kind.FENCED;
  }

  /** Gives it more to do, after every action of its own. */
  void feed() {}

  /** Holds what it was told by its last action against the truth. */
  void judge(Cell cell) {}

  /** What an upload carries. */
  Bytes payload(long handle) {
    return Bytes.EMPTY;
  }

  /** What its fingerprint holds besides its machine. */
  long extra() {
    return 0;
  }

  boolean alive() {
    return alive;
  }

  void end() {
    alive = false;
    pending.clear();
  }

  @Override
  public final void send(long requestId, StoreRequest request) {
    Bytes payload =
        request instanceof StoreRequest.Upload upload ? payload(upload.handle()) : Bytes.EMPTY;
    pending.add(new Pending(requestId, request, payload, Fate.OPEN, null));
  }

  /** When its time is next due; {@code Long.MAX_VALUE} if it waits for an answer or for nothing. */
  final long dueNs() {
    return alive && pending.isEmpty() ? machine().wakeAtNs() : Long.MAX_VALUE;
  }

  final long localNs() {
    return localNs;
  }

  /**
   * Lets its time come.
   *
   * @param tickNs its clock moves in steps of so much: it may be late, never early
   */
  final void pass(long tickNs) {
    long atNs = Math.max(localNs + 1, machine().wakeAtNs());
    localNs = Math.ceilDiv(atNs, tickNs) * tickNs;
    heard = Fingerprint.add(heard, localNs);
    machine().onTime(localNs, this);
    feed();
  }

  final void start() {
    machine().onTime(localNs, this);
  }

  final void hear(long requestId, StoreResponse response) {
    hearAtOnce(requestId, response);
    feed();
  }

  /** Hears an answer as part of the same action. */
  final void hearAtOnce(long requestId, StoreResponse response) {
    machine().onResponse(requestId, response, localNs, this);
    takeTold();
  }

  /** Takes what the machine says. */
  void takeTold() {}

  /** Remembers an answer for {@link #history}. */
  final void remember(long requestId, StoreResponse response) {
    heard = Fingerprint.add(heard, Fingerprint.of(requestId, response));
  }

  /** Equal for actors that will do the same from here on. */
  final long fingerprint() {
    if (fingerprint == 0) {
      fingerprint = Fingerprint.of(name, alive);
      if (alive && done() && dueNs() == Long.MAX_VALUE && pending.isEmpty()) {
        // It will never act again.
        fingerprint = Fingerprint.of(name, "done", extra());
      } else if (alive) {
        fingerprint =
            Fingerprint.of(name, alive, machine().fingerprint(), localNs, extra(), asked());
      }
    }
    return fingerprint;
  }

  /** What it waits for: ids only tell apart, so of these counts which part of the machine asks. */
  private long asked() {
    long hash = pending.size();
    for (Pending one : pending) {
      hash =
          Fingerprint.add(
              hash,
              Fingerprint.of(
                  one.id % ProducerMachine.PARTS_OF_IDS,
                  one.request,
                  one.payload,
                  one.fate,
                  one.response));
    }
    return hash;
  }

  /** Equal for actors that have lived through the same. */
  final long history() {
    return Fingerprint.of(name, alive, heard, pending);
  }
}
