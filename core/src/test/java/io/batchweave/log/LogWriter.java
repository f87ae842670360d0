package io.batchweave.log;

import io.batchweave.Bytes;
import io.batchweave.format.Block;
import io.batchweave.format.DataObject;
import io.batchweave.format.Grid;
import io.batchweave.format.Limits;
import io.batchweave.format.ManifestCodec;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SegmentCodec;
import io.batchweave.format.SegmentRecord;
import io.batchweave.format.SliceEntry;
import io.batchweave.format.SnapshotCodec;
import io.batchweave.format.SourceState;
import io.batchweave.format.StreamCodec;
import io.batchweave.format.StreamDescriptor;
import io.batchweave.format.TgbEntry;
import io.batchweave.format.TgbLayout;
import io.batchweave.format.VersionHeader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** An honest committer without a protocol: writes a log straight into a map of objects. */
public final class LogWriter {
  /** The stream's id. */
  public static final UUID STREAM = new UUID(0x5EED, 0xF00D);

  private static final List<SliceEntry> SLICES = List.of(new SliceEntry(0, 100, 0xC0FFEE, 1, 2, 3));
  private static final TgbLayout.Tail TAIL = TgbLayout.tail(new Grid(1, 1), SLICES, "made up");

  private final Map<String, Bytes> objects;
  private final Bits bits;
  private final State state = State.empty(STREAM);
  private final List<SegmentRecord> segments = new ArrayList<>();
  private long newestSnapshot;
  private int segmentsWritten;

  /**
   * Creates the stream.
   *
   * @param objects where everything is put
   * @param seed of commit ids
   */
  public LogWriter(Map<String, Bytes> objects, long seed) {
    this.objects = objects;
    this.bits = new Bits(seed);
    StreamDescriptor stream = new StreamDescriptor(STREAM, 1, 1, 1, 0);
    objects.put(ObjectNames.STREAM, Bytes.wrap(StreamCodec.encode(stream)));
  }

  /** The state after everything written so far. */
  public State state() {
    return state;
  }

  /** Everything that is finished so far, by index. */
  public List<SegmentRecord> segments() {
    return segments;
  }

  /** The header of an honest next version. */
  public VersionHeader header() {
    return new VersionHeader(
        STREAM,
        state.version() + 1,
        bits.nextId(),
        state.commitId(),
        state.nextStep(),
        state.horizon(),
        state.runningHash(),
        newestSnapshot,
        100);
  }

  /** Writes the next version with these blocks. */
  public FoldOutcome commit(Block... blocks) {
    return commit(header(), Arrays.asList(blocks));
  }

  /** Writes the next version under this header, which may lie. */
  public FoldOutcome commit(VersionHeader header, List<Block> blocks) {
    String name = ObjectNames.version(state.version() + 1);
    Bytes body = Bytes.wrap(ManifestCodec.encode(header, blocks));
    objects.put(name, body);
    FoldOutcome outcome = Fold.apply(state, ManifestCodec.decode(name, body));
    segments.addAll(outcome.completed());
    return outcome;
  }

  /** Writes the missing segments and a snapshot of the state. */
  public void snapshot() {
    for (; segmentsWritten < segments.size(); segmentsWritten++) {
      SegmentRecord segment = segments.get(segmentsWritten);
      objects.put(ObjectNames.segment(segment.index()), Bytes.wrap(SegmentCodec.encode(segment)));
    }
    newestSnapshot = state.version();
    objects.put(
        ObjectNames.snapshot(newestSnapshot), Bytes.wrap(SnapshotCodec.encode(state.toRecord())));
  }

  /** Overwrites a version by the empty object that keeps its number. */
  public void trim(long version) {
    objects.put(ObjectNames.version(version), Bytes.EMPTY);
  }

  /**
   * Writes so many versions of one batch each by one producer, a snapshot every 128, keeping 16.
   *
   * @param count versions to be there at the end
   */
  public void fill(long count) {
    fill(count, SnapshotPolicy.DUE_VERSIONS);
  }

  /**
   * Writes so many versions of one batch each by one producer, keeping 16 snapshots.
   *
   * @param count versions to be there at the end
   * @param snapshotEvery versions from one snapshot to the next
   */
  public void fill(long count, long snapshotEvery) {
    if (state.version() == 0) {
      commit(new Block.Fence("filler", 1, new UUID(1, 1)));
    }
    while (state.version() < count) {
      ProducerState producer = state.producer("filler");
      long seq = producer == null ? 1 : producer.nextSeq();
      commit(produce("filler", 1, seq, 1));
      if (state.version() - newestSnapshot == snapshotEvery) {
        long old = newestSnapshot - (SnapshotPolicy.KEPT - 1) * snapshotEvery;
        snapshot();
        objects.remove(ObjectNames.snapshot(Math.max(0, old)));
      }
    }
  }

  /** A produce block with made-up entries; its source state names its last seq. */
  public static Block.Produce produce(String producer, int epoch, long firstSeq, int count) {
    DataObject object =
        new DataObject(producer, epoch, firstSeq, firstSeq + count - 1, 7 * firstSeq);
    return produce(object, firstSeq);
  }

  /** A produce block with the entries of an object from one seq on. */
  public static Block.Produce produce(DataObject object, long firstSeq) {
    List<TgbEntry> entries = new ArrayList<>();
    long offset = 0;
    for (long seq = object.firstSeq(); seq <= object.lastSeq(); seq++) {
      TgbEntry entry = entry(object, seq, offset);
      offset += entry.lengthBytes();
      if (seq >= firstSeq) {
        entries.add(entry);
      }
    }
    return new Block.Produce(
        object.producer(), object.epoch(), firstSeq, entries, stateAfter(object.lastSeq()));
  }

  /** A made-up entry. */
  public static TgbEntry entry(DataObject object, long seq, long offset) {
    return TgbLayout.entry(object, seq, offset, SLICES, TAIL);
  }

  /** The source state of a producer after a seq. */
  public static SourceState stateAfter(long seq) {
    return new SourceState.Inline(Bytes.copyOf(new byte[] {(byte) seq, (byte) (seq >> 8)}));
  }

  /** Steps in this many full segments. */
  public static int stepsOf(int fullSegments) {
    return fullSegments * Limits.SEGMENT_STEPS;
  }
}
