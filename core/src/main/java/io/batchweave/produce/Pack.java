package io.batchweave.produce;

import io.batchweave.format.DataObject;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.TgbEntry;
import io.batchweave.log.Fingerprint;
import io.batchweave.store.Payload;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Consecutive batches that share one data object. Gathers until it is bound: from then on each of
 * its seqs belongs to that object for ever.
 */
final class Pack {
  private final ArrayList<Batch> batches;
  private long lengthBytes;
  private int entriesBytes;
  private boolean closed;
  private boolean sentUnripe;
  private @Nullable Upload upload;
  private List<TgbEntry> entries = List.of();

  Pack(Batch first, int objectBytes) {
    this.batches = new ArrayList<>();
    this.entriesBytes = objectBytes;
    add(first);
  }

  Pack(Pack other) {
    this.batches = new ArrayList<>(other.batches);
    this.lengthBytes = other.lengthBytes;
    this.entriesBytes = other.entriesBytes;
    this.closed = other.closed;
    this.sentUnripe = other.sentUnripe;
    this.upload = other.upload == null ? null : new Upload(other.upload);
    this.entries = other.entries;
  }

  private void add(Batch batch) {
    batches.add(batch);
    lengthBytes += batch.tgb.lengthBytes();
    entriesBytes += batch.entryBytes;
  }

  /** Takes a batch in; false if it does not join: then none ever will. */
  boolean join(Batch batch) {
    closed |=
        upload != null
            || !PackPolicy.joins(
                batches.size(),
                lengthBytes,
                entriesBytes,
                batch.tgb.lengthBytes(),
                batch.entryBytes);
    if (!closed) {
      add(batch);
    }
    return !closed;
  }

  long firstSeq() {
    return batches.getFirst().seq;
  }

  Batch last() {
    return batches.getLast();
  }

  int count() {
    return batches.size();
  }

  /** Length of the entries in a block, at most. */
  int entriesBytes() {
    return entriesBytes;
  }

  /** The upload; null while batches may join. */
  @Nullable Upload upload() {
    return upload;
  }

  /** The manifest entries, once it is bound. */
  List<TgbEntry> entries() {
    return entries;
  }

  boolean done() {
    return upload != null && upload.done();
  }

  boolean inFlight() {
    return upload != null && upload.inFlight();
  }

  /** Whether it was small when it was sent, and is not there yet. */
  boolean unfinishedUnripe() {
    return sentUnripe && !done();
  }

  /** Whether it goes up now. */
  boolean goes(int unfinishedUnripe) {
    return PackPolicy.goes(closed, lengthBytes, unfinishedUnripe);
  }

  /** Gives the batches their object, for ever. */
  Upload bind(String producer, int epoch, long random) {
    DataObject object = new DataObject(producer, epoch, firstSeq(), last().seq, random);
    sentUnripe = PackPolicy.unripe(closed, lengthBytes);
    closed = true;
    List<TgbEntry> bound = new ArrayList<>(batches.size());
    long offset = 0;
    for (Batch batch : batches) {
      bound.add(batch.tgb.entry(object, batch.seq, offset));
      offset += batch.tgb.lengthBytes();
    }
    entries = List.copyOf(bound);
    upload = new Upload(ObjectNames.data(object), 2 * firstSeq(), lengthBytes);
    return upload;
  }

  /** The bytes of the object. */
  Payload payload() {
    return batches.size() == 1
        ? batches.getFirst().tgb.payload()
        : Payload.concat(batches.stream().map(batch -> batch.tgb.payload()).toList());
  }

  long fingerprint() {
    return Fingerprint.of(
        batches.stream().map(Batch::fingerprint).toList(),
        closed,
        sentUnripe,
        entries,
        upload == null ? 0 : upload.fingerprint());
  }
}
