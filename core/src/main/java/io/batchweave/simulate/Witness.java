package io.batchweave.simulate;

import io.batchweave.BatchWeaveException;
import io.batchweave.Bytes;
import io.batchweave.format.Block;
import io.batchweave.format.DataObject;
import io.batchweave.format.Limits;
import io.batchweave.format.ManifestCodec;
import io.batchweave.format.ManifestVersion;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SegmentCodec;
import io.batchweave.format.SegmentRecord;
import io.batchweave.format.SnapshotCodec;
import io.batchweave.format.SourceState;
import io.batchweave.format.TgbEntry;
import io.batchweave.log.BlockOutcome;
import io.batchweave.log.Fold;
import io.batchweave.log.FoldOutcome;
import io.batchweave.log.Invariants;
import io.batchweave.log.ProducerState;
import io.batchweave.log.State;
import io.batchweave.store.StoreRequest;
import io.batchweave.store.StoreResponse;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Stands at the store: folds every version the moment it is created, and looks at every request. It
 * knows the truth; no process does.
 */
final class Witness implements ModelStore.Observer {
  private record Slot(String producer, int epoch, long seq) {}

  /** A block that the log accepted. */
  record Accepted(long version, Block block) {}

  private final Chronicle chronicle;
  private final ModelStore store;
  private final State state;
  private final List<TgbEntry> entries;
  private final List<Accepted> accepted = new ArrayList<>();
  private final Map<Slot, DataObject> offered = new HashMap<>();
  private final Map<DataObject, Long> lastStepOf = new HashMap<>();
  private final Set<UUID> owners = new HashSet<>();
  private final long firstOwnStep;
  private boolean folding = true;

  Witness(Chronicle chronicle, ModelStore store, Prehistory prehistory) {
    this.chronicle = chronicle;
    this.store = store;
    this.state = prehistory.state();
    this.entries = new ArrayList<>();
    addEntries(prehistory.entries());
    this.firstOwnStep = entries.size();
  }

  /** The log's state. */
  State state() {
    return state;
  }

  /** The first step that was not there when the seed began. */
  long firstOwnStep() {
    return firstOwnStep;
  }

  /** The entries of all steps. */
  List<TgbEntry> entries() {
    return entries;
  }

  /** The blocks that took effect, in order; those of the prehistory are not among them. */
  List<Accepted> accepted() {
    return accepted;
  }

  /** Whether the log held this block before this seed, or accepted it during it. */
  boolean accepted(Block block, long version) {
    for (Accepted one : accepted) {
      if (one.version() == version && one.block().equals(block)) {
        return true;
      }
    }
    return false;
  }

  @Override
  public void sent(ModelStore.Client client, StoreRequest request) {
    switch (request) {
      case StoreRequest.PutIfAbsent put when put.key().startsWith("manifest/") ->
          offered(client, put.key(), put.body());
      case StoreRequest.Delete delete -> deleting(client, delete);
      default -> {}
    }
  }

  private void offered(ModelStore.Client client, String key, Bytes body) {
    for (Block block : ManifestCodec.decode(key, body).blocks()) {
      if (block instanceof Block.Produce produce) {
        for (TgbEntry entry : produce.entries()) {
          Slot slot = new Slot(produce.producer(), produce.epoch(), entry.seq());
          DataObject before = offered.putIfAbsent(slot, entry.object());
          if (before != null && !before.equals(entry.object())) {
            chronicle.broken(
                Promise.SEQ_BOUND_TO_ONE_OBJECT,
                client.name(),
                ObjectNames.parseVersion(key).orElse(0),
                slot + " first=" + before + " now=" + entry.object());
          }
        }
      }
    }
  }

  private void addEntries(List<TgbEntry> more) {
    for (TgbEntry entry : more) {
      lastStepOf.put(entry.object(), (long) entries.size());
      entries.add(entry);
    }
  }

  private void deleting(ModelStore.Client client, StoreRequest.Delete delete) {
    for (String key : delete.keys()) {
      String needed = neededFor(key);
      if (needed != null) {
        chronicle.broken(
            Promise.NOTHING_REMOVED, client.name(), 0, "deletes key=" + key + ": " + needed);
      }
    }
  }

  /** Why an object must stay; null if it may go. */
  private @Nullable String neededFor(String key) {
    if (key.startsWith(ObjectNames.SNAPSHOTS) || key.startsWith(ObjectNames.ANNOUNCEMENTS)) {
      return null;
    }
    OptionalLong segment = ObjectNames.parseSegment(key);
    if (segment.isPresent()) {
      long end = (segment.getAsLong() + 1) * Limits.SEGMENT_STEPS;
      return end <= state.horizon() ? null : "horizon=" + state.horizon();
    }
    DataObject data = ObjectNames.parseData(key);
    if (data != null) {
      long lastStep = lastStepOf.getOrDefault(data, -1L);
      return lastStep < state.horizon() ? null : "step=" + lastStep;
    }
    DataObject object = ObjectNames.parseState(key);
    ProducerState producer = object == null ? null : state.producer(object.producer());
    if (producer == null) {
      return "nobody knows what it is";
    }
    return producer.sourceState() instanceof SourceState.External external
            && external.object().equals(object)
        ? "current source state"
        : null;
  }

  @Override
  public void applied(ModelStore.Client client, StoreRequest request, StoreResponse response) {
    note(client, request, response);
    if (!(request instanceof StoreRequest.PutIfAbsent put)
        || !(response instanceof StoreResponse.Created)) {
      return;
    }
    if (put.key().startsWith("manifest/")) {
      created(client);
    } else if (put.key().startsWith(ObjectNames.SNAPSHOTS)) {
      snapshot(client, put);
    }
  }

  /** Folds what follows the head; a version beyond a gap waits. */
  private void created(ModelStore.Client client) {
    while (folding) {
      String key = ObjectNames.version(state.version() + 1);
      Bytes body = store.objects().get(key);
      if (body == null) {
        return;
      }
      try {
        fold(client, ManifestCodec.decode(key, body));
      } catch (BatchWeaveException e) {
        folding = false;
        chronicle.broken(
            Promise.LOG_SOUND, client.name(), state.version() + 1, String.valueOf(e.getMessage()));
      }
    }
  }

  private void fold(ModelStore.Client client, ManifestVersion version) {
    Invariants.Before before = Invariants.before(state, version);
    FoldOutcome outcome = Fold.apply(state, version);
    Invariants.after(before, state, outcome);
    Invariants.check(state, Invariants.Level.FULL);
    if (outcome.isVoid()) {
      chronicle.broken(
          Promise.NO_VOID_VERSION,
          client.name(),
          outcome.version(),
          String.valueOf(outcome.voidReason()));
    }
    if (state.protectedStep() < state.horizon()) {
      chronicle.broken(
          Promise.RETAINED,
          client.name(),
          outcome.version(),
          "horizon=" + state.horizon() + " protected=" + state.protectedStep());
    }
    for (BlockOutcome block : outcome.blocks()) {
      chronicle.note(
          client.name(),
          () ->
              "  version "
                  + outcome.version()
                  + " "
                  + describe(block.block())
                  + (block.accepted() ? "" : " IGNORED " + block.verdict()));
      if (block.accepted()) {
        accepted.add(new Accepted(outcome.version(), block.block()));
        switch (block.block()) {
          case Block.Produce produce -> {
            addEntries(produce.entries());
            objectsAreThere(client, outcome.version(), produce);
          }
          case Block.Fence fence -> {
            if (!owners.add(fence.incarnation())) {
              chronicle.broken(
                  Promise.INCARNATION_OWNS_ONCE,
                  client.name(),
                  outcome.version(),
                  fence.toString());
            }
          }
          default -> {}
        }
      }
    }
  }

  /** Whoever commits, and however late: what a version names has not been collected before. */
  private void objectsAreThere(ModelStore.Client client, long version, Block.Produce produce) {
    for (TgbEntry entry : produce.entries()) {
      String key = ObjectNames.data(entry.object());
      if (!store.objects().containsKey(key)) {
        chronicle.broken(Promise.EVERY_STEP_READABLE, client.name(), version, "gone key=" + key);
      }
    }
    if (produce.sourceState() instanceof SourceState.External external
        && !store.objects().containsKey(ObjectNames.state(external.object()))) {
      chronicle.broken(
          Promise.SOURCE_STATE_MATCHES, client.name(), version, "gone state=" + external.object());
    }
  }

  /** snapshot(v) = fold(all <= v); it is written at the head or a little behind it. */
  private void snapshot(ModelStore.Client client, StoreRequest.PutIfAbsent put) {
    long version = ObjectNames.parseSnapshot(put.key()).orElse(0);
    State expected = stateAt(version);
    if (expected == null
        || !Bytes.wrap(SnapshotCodec.encode(expected.toRecord())).equals(put.body())) {
      chronicle.broken(Promise.SNAPSHOT_IS_THE_FOLD, client.name(), version, "key=" + put.key());
      return;
    }
    long first = state.horizon() / Limits.SEGMENT_STEPS;
    for (long index = first; (index + 1) * Limits.SEGMENT_STEPS <= expected.nextStep(); index++) {
      segmentIsThere(client, version, index);
    }
  }

  private void segmentIsThere(ModelStore.Client client, long version, long index) {
    SegmentRecord segment =
        new SegmentRecord(
            state.streamId(),
            index,
            entries.subList(
                (int) index * Limits.SEGMENT_STEPS, (int) (index + 1) * Limits.SEGMENT_STEPS));
    String key = ObjectNames.segment(index);
    Bytes body = store.objects().get(key);
    if (body == null || !body.equals(Bytes.wrap(SegmentCodec.encode(segment)))) {
      chronicle.broken(Promise.SEGMENT_IS_THE_LOG, client.name(), version, "key=" + key);
    }
  }

  private @Nullable State stateAt(long version) {
    if (version > state.version()) {
      return null;
    }
    if (version == state.version()) {
      return state;
    }
    State from = State.empty(state.streamId());
    while (from.version() < version) {
      String key = ObjectNames.version(from.version() + 1);
      Bytes body = store.objects().get(key);
      if (body == null) {
        return null;
      }
      Fold.apply(from, ManifestCodec.decode(key, body));
    }
    return from;
  }

  @Override
  public void answered(ModelStore.Client client, StoreRequest request, StoreResponse response) {
    if (response instanceof StoreResponse.Failed failed) {
      chronicle.note(
          client.name(),
          () -> "hears " + failed.failure() + " (" + failed.detail() + ") to " + name(request));
    } else if (request instanceof StoreRequest.PutIfAbsent) {
      chronicle.note(
          client.name(),
          () -> "hears " + response.getClass().getSimpleName() + " to " + name(request));
    }
  }

  private void note(ModelStore.Client client, StoreRequest request, StoreResponse response) {
    if (!(request instanceof StoreRequest.Get) && !(request instanceof StoreRequest.ListPrefix)) {
      chronicle.note(
          client.name(),
          () -> name(request) + " takes effect: " + response.getClass().getSimpleName());
    }
  }

  private static String name(StoreRequest request) {
    return request.getClass().getSimpleName() + " " + request.key();
  }

  /** A block in few words. */
  static String describe(Block block) {
    return switch (block) {
      case Block.Fence b -> "fence(" + b.producer() + " epoch " + b.epoch() + ")";
      case Block.Produce b ->
          "produce("
              + b.producer()
              + " epoch "
              + b.epoch()
              + " seqs "
              + b.firstSeq()
              + "-"
              + (b.firstSeq() + b.entries().size() - 1)
              + (b.sourceState() instanceof SourceState.External ? " + state object" : "")
              + ")";
      default -> block.toString();
    };
  }
}
