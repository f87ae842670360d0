package io.batchweave.retain;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.Limits;
import io.batchweave.format.ManifestCodec;
import io.batchweave.format.ManifestVersion;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SnapshotCodec;
import io.batchweave.log.Fingerprint;
import io.batchweave.log.Fold;
import io.batchweave.log.Invariants;
import io.batchweave.log.SnapshotPolicy;
import io.batchweave.log.State;
import io.batchweave.store.ListedObject;
import io.batchweave.store.StoreResponse;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Overwrites the versions before the 16th newest snapshot by tombstones, once it has checked that
 * nobody needs them: each newer snapshot is the fold of the one before and the versions between,
 * and the segments at or above the horizon that they build on exist. Upwards from the first that is
 * none yet, so that those that are come first.
 */
final class Trimmer {
  private static final int MAX_WAITING = 64;

  private enum Step {
    LIST,
    CHECK,
    SEGMENTS,
    SEARCH,
    WRITE,
    DONE
  }

  private final CollectPolicy policy;
  private final long horizon;
  private final TreeSet<Long> snapshots;
  private final TreeMap<Long, Bytes> versions;
  private final TreeMap<Long, Bytes> bodies;
  private Step step = Step.LIST;
  private boolean asked;
  private @Nullable State state;
  private long nextVersion;
  private long oldest;
  private long newest;
  private long low;
  private long high;
  private long tombstones;

  Trimmer(CollectPolicy policy, long horizon) {
    this.policy = policy;
    this.horizon = horizon;
    this.snapshots = new TreeSet<>();
    this.versions = new TreeMap<>();
    this.bodies = new TreeMap<>();
  }

  Trimmer(Trimmer other) {
    this.policy = other.policy;
    this.horizon = other.horizon;
    this.snapshots = new TreeSet<>(other.snapshots);
    this.versions = new TreeMap<>(other.versions);
    this.bodies = new TreeMap<>(other.bodies);
    this.step = other.step;
    this.asked = other.asked;
    this.state = other.state == null ? null : other.state.copy();
    this.nextVersion = other.nextVersion;
    this.oldest = other.oldest;
    this.newest = other.newest;
    this.low = other.low;
    this.high = other.high;
    this.tombstones = other.tombstones;
  }

  /** Versions overwritten; in a dry run those that would be. */
  long tombstones() {
    return tombstones;
  }

  /** Asks for what is needed next; false when all is done. */
  boolean advance(Courier courier) {
    switch (step) {
      case LIST -> once(courier, new Errand.ListKeys(ObjectNames.SNAPSHOTS, Errand.LIST_LIMIT));
      case CHECK -> check(courier);
      case SEGMENTS -> once(courier, new Errand.ListKeys(ObjectNames.SEGMENTS, Errand.LIST_LIMIT));
      case SEARCH -> search(courier);
      case WRITE -> write(courier);
      case DONE -> {}
    }
    return step != Step.DONE;
  }

  private void once(Courier courier, Errand errand) {
    if (!asked) {
      asked = true;
      courier.add(errand);
    }
  }

  private void begin(Step next) {
    step = next;
    asked = false;
  }

  void take(Errand errand, StoreResponse response) {
    switch (errand) {
      case Errand.ListKeys list when response instanceof StoreResponse.Listed listed -> {
        if (list.prefix().equals(ObjectNames.SNAPSHOTS)) {
          snapshotsListed(listed.objects());
        } else {
          segmentsListed(listed.objects());
        }
      }
      case Errand.ReadSnapshot read -> {
        bodies.put(read.version(), body(errand, response));
        compare();
      }
      case Errand.ReadVersion read -> {
        if (step == Step.SEARCH) {
          found(read.version(), body(errand, response));
        } else {
          versions.put(read.version(), body(errand, response));
          compare();
        }
      }
      case Errand.WriteTombstone written -> tombstones++;
      default -> {}
    }
  }

  private static Bytes body(Errand errand, StoreResponse response) {
    if (response instanceof StoreResponse.Found found) {
      return found.body();
    }
    throw stopped(errand.request().key(), "cannot be read: " + response);
  }

  private static BatchWeaveException stopped(String key, String why) {
    return new BatchWeaveException(
        Kind.CORRUPT,
        "no version trimmed, the newer ones may be needed: key="
            + key
            + ": "
            + why
            + "; see `verify`");
  }

  private void snapshotsListed(List<ListedObject> objects) {
    for (ListedObject object : objects) {
      OptionalLong version = ObjectNames.parseSnapshot(object.key());
      if (version.isPresent() && version.getAsLong() > 0) {
        snapshots.add(version.getAsLong());
      }
    }
    if (snapshots.size() < SnapshotPolicy.KEPT) {
      begin(Step.DONE);
      return;
    }
    while (snapshots.size() > SnapshotPolicy.KEPT) {
      snapshots.removeFirst();
    }
    oldest = snapshots.getFirst();
    newest = snapshots.getLast();
    nextVersion = oldest;
    begin(Step.CHECK);
  }

  private void check(Courier courier) {
    while (nextVersion <= newest
        && courier.size() < policy.maxInFlight()
        && versions.size() < MAX_WAITING) {
      courier.add(new Errand.ReadVersion(nextVersion));
      if (snapshots.contains(nextVersion)) {
        courier.add(new Errand.ReadSnapshot(nextVersion));
      }
      nextVersion++;
    }
  }

  /** Folds what has arrived, and compares at each snapshot. */
  private void compare() {
    State current = state;
    if (current == null) {
      current = anchored();
      if (current == null) {
        return;
      }
      state = current;
    }
    while (true) {
      long version = current.version();
      if (snapshots.contains(version)) {
        Bytes body = bodies.get(version);
        if (body == null) {
          return;
        }
        if (!Bytes.wrap(SnapshotCodec.encode(current.toRecord())).equals(body)) {
          throw stopped(ObjectNames.snapshot(version), "it is not the fold up to there");
        }
        bodies.remove(version);
        snapshots.remove(version);
      }
      if (version == newest) {
        begin(Step.SEGMENTS);
        return;
      }
      Bytes next = versions.remove(version + 1);
      if (next == null) {
        return;
      }
      fold(current, next);
    }
  }

  private static void fold(State current, Bytes body) {
    String key = ObjectNames.version(current.version() + 1);
    if (ManifestCodec.isTombstone(body)) {
      throw stopped(key, "it is trimmed");
    }
    ManifestVersion version = ManifestCodec.decode(key, body);
    Invariants.Before before = Invariants.before(current, version);
    Invariants.after(before, current, Fold.apply(current, version));
  }

  /** The oldest snapshot, if it belongs to the log; null while it or its version is not there. */
  private @Nullable State anchored() {
    Bytes snapshot = bodies.get(oldest);
    Bytes body = versions.get(oldest);
    if (snapshot == null || body == null) {
      return null;
    }
    versions.remove(oldest);
    String key = ObjectNames.snapshot(oldest);
    State found = State.of(SnapshotCodec.decode(key, snapshot));
    ManifestVersion version = ManifestCodec.decode(ObjectNames.version(oldest), body);
    if (found.version() != oldest || !found.isAfter(version)) {
      throw stopped(key, "it does not belong to the log");
    }
    return found;
  }

  private void segmentsListed(List<ListedObject> objects) {
    Set<Long> there = new HashSet<>();
    for (ListedObject object : objects) {
      ObjectNames.parseSegment(object.key()).ifPresent(there::add);
    }
    State checked = state;
    long end = checked == null ? 0 : checked.unfinishedStep() / Limits.SEGMENT_STEPS;
    for (long index = horizon / Limits.SEGMENT_STEPS; index < end; index++) {
      if (!there.contains(index)) {
        throw stopped(ObjectNames.segment(index), "it does not exist");
      }
    }
    low = 1;
    high = oldest;
    begin(Step.SEARCH);
  }

  /** Halves the range that holds the first version that is none yet. */
  private void search(Courier courier) {
    if (asked) {
      return;
    }
    if (low < high) {
      once(courier, new Errand.ReadVersion(low + (high - low) / 2));
      return;
    }
    // A writer that died may have left a few before the last that it wrote.
    nextVersion = Math.max(1, low - 2L * policy.maxInFlight());
    begin(Step.WRITE);
    if (policy.effect() == CollectPolicy.Effect.DRY_RUN) {
      tombstones = oldest - low;
      begin(Step.DONE);
    } else {
      write(courier);
    }
  }

  private void found(long version, Bytes body) {
    if (ManifestCodec.isTombstone(body)) {
      low = version + 1;
    } else {
      high = version;
    }
    asked = false;
  }

  private void write(Courier courier) {
    while (nextVersion < oldest && courier.size() < policy.maxInFlight()) {
      courier.add(new Errand.WriteTombstone(nextVersion++));
    }
    if (nextVersion >= oldest && courier.idle()) {
      begin(Step.DONE);
    }
  }

  long fingerprint() {
    long hash =
        Fingerprint.of(
            step.name(),
            asked,
            snapshots,
            versions.keySet(),
            bodies.keySet(),
            state == null ? 0 : state.fingerprint());
    return Fingerprint.add(
        hash, Fingerprint.of(nextVersion, oldest, newest, low, high, tombstones));
  }
}
