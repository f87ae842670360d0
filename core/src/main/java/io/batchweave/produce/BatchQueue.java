package io.batchweave.produce;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.Block;
import io.batchweave.format.DataObject;
import io.batchweave.format.Limits;
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
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.function.Consumer;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The batches between {@code add} and the fold: uploads them in parallel, packs those whose
 * predecessors are all uploaded into blocks, in seq order. A block that was written stays as it is:
 * its seqs are never offered again with other bytes.
 */
final class BatchQueue {
  /** Refusals of one upload (credentials, settings, space) after which the producer gives up. */
  static final int MAX_REFUSALS = 5;

  private final String producer;
  private final int maxUploads;
  private final Bits bits;
  private final ArrayList<Batch> pending;
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
    this.pending = new ArrayList<>();
    this.blocks = new ArrayList<>();
  }

  BatchQueue(BatchQueue other) {
    this.producer = other.producer;
    this.maxUploads = other.maxUploads;
    this.bits = other.bits.copy();
    this.pending = new ArrayList<>(other.pending.stream().map(Batch::new).toList());
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
    return pending.isEmpty();
  }

  @Nullable String trouble() {
    return trouble;
  }

  @Nullable BatchWeaveException failure() {
    return failure;
  }

  long add(Tgb tgb, Bytes sourceState) {
    long seq = nextSeq++;
    pending.add(new Batch(object(seq, seq), tgb, sourceState));
    return seq;
  }

  private DataObject object(long firstSeq, long lastSeq) {
    return new DataObject(producer, epoch, firstSeq, lastSeq, bits.nextLong());
  }

  /** The bytes behind an upload's handle. */
  Payload payload(long handle) {
    long seq = handle / 2;
    int index = pending.isEmpty() ? -1 : (int) (seq - pending.getFirst().seq);
    if (index < 0 || index >= pending.size()) {
      throw new IllegalArgumentException("no such upload: handle=" + handle + " seq=" + seq);
    }
    Batch batch = pending.get(index);
    return handle % 2 == 0 ? batch.tgb.payload() : Payload.of(batch.sourceState);
  }

  /** Forgets batches and blocks that the fold has accepted. */
  void committedThrough(long lastSeq) {
    int count = 0;
    while (count < pending.size() && pending.get(count).seq <= lastSeq) {
      count++;
    }
    pending.subList(0, count).clear();
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

  /** Sends the uploads that are due, the oldest first. */
  void upload(long nowNs, Requests requests, Iterator<Long> ids) {
    int inFlight = 0;
    for (FormedBlock formed : blocks) {
      if (formed.stateUpload != null && formed.stateUpload.dueAtNs() <= nowNs) {
        send(formed.stateUpload, requests, ids);
      }
    }
    for (Batch batch : pending) {
      if (inFlight == maxUploads) {
        return;
      }
      if (batch.upload.dueAtNs() <= nowNs) {
        send(batch.upload, requests, ids);
      }
      inFlight += batch.upload.inFlight() ? 1 : 0;
    }
  }

  private static void send(Upload upload, Requests requests, Iterator<Long> ids) {
    long id = ids.next();
    upload.sent(id);
    requests.send(id, new StoreRequest.Upload(upload.key, upload.handle, upload.lengthBytes));
  }

  /** When {@link #upload} has something to send again. */
  long wakeAtNs() {
    long wakeAtNs = Long.MAX_VALUE;
    for (FormedBlock formed : blocks) {
      if (formed.stateUpload != null) {
        wakeAtNs = Math.min(wakeAtNs, formed.stateUpload.dueAtNs());
      }
    }
    long inFlight = pending.stream().filter(batch -> batch.upload.inFlight()).count();
    for (Batch batch : pending) {
      if (batch.upload.inFlight() || inFlight < maxUploads) {
        wakeAtNs = Math.min(wakeAtNs, batch.upload.dueAtNs());
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
    pending.forEach(batch -> action.accept(batch.upload));
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
    List<Batch> members = new ArrayList<>();
    int blockBytes = 0;
    for (Batch batch : pending) {
      if (batch.seq < fromSeq) {
        continue;
      }
      if (!batch.upload.done()) {
        break;
      }
      boolean full =
          blockBytes + batch.blockBytes > Limits.BLOCK_BYTES - 2 * Limits.INLINE_SOURCE_STATE_BYTES
              || members.size() == Limits.BLOCK_ENTRIES;
      if (full && !members.isEmpty()) {
        if (!close(members)) {
          return;
        }
        members.clear();
        blockBytes = 0;
      }
      members.add(batch);
      blockBytes += batch.blockBytes;
    }
    if (!members.isEmpty()) {
      close(members);
    }
  }

  /**
   * Makes a block; false if it has to wait: one block at a time prepares a state object, so that
   * batches gather behind it instead of uploading a state each.
   */
  private boolean close(List<Batch> members) {
    Batch last = members.getLast();
    SourceState state = new SourceState.Inline(last.sourceState);
    Upload stateUpload = null;
    if (last.stateIsExternal()) {
      for (FormedBlock formed : blocks) {
        if (!formed.written) {
          return false;
        }
      }
      DataObject object = object(members.getFirst().seq, last.seq);
      CRC32C crc = new CRC32C();
      crc.update(last.sourceState.asByteBuffer());
      state = new SourceState.External(object, last.sourceState.length(), (int) crc.getValue());
      stateUpload =
          new Upload(ObjectNames.state(object), 2 * last.seq + 1, last.sourceState.length());
    }
    List<TgbEntry> entries = members.stream().map(batch -> batch.entry).toList();
    Block.Produce block =
        new Block.Produce(producer, epoch, members.getFirst().seq, entries, state);
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
        pending.stream().map(Batch::fingerprint).toList(),
        blocks.stream().map(FormedBlock::fingerprint).toList(),
        failure == null);
  }
}
