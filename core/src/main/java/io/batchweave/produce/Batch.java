package io.batchweave.produce;

import io.batchweave.Bytes;
import io.batchweave.format.Limits;
import io.batchweave.format.ManifestCodec;
import io.batchweave.log.Fingerprint;

/** One batch that is not committed yet. Immutable. */
final class Batch {
  final long seq;
  final Tgb tgb;
  final Bytes sourceState;

  /** Length of its manifest entry in a block. */
  final int entryBytes;

  Batch(long seq, Tgb tgb, Bytes sourceState) {
    this.seq = seq;
    this.tgb = tgb;
    this.sourceState = sourceState;
    this.entryBytes = ManifestCodec.entryLength(tgb.slices().size());
  }

  boolean stateIsExternal() {
    return sourceState.length() > Limits.INLINE_SOURCE_STATE_BYTES;
  }

  long fingerprint() {
    return Fingerprint.of(seq, sourceState, tgb.slices());
  }
}
