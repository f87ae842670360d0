package io.batchweave.produce;

import io.batchweave.format.Block;
import io.batchweave.log.Fingerprint;
import org.jspecify.annotations.Nullable;

/** A produce block in preparation: open to more batches until it is frozen. */
final class FormedBlock {
  final Block.Produce block;
  final long lastSeq;

  /** Upload of the source state's own object; null when the state is in the block. */
  final @Nullable Upload stateUpload;

  /** Frozen: it was written, or names a state object. It is offered like this or not at all. */
  boolean frozen;

  /** Whether it was part of a version that was sent. */
  boolean written;

  FormedBlock(Block.Produce block, @Nullable Upload stateUpload) {
    this.block = block;
    this.lastSeq = block.firstSeq() + block.entries().size() - 1;
    this.stateUpload = stateUpload;
    this.frozen = stateUpload != null;
  }

  FormedBlock(FormedBlock other) {
    this.block = other.block;
    this.lastSeq = other.lastSeq;
    this.stateUpload = other.stateUpload == null ? null : new Upload(other.stateUpload);
    this.frozen = other.frozen;
    this.written = other.written;
  }

  boolean ready() {
    return stateUpload == null || stateUpload.done();
  }

  long fingerprint() {
    return Fingerprint.of(
        block, stateUpload == null ? 0 : stateUpload.fingerprint(), frozen, written);
  }
}
