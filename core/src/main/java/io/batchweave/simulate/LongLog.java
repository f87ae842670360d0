package io.batchweave.simulate;

import io.batchweave.Bytes;
import io.batchweave.format.Block;
import io.batchweave.format.DataObject;
import io.batchweave.format.Envelope;
import io.batchweave.format.ManifestCodec;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SegmentCodec;
import io.batchweave.format.SegmentRecord;
import io.batchweave.format.SnapshotCodec;
import io.batchweave.format.SourceState;
import io.batchweave.format.StreamCodec;
import io.batchweave.format.StreamDescriptor;
import io.batchweave.format.TgbEntry;
import io.batchweave.format.VersionHeader;
import io.batchweave.log.Bits;
import io.batchweave.log.Fold;
import io.batchweave.log.SnapshotPolicy;
import io.batchweave.log.State;
import io.batchweave.produce.Tgb;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * A log of any length, made by the real encoder and the real fold, one batch to a version, a
 * snapshot whenever one is due, and trimmed below the oldest snapshot that is kept. So a million
 * versions fit into memory, and everything that an open or a commit can meet is there.
 */
final class LongLog {
  /** The stream. */
  static final UUID STREAM = new UUID(0xF1A7, 0x10661);

  /** Who made it. */
  static final String PRODUCER = "history";

  private static final Tgb BATCH = Source.batch(PRODUCER, 1);

  private final Map<String, Bytes> objects;
  private final Bits bits = new Bits(5);
  private final State state = State.empty(STREAM);
  private final List<SegmentRecord> segments = new ArrayList<>();
  private final Deque<Long> snapshots = new ArrayDeque<>();
  private long trimmedBelow = 1;
  private long bytesSince;
  private long snapshotBytes;
  private long nextSeq = 1;

  /**
   * An empty stream.
   *
   * @param objects where everything is put
   */
  LongLog(Map<String, Bytes> objects) {
    this.objects = objects;
    byte[] stream =
        StreamCodec.encode(
            new StreamDescriptor(STREAM, Envelope.FORMAT, Source.GRID.dp(), Source.GRID.cp(), 0));
    objects.put(ObjectNames.STREAM, Bytes.wrap(stream));
  }

  /** The state at the head; not to be changed. */
  State state() {
    return state;
  }

  /**
   * Goes on until there are so many versions: one that fences, and one for each batch.
   *
   * @param versions at the end
   */
  void grow(long versions) {
    while (state.version() < versions) {
      append(state.version() == 0 ? new Block.Fence(PRODUCER, 1, bits.nextId()) : batch());
    }
  }

  private Block batch() {
    long seq = nextSeq++;
    DataObject object = new DataObject(PRODUCER, 1, seq, seq, bits.nextLong());
    // The same batch again and again: only its place in the log differs.
    TgbEntry entry = BATCH.entry(object, seq);
    String position = String.format("%019d", seq);
    Bytes source = Bytes.wrap(position.getBytes(StandardCharsets.US_ASCII));
    return new Block.Produce(PRODUCER, 1, seq, List.of(entry), new SourceState.Inline(source));
  }

  private void append(Block block) {
    long newest = snapshots.isEmpty() ? 0 : snapshots.getLast();
    VersionHeader header = state.nextHeader(bits.nextId(), newest, 100);
    String key = ObjectNames.version(header.version());
    Bytes body = Bytes.wrap(ManifestCodec.encode(header, List.of(block)));
    objects.put(key, body);
    segments.addAll(Fold.apply(state, ManifestCodec.decode(key, body)).completed());
    bytesSince += body.length();
    if (SnapshotPolicy.outgrown(state.version() - newest, bytesSince, snapshotBytes)) {
      snapshot();
    }
  }

  private void snapshot() {
    for (SegmentRecord segment : segments) {
      objects.put(ObjectNames.segment(segment.index()), Bytes.wrap(SegmentCodec.encode(segment)));
    }
    segments.clear();
    Bytes body = Bytes.wrap(SnapshotCodec.encode(state.toRecord()));
    objects.put(ObjectNames.snapshot(state.version()), body);
    snapshotBytes = body.length();
    bytesSince = 0;
    snapshots.addLast(state.version());
    if (snapshots.size() > SnapshotPolicy.KEPT) {
      objects.remove(ObjectNames.snapshot(snapshots.removeFirst()));
      for (; trimmedBelow < snapshots.getFirst(); trimmedBelow++) {
        objects.put(ObjectNames.version(trimmedBelow), Bytes.EMPTY);
      }
    }
  }
}
