package io.batchweave.log;

import io.batchweave.Bytes;
import io.batchweave.format.ManifestCodec;
import io.batchweave.format.ManifestVersion;
import io.batchweave.format.ObjectNames;

/**
 * How a {@link LogFollower} takes the bytes of a version to the next state. Every process does that
 * for itself ({@link #OWN}); where thousands of them live on one heap they may share what is equal,
 * since decoding and folding are functions of the bytes.
 */
public interface Folding {
  /** Decodes and folds for one follower, which alone holds the state. */
  Folding OWN = new Folding() {};

  /**
   * What folding a version gives.
   *
   * @param state after the version
   * @param outcome what the version did
   */
  record Folded(State state, FoldOutcome outcome) {}

  /**
   * Decodes a version.
   *
   * @param version its number
   * @param body the whole object
   * @throws io.batchweave.BatchWeaveException CORRUPT, TOO_NEW
   */
  default ManifestVersion decode(long version, Bytes body) {
    return ManifestCodec.decode(ObjectNames.version(version), body);
  }

  /**
   * Folds a version, with the {@link Invariants} checked. The state passed in is not asked again:
   * it may be the one that is returned, changed.
   *
   * @param state before the version
   * @param version the next one, as {@link #decode} gave it
   * @throws io.batchweave.BatchWeaveException CORRUPT, naming the invariant that does not hold
   */
  default Folded fold(State state, ManifestVersion version) {
    Invariants.Before before = Invariants.before(state, version);
    FoldOutcome outcome = Fold.apply(state, version);
    Invariants.after(before, state, outcome);
    return new Folded(state, outcome);
  }
}
