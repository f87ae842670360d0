package io.batchweave.simulate;

import io.batchweave.Bytes;
import io.batchweave.format.AnnouncementCodec;
import io.batchweave.format.AnnouncementName;
import io.batchweave.format.Block;
import io.batchweave.format.DataObject;
import io.batchweave.format.ManifestCodec;
import io.batchweave.format.ManifestVersion;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SnapshotCodec;
import io.batchweave.format.SnapshotRecord;
import io.batchweave.format.SourceState;
import io.batchweave.format.TgbEntry;
import io.batchweave.format.VersionHeader;
import io.batchweave.log.BlockOutcome;
import io.batchweave.log.Fold;
import io.batchweave.log.ProducerState;
import io.batchweave.log.State;
import io.batchweave.read.StepResult;
import io.batchweave.store.StoreFailure;
import io.batchweave.store.StoreRequest;
import io.batchweave.store.StoreRequest.PutIfAbsent;
import io.batchweave.store.StoreResponse;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The mistakes that others made, each small enough to be seen to be wrong. */
final class PlantedBugs {
  private static final long OWN_ID = -1;

  private PlantedBugs() {}

  static boolean isVersion(StoreRequest request) {
    return request instanceof PutIfAbsent && request.key().startsWith("manifest/");
  }

  static List<Block.Produce> batches(StoreRequest request) {
    List<Block.Produce> batches = new ArrayList<>();
    if (isVersion(request) && request instanceof PutIfAbsent put) {
      for (Block block : ManifestCodec.decode(put.key(), put.body()).blocks()) {
        if (block instanceof Block.Produce produce) {
          batches.add(produce);
        }
      }
    }
    return batches;
  }

  static void reportFailed(PlantedBug.Hands hands, StoreRequest request) {
    for (Block.Produce produce : batches(request)) {
      produce.entries().forEach(entry -> hands.reportFailed(produce.producer(), entry.seq()));
    }
  }

  static boolean failed(StoreResponse response, StoreFailure failure) {
    return response instanceof StoreResponse.Failed failed && failed.failure() == failure;
  }

  /** 409 says "somebody else's version stands there": the batches are given up. */
  static final class ConflictTakenAsExists implements PlantedBug {
    @Override
    public StoreResponse hearing(
        Hands hands, long requestId, StoreRequest request, StoreResponse response) {
      if (isVersion(request) && failed(response, StoreFailure.CONFLICT)) {
        reportFailed(hands, request);
      }
      return response;
    }
  }

  /** After an unclear PUT some answer says "it did not land": the batches are given up. */
  abstract static class UnclearTakenAsFailed implements PlantedBug {
    private final Map<String, StoreRequest> unclear = new HashMap<>();

    abstract boolean saysFailed(StoreRequest request, StoreResponse response);

    @Override
    public StoreResponse hearing(
        Hands hands, long requestId, StoreRequest request, StoreResponse response) {
      String slot = hands.process() + " " + request.key();
      if (isVersion(request) && failed(response, StoreFailure.UNCLEAR)) {
        unclear.put(slot, request);
      } else if (saysFailed(request, response) && unclear.containsKey(slot)) {
        reportFailed(hands, unclear.remove(slot));
      }
      return response;
    }
  }

  /** A 404 does. */
  static final class MissingTakenAsFailed extends UnclearTakenAsFailed {
    @Override
    boolean saysFailed(StoreRequest request, StoreResponse response) {
      return response instanceof StoreResponse.NotFound;
    }
  }

  /** A5: a read that fails does. */
  static final class FailedReadTakenAsFailed extends UnclearTakenAsFailed {
    @Override
    boolean saysFailed(StoreRequest request, StoreResponse response) {
      return request instanceof StoreRequest.Get && response instanceof StoreResponse.Failed;
    }
  }

  /** An unclear PUT is repeated, and a 412 then says "lost". */
  static final class RetryTrustsPreconditionFailed implements PlantedBug {
    private final Set<String> repeated = new HashSet<>();

    @Override
    public @Nullable StoreResponse hearing(
        Hands hands, long requestId, StoreRequest request, StoreResponse response) {
      if (!isVersion(request)) {
        return response;
      }
      String attempt = hands.process() + " " + requestId;
      if (failed(response, StoreFailure.UNCLEAR) && repeated.add(attempt)) {
        hands.send(requestId, request);
        return null;
      }
      if (response instanceof StoreResponse.Exists && repeated.contains(attempt)) {
        reportFailed(hands, request);
      }
      return response;
    }
  }

  /** EXISTS is what one wanted, is it not. */
  static final class ExistsTakenAsSuccess implements PlantedBug {
    @Override
    public StoreResponse hearing(
        Hands hands, long requestId, StoreRequest request, StoreResponse response) {
      boolean exists = isVersion(request) && response instanceof StoreResponse.Exists;
      return exists ? new StoreResponse.Created() : response;
    }
  }

  /** What an unclear commit would have named is deleted. */
  static final class CleansUpAfterUnclear implements PlantedBug {
    @Override
    public StoreResponse hearing(
        Hands hands, long requestId, StoreRequest request, StoreResponse response) {
      if (failed(response, StoreFailure.UNCLEAR)) {
        List<String> keys = new ArrayList<>();
        for (Block.Produce produce : batches(request)) {
          produce.entries().forEach(entry -> keys.add(ObjectNames.data(entry.object())));
        }
        if (!keys.isEmpty()) {
          hands.send(OWN_ID * 2, new StoreRequest.Delete(keys));
        }
      }
      return response;
    }
  }

  /** On EXISTS the same blocks go to the next free number, without a look at what came between. */
  static final class FenceCheckedBeforeTheCommit implements PlantedBug {
    @Override
    public @Nullable StoreResponse hearing(
        Hands hands, long requestId, StoreRequest request, StoreResponse response) {
      if (response instanceof StoreResponse.Exists
          && isVersion(request)
          && request instanceof PutIfAbsent put
          && !batches(request).isEmpty()) {
        hands.send(requestId, atHead(hands.objects(), put));
        return null;
      }
      return response;
    }

    private static PutIfAbsent atHead(SortedMap<String, Bytes> objects, PutIfAbsent put) {
      State state = State.empty(Prehistory.STREAM);
      for (Bytes body = next(objects, state); body != null; body = next(objects, state)) {
        Fold.apply(state, ManifestCodec.decode(ObjectNames.version(state.version() + 1), body));
      }
      ManifestVersion version = ManifestCodec.decode(put.key(), put.body());
      VersionHeader header = state.nextHeader(version.header().commitId(), 0, 100);
      return new PutIfAbsent(
          ObjectNames.version(header.version()),
          Bytes.wrap(ManifestCodec.encode(header, version.blocks())));
    }

    private static @Nullable Bytes next(SortedMap<String, Bytes> objects, State state) {
      return objects.get(ObjectNames.version(state.version() + 1));
    }
  }

  /** A snapshot of v is named v + 1. */
  static final class SnapshotOffByOne implements PlantedBug {
    @Override
    public StoreRequest sending(Hands hands, long requestId, StoreRequest request) {
      if (!(request instanceof PutIfAbsent put) || !put.key().startsWith(ObjectNames.SNAPSHOTS)) {
        return request;
      }
      SnapshotRecord record = SnapshotCodec.decode(put.key(), put.body());
      SnapshotRecord next =
          new SnapshotRecord(
              record.streamId(),
              record.version() + 1,
              record.commitId(),
              record.runningHash(),
              record.nextStep(),
              record.horizon(),
              record.sealed(),
              record.lastSkipVersion(),
              record.producers(),
              record.groups(),
              record.skips(),
              record.counters(),
              record.entries());
      return new PutIfAbsent(
          ObjectNames.snapshot(next.version()), Bytes.wrap(SnapshotCodec.encode(next)));
    }
  }

  /** A segment that exists is taken for one's own, whatever its bytes. */
  static final class SegmentTakenBecauseItExists implements PlantedBug {
    @Override
    public StoreResponse hearing(
        Hands hands, long requestId, StoreRequest request, StoreResponse response) {
      boolean segment =
          request instanceof PutIfAbsent && request.key().startsWith(ObjectNames.SEGMENTS);
      return segment && response instanceof StoreResponse.Exists
          ? new StoreResponse.Created()
          : response;
    }
  }

  /** A fenced incarnation comes back as itself. */
  static final class FencesAgainAfterLosing implements PlantedBug {
    @Override
    public boolean fencesAgain() {
      return true;
    }
  }

  /** The source goes on where the log stood when the process started, not where its fence found. */
  static final class SourceStateBeforeTheFence implements PlantedBug {
    @Override
    public long position(Hands hands, String producer, long openedAt, long recovered) {
      return openedAt;
    }
  }

  /** Nothing there is the end. */
  static final class EndForNotYet implements PlantedBug {
    @Override
    public StepResult told(long step, StepResult result) {
      return result instanceof StepResult.NotYet ? new StepResult.End(step) : result;
    }
  }

  /** What is offered again is made again, under a new name. */
  static final class SeqOfferedWithAnotherObject implements PlantedBug {
    private final Set<String> offered = new HashSet<>();
    private long salt = 1;

    @Override
    public StoreRequest sending(Hands hands, long requestId, StoreRequest request) {
      if (!isVersion(request) || !(request instanceof PutIfAbsent put)) {
        return request;
      }
      ManifestVersion version = ManifestCodec.decode(put.key(), put.body());
      List<Block> blocks = new ArrayList<>();
      boolean changed = false;
      for (Block block : version.blocks()) {
        boolean again = block instanceof Block.Produce p && !offered.add(p.toString());
        blocks.add(again ? renamed(hands, (Block.Produce) block) : block);
        changed |= again;
      }
      return changed
          ? new PutIfAbsent(put.key(), Bytes.wrap(ManifestCodec.encode(version.header(), blocks)))
          : request;
    }

    private Block renamed(Hands hands, Block.Produce produce) {
      List<TgbEntry> entries = new ArrayList<>();
      for (TgbEntry entry : produce.entries()) {
        DataObject old = entry.object();
        DataObject object =
            new DataObject(
                old.producer(), old.epoch(), old.firstSeq(), old.lastSeq(), old.random() + salt++);
        Bytes body = hands.objects().get(ObjectNames.data(old));
        if (body != null) {
          hands.objects().put(ObjectNames.data(object), body);
        }
        entries.add(
            new TgbEntry(
                object,
                entry.seq(),
                entry.offset(),
                entry.lengthBytes(),
                entry.footerLengthBytes(),
                entry.footerCrc32c(),
                entry.slices()));
      }
      return new Block.Produce(
          produce.producer(), produce.epoch(), produce.firstSeq(), entries, produce.sourceState());
    }
  }

  /** A version does not always name the one before it as its parent. */
  static final class CommitsWithoutFolding implements PlantedBug {
    @Override
    public StoreRequest sending(Hands hands, long requestId, StoreRequest request) {
      if (!isVersion(request) || !(request instanceof PutIfAbsent put)) {
        return request;
      }
      ManifestVersion version = ManifestCodec.decode(put.key(), put.body());
      VersionHeader header = version.header();
      VersionHeader blind =
          new VersionHeader(
              header.streamId(),
              header.version(),
              header.commitId(),
              header.version() % 3 == 0 ? new UUID(1, 1) : header.parentCommitId(),
              header.nextStep(),
              header.horizon(),
              header.runningHash(),
              header.newestSnapshot(),
              header.paceMillis());
      return new PutIfAbsent(put.key(), Bytes.wrap(ManifestCodec.encode(blind, version.blocks())));
    }
  }

  /** The state of the log, from its versions; null where one cannot be read. */
  static State head(SortedMap<String, Bytes> objects, List<TgbEntry> entries) {
    State state = State.empty(Prehistory.STREAM);
    String key = ObjectNames.version(1);
    for (Bytes body = objects.get(key); body != null; body = objects.get(key)) {
      for (BlockOutcome block : Fold.apply(state, ManifestCodec.decode(key, body)).blocks()) {
        if (block.accepted() && block.block() instanceof Block.Produce produce) {
          entries.addAll(produce.entries());
        }
      }
      key = ObjectNames.version(state.version() + 1);
    }
    return state;
  }

  /** Batches that were announced in an epoch that is over are committed in the one that is not. */
  static final class HelpsAnOldEpoch implements PlantedBug {
    @Override
    public StoreRequest sending(Hands hands, long requestId, StoreRequest request) {
      if (!isVersion(request) || !(request instanceof PutIfAbsent put)) {
        return request;
      }
      ManifestVersion version = ManifestCodec.decode(put.key(), put.body());
      State state = head(hands.objects(), new ArrayList<>());
      if (state.version() + 1 != version.header().version()) {
        return request;
      }
      List<Block> blocks = new ArrayList<>(version.blocks());
      for (String key : List.copyOf(hands.objects().keySet())) {
        Block.Produce old = outdated(hands.objects(), key, state);
        if (old != null
            && batches(request).stream().noneMatch(b -> b.producer().equals(old.producer()))) {
          ProducerState producer = Objects.requireNonNull(state.producer(old.producer()));
          blocks.add(adopted(hands, old, producer.epoch()));
          break;
        }
      }
      return new PutIfAbsent(put.key(), Bytes.wrap(ManifestCodec.encode(version.header(), blocks)));
    }

    /** The block of an announcement that would be next, were its epoch not over. */
    private static Block.@Nullable Produce outdated(
        SortedMap<String, Bytes> objects, String key, State state) {
      Bytes body = objects.get(key);
      if (body == null
          || !(ObjectNames.parseAnnouncement(key) instanceof AnnouncementName.Produce name)) {
        return null;
      }
      ProducerState producer = state.producer(name.producer());
      boolean next =
          producer != null
              && name.epoch() < producer.epoch()
              && name.firstSeq() == producer.nextSeq();
      return next
              && AnnouncementCodec.decode(key, body).block() instanceof Block.Produce produce
              && produce.sourceState() instanceof SourceState.Inline
          ? produce
          : null;
    }

    private static Block adopted(Hands hands, Block.Produce produce, int epoch) {
      List<TgbEntry> entries = new ArrayList<>();
      for (TgbEntry entry : produce.entries()) {
        DataObject old = entry.object();
        DataObject object =
            new DataObject(old.producer(), epoch, old.firstSeq(), old.lastSeq(), old.random());
        Bytes body = hands.objects().get(ObjectNames.data(old));
        if (body != null) {
          hands.objects().put(ObjectNames.data(object), body);
        }
        entries.add(
            new TgbEntry(
                object,
                entry.seq(),
                entry.offset(),
                entry.lengthBytes(),
                entry.footerLengthBytes(),
                entry.footerCrc32c(),
                entry.slices()));
      }
      return new Block.Produce(
          produce.producer(), epoch, produce.firstSeq(), entries, produce.sourceState());
    }
  }

  /** A pack goes when the horizon has passed the first batch in it. */
  static final class JudgesAPackByItsFirstSeq implements PlantedBug {
    private static final long ID = 2 * OWN_ID;

    @Override
    public @Nullable StoreResponse hearing(
        Hands hands, long requestId, StoreRequest request, StoreResponse response) {
      if (requestId == ID) {
        return null;
      }
      if (response instanceof StoreResponse.Listed && request.key().startsWith("data/")) {
        List<TgbEntry> entries = new ArrayList<>();
        State state = head(hands.objects(), entries);
        List<String> keys = new ArrayList<>();
        for (TgbEntry entry : entries.subList(0, (int) state.horizon())) {
          if (entry.seq() == entry.object().firstSeq()) {
            keys.add(ObjectNames.data(entry.object()));
          }
        }
        if (!keys.isEmpty()) {
          hands.send(ID, new StoreRequest.Delete(keys));
        }
      }
      return response;
    }
  }

  /** Whoever cleans up takes the oldest version along: its number is free again. */
  static final class TrimDeletes implements PlantedBug {
    @Override
    public StoreRequest sending(Hands hands, long requestId, StoreRequest request) {
      if (!(request instanceof StoreRequest.Delete delete)) {
        return request;
      }
      List<String> keys = new ArrayList<>(delete.keys());
      keys.add(ObjectNames.version(1));
      return new StoreRequest.Delete(keys);
    }
  }

  /** What others announce is never seen. */
  static final class DoesNotList implements PlantedBug {
    @Override
    public StoreResponse hearing(
        Hands hands, long requestId, StoreRequest request, StoreResponse response) {
      return response instanceof StoreResponse.Listed
              && request.key().startsWith(ObjectNames.ANNOUNCEMENTS)
          ? new StoreResponse.Listed(List.of(), false)
          : response;
    }
  }

  /** No LIST is ever answered: nobody opens the stream. */
  static final class HearsNoLists implements PlantedBug {
    @Override
    public @Nullable StoreResponse hearing(
        Hands hands, long requestId, StoreRequest request, StoreResponse response) {
      return request instanceof StoreRequest.ListPrefix ? null : response;
    }
  }

  /** Whoever hears an answer asks the same again, without a pause. */
  static final class AsksAgainAtOnce implements PlantedBug {
    @Override
    public StoreResponse hearing(
        Hands hands, long requestId, StoreRequest request, StoreResponse response) {
      if (request instanceof StoreRequest.Get) {
        hands.send(OWN_ID, request);
      }
      return response;
    }
  }

  /** Every answer leads to two requests: they fill the time before anything else can happen. */
  static final class AsksTwiceForEveryAnswer implements PlantedBug {
    @Override
    public StoreResponse hearing(
        Hands hands, long requestId, StoreRequest request, StoreResponse response) {
      if (request instanceof StoreRequest.Get) {
        hands.send(OWN_ID, request);
        hands.send(OWN_ID, request);
      }
      return response;
    }
  }
}
