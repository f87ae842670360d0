package io.batchweave.simulate;

import io.batchweave.BatchWeaveException;
import io.batchweave.Bytes;
import io.batchweave.format.Block;
import io.batchweave.format.DataObject;
import io.batchweave.format.Limits;
import io.batchweave.format.ManifestCodec;
import io.batchweave.format.ManifestVersion;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SliceEntry;
import io.batchweave.format.SnapshotCodec;
import io.batchweave.format.SourceState;
import io.batchweave.format.TgbEntry;
import io.batchweave.log.BlockOutcome;
import io.batchweave.log.Fold;
import io.batchweave.log.FoldOutcome;
import io.batchweave.log.Invariants;
import io.batchweave.log.ProducerState;
import io.batchweave.log.State;
import io.batchweave.retain.CollectReport;
import io.batchweave.store.StoreRequest;
import io.batchweave.store.StoreResponse;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Stands at the store of a {@link Month} and holds every request against the promises. Remembers
 * only the steps above the horizon, so that a run may be as long as it likes.
 */
final class MonthLedger implements ModelStore.Observer {
  private static final int STATES_KEPT = 64;
  private static final int VIOLATIONS_KEPT = 20;

  /** More versions than are committed while a collector runs. */
  private static final int NEEDS_KEPT = 1 << 16;

  private final ModelStore store;
  private final State state;
  private final Map<Long, TgbEntry> window = new HashMap<>();
  private final ArrayDeque<State> lastStates = new ArrayDeque<>();
  private final Map<DataObject, Long> lastStepOf = new HashMap<>();
  private final Map<String, Long> batches = new HashMap<>();
  private final List<String> violations = new ArrayList<>();
  private final long[] needlessBytes = new long[NEEDS_KEPT];
  private long committedBytes;
  private long belowWindowBytes;
  private long windowStep;
  private double worstRatio;
  private double worstLiveRatio;
  private double liveRatios;
  private long measured;
  private long runs;

  MonthLedger(ModelStore store, UUID streamId) {
    this.store = store;
    this.state = State.empty(streamId);
  }

  State state() {
    return state;
  }

  List<String> violations() {
    return violations;
  }

  /** Runs of collectors that ended well. */
  long runs() {
    return runs;
  }

  /** How what is stored compares with what somebody registered for. */
  Month.Stored stored() {
    return new Month.Stored(worstRatio, liveRatios / Math.max(1, measured), worstLiveRatio);
  }

  void broken(Promise promise, String detail) {
    if (violations.size() < VIOLATIONS_KEPT) {
      violations.add(promise + ": " + detail);
    }
  }

  /** The entry of a step; null below the horizon and beyond the head. */
  @Nullable TgbEntry entry(long step) {
    return window.get(step);
  }

  @Override
  public void sent(ModelStore.Client client, StoreRequest request) {
    if (request instanceof StoreRequest.Delete delete) {
      for (String key : delete.keys()) {
        if (isNeeded(key)) {
          broken(Promise.NOTHING_REMOVED, client.name() + " deletes " + key);
        }
      }
    }
  }

  private boolean isNeeded(String key) {
    if (key.startsWith(ObjectNames.SNAPSHOTS) || key.startsWith(ObjectNames.ANNOUNCEMENTS)) {
      return false;
    }
    OptionalLong segment = ObjectNames.parseSegment(key);
    if (segment.isPresent()) {
      return (segment.getAsLong() + 1) * Limits.SEGMENT_STEPS > state.horizon();
    }
    DataObject data = ObjectNames.parseData(key);
    if (data != null) {
      return lastStepOf.getOrDefault(data, -1L) >= state.horizon();
    }
    DataObject object = ObjectNames.parseState(key);
    ProducerState producer = object == null ? null : state.producer(object.producer());
    return producer == null
        || (producer.sourceState() instanceof SourceState.External external
            && external.object().equals(object));
  }

  @Override
  public void applied(ModelStore.Client client, StoreRequest request, StoreResponse response) {
    if (request instanceof StoreRequest.PutIfAbsent put
        && response instanceof StoreResponse.Created) {
      if (put.key().startsWith("manifest/")) {
        foldAll();
      } else if (put.key().startsWith(ObjectNames.SNAPSHOTS)) {
        snapshot(put.key(), put.body());
      }
    }
  }

  @Override
  public void answered(ModelStore.Client client, StoreRequest request, StoreResponse response) {}

  private void foldAll() {
    String key = ObjectNames.version(state.version() + 1);
    Bytes body = store.objects().get(key);
    while (body != null) {
      try {
        fold(ManifestCodec.decode(key, body));
      } catch (BatchWeaveException e) {
        broken(Promise.LOG_SOUND, key + " " + e.getMessage());
        return;
      }
      key = ObjectNames.version(state.version() + 1);
      body = store.objects().get(key);
    }
  }

  private void fold(ManifestVersion version) {
    Invariants.Before before = Invariants.before(state, version);
    FoldOutcome outcome = Fold.apply(state, version);
    Invariants.after(before, state, outcome);
    if (outcome.isVoid()) {
      broken(Promise.NO_VOID_VERSION, outcome.version() + " " + outcome.voidReason());
    }
    if (state.protectedStep() < state.horizon()) {
      broken(Promise.RETAINED, "version=" + outcome.version() + " " + state);
    }
    for (BlockOutcome block : outcome.blocks()) {
      if (block.accepted() && block.block() instanceof Block.Produce produce) {
        produce.entries().forEach(this::take);
      }
    }
    while (windowStep < state.horizon()) {
      TgbEntry gone = window.remove(windowStep);
      belowWindowBytes += gone == null ? 0 : gone.lengthBytes();
      if (gone != null && lastStepOf.getOrDefault(gone.object(), -1L) == windowStep) {
        lastStepOf.remove(gone.object());
      }
      windowStep++;
    }
    needlessBytes[(int) (state.version() % NEEDS_KEPT)] = needlessBytes();
    lastStates.add(state.copy());
    if (lastStates.size() > STATES_KEPT) {
      lastStates.removeFirst();
    }
  }

  /** The n-th entry of a producer is its n-th batch, and its object is there. */
  private void take(TgbEntry entry) {
    String producer = entry.object().producer();
    long expected = batches.merge(producer, 1L, Long::sum);
    SliceEntry slice = entry.slices().getFirst();
    Bytes made = Source.slice(producer, expected, 0);
    if (entry.seq() != expected || slice.crc32c() != RankMachine.crc32c(made)) {
      broken(Promise.EACH_BATCH_ONCE_IN_ORDER, "n=" + expected + " " + entry);
    }
    if (!store.objects().containsKey(ObjectNames.data(entry.object()))) {
      broken(Promise.EVERY_STEP_READABLE, "gone before it was committed: " + entry.object());
    }
    long step = windowStep + window.size();
    lastStepOf.put(entry.object(), step);
    window.put(step, entry);
    committedBytes += entry.lengthBytes();
  }

  private void snapshot(String key, Bytes body) {
    long version = ObjectNames.parseSnapshot(key).orElse(0);
    for (State then : lastStates) {
      if (then.version() == version
          && !Bytes.wrap(SnapshotCodec.encode(then.toRecord())).equals(body)) {
        broken(Promise.SNAPSHOT_IS_THE_FOLD, key);
      }
    }
  }

  /** What was acknowledged is in the log. */
  void acknowledged(String producer, long seq, long step) {
    TgbEntry entry = entry(step);
    boolean holds =
        step < windowStep
            || (entry != null && entry.seq() == seq && entry.object().producer().equals(producer));
    if (!holds) {
      broken(Promise.ACKNOWLEDGED_IS_IN_THE_LOG, producer + " seq=" + seq + " step=" + step);
    }
  }

  /** The data of the steps so far that no registration of this version needs. */
  private long needlessBytes() {
    long neededFrom = Math.min(state.nextStep(), state.protectedStep());
    long lengthBytes = belowWindowBytes;
    for (long step = windowStep; step < neededFrom; step++) {
      TgbEntry entry = window.get(step);
      lengthBytes += entry == null ? 0 : entry.lengthBytes();
    }
    return lengthBytes;
  }

  /**
   * A run of a collector has ended: compares what it leaves, uploads under way apart, with the
   * steps that the registrations of the head it went by need, and with those that the registrations
   * of this moment need.
   */
  void collected(CollectReport report) {
    runs++;
    if (state.version() - report.version() >= NEEDS_KEPT) {
      broken(Promise.PROGRESS, "a run took versions=" + (state.version() - report.version()));
      return;
    }
    long stored = 0;
    for (Map.Entry<String, Bytes> object :
        store.objects().subMap(ObjectNames.DATA, "data0").entrySet()) {
      DataObject data = ObjectNames.parseData(object.getKey());
      if (data != null && !underWay(data)) {
        stored += object.getValue().length();
      }
    }
    long needed = committedBytes - needlessBytes[(int) (report.version() % NEEDS_KEPT)];
    long live = committedBytes - needlessBytes();
    if (needed > 0 && live > 0) {
      worstRatio = Math.max(worstRatio, (double) stored / needed);
      double liveRatio = (double) stored / live;
      worstLiveRatio = Math.max(worstLiveRatio, liveRatio);
      liveRatios += liveRatio;
      measured++;
    }
  }

  private boolean underWay(DataObject object) {
    ProducerState producer = state.producer(object.producer());
    return producer == null
        || (object.epoch() >= producer.epoch() && object.lastSeq() >= producer.nextSeq());
  }

  /** At the end: every step above the horizon is there. */
  void everyStepReadable() {
    for (TgbEntry entry : window.values()) {
      Bytes body = store.objects().get(ObjectNames.data(entry.object()));
      if (body == null || body.length() < entry.offset() + entry.lengthBytes()) {
        broken(Promise.EVERY_STEP_READABLE, entry.toString());
      }
    }
  }
}
