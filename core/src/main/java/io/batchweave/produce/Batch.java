package io.batchweave.produce;

import io.batchweave.Bytes;
import io.batchweave.format.Block;
import io.batchweave.format.DataObject;
import io.batchweave.format.Limits;
import io.batchweave.format.ManifestCodec;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SourceState;
import io.batchweave.format.TgbEntry;
import io.batchweave.log.Fingerprint;
import java.util.List;

/** One batch that is not committed yet: bound to one data object from the start, for ever. */
final class Batch {
  final long seq;
  final Tgb tgb;
  final Bytes sourceState;
  final TgbEntry entry;

  /** Length of a block that holds this batch alone, without source state: bounds its share. */
  final int blockBytes;

  final Upload upload;

  Batch(DataObject object, Tgb tgb, Bytes sourceState) {
    this.seq = object.firstSeq();
    this.tgb = tgb;
    this.sourceState = sourceState;
    this.entry = tgb.entry(object, seq);
    this.blockBytes =
        ManifestCodec.encodedLength(
            new Block.Produce(
                object.producer(), object.epoch(), seq, List.of(entry), SourceState.NONE));
    this.upload = new Upload(ObjectNames.data(object), 2 * seq, tgb.lengthBytes());
  }

  Batch(Batch other) {
    this.seq = other.seq;
    this.tgb = other.tgb;
    this.sourceState = other.sourceState;
    this.entry = other.entry;
    this.blockBytes = other.blockBytes;
    this.upload = new Upload(other.upload);
  }

  boolean stateIsExternal() {
    return sourceState.length() > Limits.INLINE_SOURCE_STATE_BYTES;
  }

  long fingerprint() {
    return Fingerprint.of(seq, sourceState, entry, upload.fingerprint());
  }
}
