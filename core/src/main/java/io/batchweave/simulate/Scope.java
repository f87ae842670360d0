package io.batchweave.simulate;

import io.batchweave.commit.Proposal;
import java.util.ArrayList;
import java.util.List;

/**
 * What is explored.
 *
 * @param parts who takes part
 * @param crashes processes that may die, each replaced at once
 * @param unclear changes whose answer may be unclear, or a conflict
 * @param contested whether somebody lists or deletes data: then an upload is an action of its own
 * @param tickNs clocks move in steps of so much
 * @param prehistory what stands on the store
 */
record Scope(
    List<Part> parts,
    int crashes,
    int unclear,
    boolean contested,
    long tickNs,
    Prehistory prehistory) {
  private static final long TICK_NS = 1_000_000_000L;

  /** Makes a process. */
  interface Birth {
    /** A process that has not started. */
    Actor actor(String name, long seed);
  }

  /**
   * One who takes part.
   *
   * @param role whose work it does
   * @param batches that this adds to the stream
   * @param warm whether it has read on to the head before the first action
   */
  record Part(String role, Birth birth, long batches, boolean warm) {}

  static Scope of(Prehistory prehistory) {
    return new Scope(List.of(), 0, 0, false, TICK_NS, prehistory);
  }

  /** With producers that have batches to produce. */
  Scope producers(int producers, int batches) {
    Scope scope = this;
    for (int i = 0; i < producers; i++) {
      String producer = "p" + i;
      Birth birth = (name, seed) -> new ProducerActor(name, producer, batches, seed);
      scope = scope.with(new Part(producer, birth, batches, true));
    }
    return scope;
  }

  /** With more processes of the first producer, which start at any time. */
  Scope duplicates(int duplicates, int batches) {
    Scope scope = this;
    for (int i = 0; i < duplicates; i++) {
      Birth birth = (name, seed) -> new ProducerActor(name, "p0", batches, seed);
      scope = scope.with(new Part("p0", birth, 0, false));
    }
    return scope;
  }

  /** With somebody who wants a block in the log. */
  Scope proposal(String role, Proposal proposal) {
    return with(
        new Part(role, (name, seed) -> new ProposalActor(name, role, proposal, seed), 0, true));
  }

  Scope faults(int deaths, int unclearAnswers) {
    return new Scope(parts, deaths, unclearAnswers, contested, tickNs, prehistory);
  }

  /** With a run of the collector, which lists and deletes data. */
  Scope collector() {
    Scope more = with(new Part("collector", CollectorActor::new, 0, false));
    return new Scope(more.parts, crashes, unclear, true, tickNs, prehistory);
  }

  /** With clocks that move in other steps. */
  Scope ticks(long newTickNs) {
    return new Scope(parts, crashes, unclear, contested, newTickNs, prehistory);
  }

  private Scope with(Part part) {
    List<Part> more = new ArrayList<>(parts);
    more.add(part);
    return new Scope(List.copyOf(more), crashes, unclear, contested, tickNs, prehistory);
  }

  /** Batches that are to be in the log at the end, besides those before. */
  long batches() {
    return parts.stream().mapToLong(Part::batches).sum();
  }
}
