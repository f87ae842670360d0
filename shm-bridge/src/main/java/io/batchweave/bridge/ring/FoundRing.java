package io.batchweave.bridge.ring;

import java.util.ArrayList;
import java.util.List;

/**
 * What a daemon finds of a ring that the one before it served: generations that were OPEN once, all
 * of them CLOSED by now, and the reader files whose lock is held.
 *
 * @param generations ascending by number; the last one is the newest
 * @param readers in any order
 */
public record FoundRing(List<Generation> generations, List<Reader> readers) {
  /** Copies the lists. */
  public FoundRing {
    generations = List.copyOf(generations);
    readers = List.copyOf(readers);
  }

  /**
   * A control file.
   *
   * @param number the number in its name
   * @param session whom it served
   * @param coordinates the slices of each region
   * @param localReaders ranks of the session on this node
   * @param firstStep the step of n = 0
   * @param slots what its descriptors say, ascending and without a gap in n
   */
  public record Generation(
      long number,
      SessionKey session,
      List<Coordinate> coordinates,
      int localReaders,
      long firstStep,
      List<Slot> slots) {
    /** Copies the lists. */
    public Generation {
      coordinates = List.copyOf(coordinates);
      slots = List.copyOf(slots);
    }

    /** n of the next step to be allocated: END and FAILED without a region do not count. */
    long nextN() {
      if (slots.isEmpty()) {
        return 0;
      }
      Slot last = slots.getLast();
      return last.hasRegion() ? last.n() + 1 : last.n();
    }

    /** The next step to be allocated. */
    long nextStep() {
      if (slots.isEmpty()) {
        return firstStep;
      }
      Slot last = slots.getLast();
      return last.hasRegion() ? last.region().nextStep() : last.region().step();
    }

    /** The step of n, or -1 when the descriptors do not tell. */
    long stepOf(long n) {
      if (n == 0) {
        return firstStep;
      }
      for (Slot slot : slots) {
        if (slot.n() == n) {
          return slot.region().step();
        }
        if (slot.n() == n - 1 && slot.hasRegion()) {
          return slot.region().nextStep();
        }
      }
      return -1;
    }
  }

  /**
   * A descriptor.
   *
   * @param n the step's number in the generation
   * @param region where it lies
   */
  public record Slot(long n, StepRegion region) {
    boolean hasRegion() {
      return region.lengthBytes() > 0;
    }
  }

  /**
   * A reader file. Everything in it was written by a peer.
   *
   * @param id its name
   * @param previous the reader file that it says it replaces, or {@link Id128#NONE}
   * @param place where its rank stands
   * @param generation the number of the generation that it reads; 0 when none of those found
   * @param firstN everything below counts as released
   * @param view what it has taken and released there
   */
  public record Reader(
      Id128 id, Id128 previous, Coordinate place, long generation, long firstN, ReaderView view) {}

  /** Readers that have taken a step and not released it. */
  public List<Id128> holders() {
    List<Id128> holders = new ArrayList<>();
    for (Reader reader : readers) {
      for (Generation generation : generations) {
        if (generation.number() == reader.generation()
            && !FoundClaim.of(generation, reader).held().isEmpty()) {
          holders.add(reader.id());
        }
      }
    }
    return holders;
  }
}
