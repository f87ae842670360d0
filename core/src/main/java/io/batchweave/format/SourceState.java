package io.batchweave.format;

import io.batchweave.Bytes;

/** The producer's own source position, committed in the same atomic write as its batches. */
public sealed interface SourceState {
  /** Nothing was ever committed. */
  SourceState NONE = new Inline(Bytes.EMPTY);

  /**
   * Carried in the block itself.
   *
   * @param bytes at most {@link Limits#INLINE_SOURCE_STATE_BYTES}
   */
  record Inline(Bytes bytes) implements SourceState {}

  /**
   * An object of its own, uploaded before the block is offered.
   *
   * @param object its identity; the key is {@link ObjectNames#state}
   * @param lengthBytes at most {@link Limits#SOURCE_STATE_BYTES}
   * @param crc32c checksum of its bytes
   */
  record External(DataObject object, long lengthBytes, int crc32c) implements SourceState {}
}
