package io.batchweave.simulate;

import io.batchweave.Bytes;
import io.batchweave.format.Block;
import io.batchweave.format.Block.Takeover;
import io.batchweave.format.DataObject;
import io.batchweave.format.Envelope;
import io.batchweave.format.ManifestCodec;
import io.batchweave.format.ManifestVersion;
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
import io.batchweave.log.State;
import io.batchweave.produce.Tgb;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;

/**
 * What stands on the store when a seed begins: nothing but the stream, or a log that brings the
 * seed close to where snapshots, segments and groups of versions end. Some hold what a crashed or
 * mistaken process left behind, which nobody may believe.
 */
final class Prehistory {
  /** The stream of every seed. */
  static final UUID STREAM = new UUID(0x5173, 0xBA7C4);

  /** The group that registers in {@link #checkpoints}. */
  static final String GROUP = "g";

  /** Who made it. */
  static final String PRODUCER = "old";

  private static final int SEGMENT = io.batchweave.format.Limits.SEGMENT_STEPS;

  private final String name;
  private final TreeMap<String, Bytes> objects = new TreeMap<>();
  private final List<SegmentRecord> segments = new ArrayList<>();
  private final Bits bits = new Bits(11);
  private final State state = State.empty(STREAM);
  private final List<TgbEntry> steps = new ArrayList<>();
  private long nextSeq = 1;

  private Prehistory(String name) {
    this.name = name;
    byte[] stream =
        StreamCodec.encode(
            new StreamDescriptor(STREAM, Envelope.FORMAT, Source.GRID.dp(), Source.GRID.cp(), 0));
    objects.put(ObjectNames.STREAM, Bytes.wrap(stream));
  }

  /** The empty stream. */
  static Prehistory none() {
    return Built.NONE;
  }

  /** Draws one; most seeds begin with nothing. */
  static Prehistory draw(Bits bits) {
    int index = (int) bits.nextBelow(3L * Built.OTHERS.size());
    return index < Built.OTHERS.size() ? Built.OTHERS.get(index) : Built.NONE;
  }

  /** A log of fences alone: a snapshot is due with the next version. */
  static Prehistory snapshotDue() {
    return Built.SNAPSHOT_DUE;
  }

  /**
   * Four steps in two packs of two, checkpoints before the second and the fourth, and the launch
   * that registered them: the horizon may move into the middle of the first pack.
   */
  static Prehistory checkpoints() {
    return Built.CHECKPOINTS;
  }

  private static final class Built {
    static final Prehistory CHECKPOINTS =
        new Prehistory("checkpoints").pack(2).pack(2).session().pin("c1", 1).pin("c3", 3);

    static final Prehistory NONE = new Prehistory("empty");

    static final Prehistory SNAPSHOT_DUE = new Prehistory("snapshot due").fences(127);

    static final List<Prehistory> OTHERS =
        List.of(
            new Prehistory("snapshot and segment soon").versions(122, 2),
            new Prehistory("snapshot at 128").versions(127, 2).snapshot().versions(9, 3),
            new Prehistory("newest snapshots damaged")
                .versions(127, 2)
                .snapshot()
                .versions(5, 1)
                .snapshot()
                .damage()
                .versions(1, 1)
                .foreignSnapshot()
                .versions(2, 1),
            new Prehistory("segment of another branch")
                .versions(120, 2)
                .versions(6, 3)
                .foreignSegment(),
            new Prehistory("group of versions ends").versions(500, 1).snapshot().versions(8, 1));
  }

  /** What it is, for people. */
  String name() {
    return name;
  }

  @Override
  public String toString() {
    return name;
  }

  /** All objects by key. */
  SortedMap<String, Bytes> objects() {
    return Collections.unmodifiableSortedMap(objects);
  }

  /** The next seq of {@link #PRODUCER}. */
  long nextSeq() {
    return nextSeq;
  }

  /** The head. */
  long version() {
    return state.version();
  }

  /** The number of steps. */
  long steps() {
    return state.nextStep();
  }

  /** The state at the head, for the caller to change. */
  State state() {
    return state.copy();
  }

  /** The entries of all steps. */
  List<TgbEntry> entries() {
    return Collections.unmodifiableList(steps);
  }

  private Prehistory versions(int count, int batches) {
    for (int i = 0; i < count; i++) {
      if (state.version() == 0) {
        append(new Block.Fence(PRODUCER, 1, bits.nextId()));
      }
      List<TgbEntry> entries = new ArrayList<>();
      long firstSeq = nextSeq;
      for (int k = 0; k < batches; k++) {
        DataObject object = new DataObject(PRODUCER, 1, nextSeq, nextSeq, bits.nextLong());
        Tgb tgb = Source.batch(PRODUCER, nextSeq);
        objects.put(ObjectNames.data(object), Source.bytes(tgb.payload()));
        entries.add(tgb.entry(object, nextSeq));
        nextSeq++;
      }
      // Always inline: a state this old is read by nobody but the next incarnation.
      String position = Long.toString(nextSeq - 1);
      Bytes bytes = Bytes.wrap(position.getBytes(java.nio.charset.StandardCharsets.US_ASCII));
      steps.addAll(entries);
      append(new Block.Produce(PRODUCER, 1, firstSeq, entries, new SourceState.Inline(bytes)));
    }
    return this;
  }

  /** One version whose batches share one object. */
  private Prehistory pack(int batches) {
    if (state.version() == 0) {
      append(new Block.Fence(PRODUCER, 1, bits.nextId()));
    }
    long firstSeq = nextSeq;
    DataObject object =
        new DataObject(PRODUCER, 1, firstSeq, firstSeq + batches - 1, bits.nextLong());
    List<TgbEntry> entries = new ArrayList<>();
    for (int k = 0; k < batches; k++) {
      entries.add(Source.batch(PRODUCER, nextSeq).entry(object, nextSeq));
      nextSeq++;
    }
    objects.put(ObjectNames.data(object), Source.bytes(Source.batch(PRODUCER, firstSeq).payload()));
    steps.addAll(entries);
    Bytes position = Source.stateAfter(nextSeq - 1);
    append(new Block.Produce(PRODUCER, 1, firstSeq, entries, new SourceState.Inline(position)));
    return this;
  }

  private Prehistory session() {
    append(new Block.OpenSession(GROUP, "s1", 0, Takeover.REFUSE, 0));
    return this;
  }

  private Prehistory pin(String id, long step) {
    long view = state.group(GROUP).changed();
    append(new Block.Pin(GROUP, "s1", view, id, step, 2));
    return this;
  }

  private Prehistory fences(int count) {
    for (int epoch = 1; epoch <= count; epoch++) {
      append(new Block.Fence(PRODUCER, epoch, bits.nextId()));
    }
    return this;
  }

  private void append(Block block) {
    VersionHeader header = state.nextHeader(bits.nextId(), 0, 100);
    String key = ObjectNames.version(header.version());
    Bytes body = Bytes.wrap(ManifestCodec.encode(header, List.of(block)));
    objects.put(key, body);
    ManifestVersion version = ManifestCodec.decode(key, body);
    segments.addAll(Fold.apply(state, version).completed());
  }

  private Prehistory snapshot() {
    for (SegmentRecord segment : segments) {
      objects.put(ObjectNames.segment(segment.index()), Bytes.wrap(SegmentCodec.encode(segment)));
    }
    objects.put(
        ObjectNames.snapshot(state.version()), Bytes.wrap(SnapshotCodec.encode(state.toRecord())));
    return this;
  }

  private Prehistory damage() {
    String key = ObjectNames.snapshot(state.version());
    byte[] body = objects.getOrDefault(key, Bytes.EMPTY).toByteArray();
    body[body.length / 2] ^= 0x10;
    objects.put(key, Bytes.wrap(body));
    return this;
  }

  /** As somebody who followed other bytes would have written it. */
  private Prehistory foreignSnapshot() {
    Prehistory other = new Prehistory("another branch");
    other.bits.nextLong();
    other.versions((int) state.version() - 1, 1);
    String key = ObjectNames.snapshot(other.state.version());
    objects.put(key, Bytes.wrap(SnapshotCodec.encode(other.state.toRecord())));
    return this;
  }

  private Prehistory foreignSegment() {
    Prehistory other = new Prehistory("another branch");
    other.bits.nextLong();
    other.versions(SEGMENT + 1, 1);
    String key = ObjectNames.segment(0);
    objects.put(key, Bytes.wrap(SegmentCodec.encode(other.segments.getFirst())));
    return this;
  }
}
