package io.batchweave.bridge.ring;

import io.batchweave.bridge.ring.FoundRing.Generation;
import io.batchweave.bridge.ring.FoundRing.Reader;
import io.batchweave.bridge.ring.FoundRing.Slot;
import java.util.ArrayList;
import java.util.List;

/**
 * What a reader file claims, as far as the control file that it reads bears it out.
 *
 * @param generation which it reads
 * @param reader whose claim it is
 * @param held what it has taken and not released, ascending
 * @param nextStep the step it may still have to take; -1 when its claim cannot be true
 */
record FoundClaim(Generation generation, Reader reader, List<Slot> held, long nextStep) {
  /** The same, of a rank that was counted when a later generation began. */
  FoundClaim notBefore(Generation later) {
    boolean isRaised = generation.number() < later.number() && nextStep >= 0;
    return isRaised
        ? new FoundClaim(generation, reader, held, Math.max(nextStep, later.firstStep()))
        : this;
  }

  static FoundClaim of(Generation generation, Reader reader) {
    ReaderView view = reader.view();
    long nextN = generation.nextN();
    long firstN = Math.clamp(reader.firstN(), 0, nextN);
    long taken = Math.clamp(view.taken(), firstN, nextN);
    List<Slot> held = new ArrayList<>();
    for (Slot slot : generation.slots()) {
      if (slot.n() >= firstN && slot.n() < taken && !view.isAcked(slot.n())) {
        held.add(slot);
      }
    }
    // It may be just about to back out of its last step: count it as not taken while it holds it.
    boolean holdsLast = !held.isEmpty() && held.getLast().n() == taken - 1;
    return new FoundClaim(
        generation, reader, held, generation.stepOf(holdsLast ? taken - 1 : taken));
  }
}
