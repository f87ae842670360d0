package io.batchweave.produce;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.Block;
import io.batchweave.format.DataObject;
import io.batchweave.format.Limits;
import io.batchweave.format.ManifestCodec;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SourceState;
import io.batchweave.format.TgbEntry;
import io.batchweave.log.Bits;
import io.batchweave.log.Fingerprint;
import io.batchweave.log.Machine.Requests;
import io.batchweave.store.Payload;
import io.batchweave.store.StoreFailure;
import io.batchweave.store.StoreRequest;
import io.batchweave.store.StoreResponse;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.function.Consumer;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The batches between {@code add} and the fold: packs them into objects, uploads those in parallel,
 * gathers what is uploaded with all its predecessors into blocks, in seq order. A block that was
 * written stays as it is: its seqs are never offered again with other bytes.
 */
final class BatchQueue {
  /** Refusals of one upload (credentials, settings, space) after which the producer gives up. */
  static final int MAX_REFUSALS = 5;

  private final String producer;
  private final int maxUploads;
  private final Bits bits;
  private final ArrayDeque<Pack> packs;
  private final ArrayList<FormedBlock> blocks;
  private int epoch;
  private long nextSeq;
  private boolean dirty;
  private @Nullable String trouble;
  private @Nullable BatchWeaveException failure;

  BatchQueue(String producer, int maxUploads, Bits bits) {
    this.producer = producer;
    this.maxUploads = maxUploads;
    this.bits = bits;
    this.packs = new ArrayDeque<>();
    this.blocks = new ArrayList<>();
  }

  BatchQueue(BatchQueue other) {
    this.producer = other.producer;
    this.maxUploads = other.maxUploads;
    this.bits = other.bits.copy();
    this.packs = new ArrayDeque<>(other.packs.stream().map(Pack::new).toList());
    this.blocks = new ArrayList<>(other.blocks.stream().map(FormedBlock::new).toList());
    this.epoch = other.epoch;
    this.nextSeq = other.nextSeq;
    this.dirty = other.dirty;
    this.trouble = other.trouble;
    this.failure = other.failure;
  }

  /** Says which epoch is owned and where it begins; before the first batch. */
  void begin(int ownedEpoch, long firstSeq) {
    epoch = ownedEpoch;
    nextSeq = firstSeq;
  }

  long nextSeq() {
    return nextSeq;
  }

  boolean isEmpty() {
    return packs.isEmpty();
  }

  @Nullable String trouble() {
    return trouble;
  }

  @Nullable BatchWeaveException failure() {
    return failure;
  }

  long add(Tgb tgb, Bytes sourceState) {
    Batch batch = new Batch(nextSeq++, tgb, sourceState);
    Pack newest = packs.peekLast();
    if (newest == null || !newest.join(batch)) {
      packs.addLast(new Pack(batch, ManifestCodec.objectLength(producer)));
    }
    return batch.seq;
  }

  /** The bytes behind an upload's handle. */
  Payload payload(long handle) {
    long seq = handle / 2;
    for (Pack pack : packs) {
      if (handle % 2 == 0 && pack.firstSeq() == seq) {
        return pack.payload();
      }
      if (handle % 2 != 0 && pack.last().seq == seq) {
        return Payload.of(pack.last().sourceState);
      }
    }
    throw new IllegalArgumentException("no such upload: handle=" + handle + " seq=" + seq);
  }

  /** Forgets batches and blocks that the fold has accepted; blocks are whole packs. */
  void committedThrough(long lastSeq) {
    while (!packs.isEmpty() && packs.getFirst().last().seq <= lastSeq) {
      packs.removeFirst();
    }
    dirty |= blocks.removeIf(block -> block.lastSeq <= lastSeq);
  }

  /** Freezes the blocks that were part of a version. */
  void written(List<Block> written) {
    for (FormedBlock formed : blocks) {
      if (!formed.written && written.contains(formed.block)) {
        formed.written = true;
        formed.frozen = true;
        dirty = true;
      }
    }
  }

  /** Sends the uploads that are due, the oldest first, and binds what goes now. */
  void upload(long nowNs, Requests requests, Iterator<Long> ids) {
    for (FormedBlock formed : blocks) {
      if (formed.stateUpload != null && formed.stateUpload.dueAtNs() <= nowNs) {
        send(formed.stateUpload, requests, ids);
      }
    }
    int inFlight = 0;
    int unripe = 0;
    for (Pack pack : packs) {
      if (inFlight == maxUploads) {
        return;
      }
      Upload upload = pack.upload();
      if (upload == null) {
        if (!pack.goes(unripe)) {
          return;
        }
        upload = pack.bind(producer, epoch, bits.nextLong());
      }
      if (upload.dueAtNs() <= nowNs) {
        send(upload, requests, ids);
      }
      inFlight += pack.inFlight() ? 1 : 0;
      unripe += pack.unfinishedUnripe() ? 1 : 0;
    }
  }

  private static void send(Upload upload, Requests requests, Iterator<Long> ids) {
    long id = ids.next();
    upload.sent(id);
    requests.send(id, new StoreRequest.Upload(upload.key, upload.handle, upload.lengthBytes));
  }

  /**
   * When {@link #upload} has something to send again. What gathers waits for no time: it is looked
   * at after every event.
   */
  long wakeAtNs() {
    long wakeAtNs = Long.MAX_VALUE;
    for (FormedBlock formed : blocks) {
      if (formed.stateUpload != null) {
        wakeAtNs = Math.min(wakeAtNs, formed.stateUpload.dueAtNs());
      }
    }
    long inFlight = packs.stream().filter(Pack::inFlight).count();
    for (Pack pack : packs) {
      Upload upload = pack.upload();
      if (upload != null && inFlight < maxUploads) {
        wakeAtNs = Math.min(wakeAtNs, upload.dueAtNs());
      }
    }
    return wakeAtNs;
  }

  private void forEachUpload(Consumer<Upload> action) {
    for (FormedBlock formed : blocks) {
      if (formed.stateUpload != null) {
        action.accept(formed.stateUpload);
      }
    }
    for (Pack pack : packs) {
      Upload upload = pack.upload();
      if (upload != null) {
        action.accept(upload);
      }
    }
  }

  /** Takes the answer to an upload. */
  void onAnswer(long requestId, StoreResponse response, long nowNs) {
    forEachUpload(upload -> {
      if (upload.isAnswer(requestId)) {
        onAnswer(upload, response, nowNs);
      }
    });
  }

  private void onAnswer(Upload upload, StoreResponse response, long nowNs) {
    if (response instanceof StoreResponse.Created) {
      upload.succeeded();
      trouble = null;
      dirty = true;
      return;
    }
    upload.failed(nowNs, bits);
    if (response instanceof StoreResponse.Failed failed) {
      trouble = failed.detail();
      if (!failed.failure().retryable() && upload.failures() >= MAX_REFUSALS) {
        failure =
            new BatchWeaveException(
                failed.failure() == StoreFailure.FULL ? Kind.LIMIT : Kind.CONFIG,
                "the store refuses an upload: refusals="
                    + upload.failures()
                    + " last="
                    + failed.detail());
      }
    }
  }

  /** The blocks to offer if they differ from those offered before; null if nothing changed. */
  @Nullable List<Block> changedOffers() {
    if (!dirty) {
      return null;
    }
    dirty = false;
    form();
    List<Block> offers = new ArrayList<>(blocks.size());
    for (FormedBlock formed : blocks) {
      if (!formed.ready()) {
        break;
      }
      offers.add(formed.block);
    }
    return offers;
  }

  private void form() {
    blocks.removeIf(formed -> !formed.frozen);
    long fromSeq = blocks.isEmpty() ? Long.MIN_VALUE : blocks.getLast().lastSeq + 1;
    List<Pack> members = new ArrayList<>();
    int entriesBytes = 0;
    int count = 0;
    for (Pack pack : packs) {
      if (pack.firstSeq() < fromSeq) {
        continue;
      }
      if (!pack.done()) {
        break;
      }
      boolean full =
          entriesBytes + pack.entriesBytes() > PackPolicy.ENTRIES_BYTES
              || count + pack.count() > Limits.BLOCK_ENTRIES;
      if (full && !members.isEmpty()) {
        if (!close(members)) {
          return;
        }
        members.clear();
        entriesBytes = 0;
        count = 0;
      }
      members.add(pack);
      entriesBytes += pack.entriesBytes();
      count += pack.count();
    }
    if (!members.isEmpty()) {
      close(members);
    }
  }

  /**
   * Makes a block; false if it has to wait: one block at a time prepares a state object, so that
   * batches gather behind it instead of uploading a state each.
   */
  private boolean close(List<Pack> members) {
    long firstSeq = members.getFirst().firstSeq();
    Batch last = members.getLast().last();
    SourceState state = new SourceState.Inline(last.sourceState);
    Upload stateUpload = null;
    if (last.stateIsExternal()) {
      for (FormedBlock formed : blocks) {
        if (!formed.written) {
          return false;
        }
      }
      DataObject object = new DataObject(producer, epoch, firstSeq, last.seq, bits.nextLong());
      CRC32C crc = new CRC32C();
      crc.update(last.sourceState.asByteBuffer());
      state = new SourceState.External(object, last.sourceState.length(), (int) crc.getValue());
      stateUpload =
          new Upload(ObjectNames.state(object), 2 * last.seq + 1, last.sourceState.length());
    }
    List<TgbEntry> entries = new ArrayList<>();
    members.forEach(pack -> entries.addAll(pack.entries()));
    Block.Produce block = new Block.Produce(producer, epoch, firstSeq, entries, state);
    blocks.add(new FormedBlock(block, stateUpload));
    return true;
  }

  long fingerprint() {
    return Fingerprint.of(
        producer,
        bits.fingerprint(),
        epoch,
        nextSeq,
        dirty,
        packs.stream().map(Pack::fingerprint).toList(),
        blocks.stream().map(FormedBlock::fingerprint).toList(),
        failure == null);
  }
}
