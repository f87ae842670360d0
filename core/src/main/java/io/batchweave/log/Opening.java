package io.batchweave.log;

import io.batchweave.BatchWeaveException;
import io.batchweave.Bytes;
import io.batchweave.format.ManifestCodec;
import io.batchweave.format.ManifestVersion;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SnapshotCodec;
import io.batchweave.store.ListedObject;
import io.batchweave.store.StoreResponse;
import java.util.OptionalLong;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The search for a state to begin the fold with: the newest snapshot that is whole and belongs to
 * the log, else the empty log. It belongs to the log if the version it claims to be the state of
 * carries its commit id and chains to its running hash; so a snapshot written by somebody who
 * followed other bytes is passed over like a damaged one. One that went away since it was listed is
 * a sign that the log has moved on: then the list is read again.
 */
final class Opening {
  /** No log gets so far; a name beyond is not worth a look. */
  private static final long MAX_VERSION = 1L << 60;

  private final long targetSegment;
  private final TreeSet<Long> gone;
  private @Nullable TreeSet<Long> candidates;
  private long candidate = -1;
  private @Nullable State snapshot;
  private long snapshotBytes;
  private @Nullable ManifestVersion anchor;
  private boolean found;
  private boolean groupAsked;

  /**
   * Begins a search.
   *
   * @param targetSegment the state must not be past this unfinished segment; {@code Long.MAX_VALUE}
   *     for any
   */
  Opening(long targetSegment) {
    this.targetSegment = targetSegment;
    this.gone = new TreeSet<>();
  }

  Opening(Opening other) {
    this.targetSegment = other.targetSegment;
    this.gone = new TreeSet<>(other.gone);
    this.candidates = other.candidates == null ? null : new TreeSet<>(other.candidates);
    this.candidate = other.candidate;
    this.snapshot = other.snapshot == null ? null : other.snapshot.copy();
    this.snapshotBytes = other.snapshotBytes;
    this.anchor = other.anchor;
    this.found = other.found;
    this.groupAsked = other.groupAsked;
  }

  /** What to ask for next that is not in flight; null if there is nothing. */
  @Nullable Ask next(Flight flight) {
    if (candidates == null) {
      return unless(flight, new Ask.Snapshots());
    }
    if (candidate <= 0) {
      return null;
    }
    Ask ask = snapshot == null ? unless(flight, new Ask.Snapshot(candidate)) : null;
    if (ask == null && anchor == null) {
      ask = unless(flight, new Ask.Anchor(candidate));
    }
    return ask;
  }

  private static @Nullable Ask unless(Flight flight, Ask ask) {
    return flight.has(ask) ? null : ask;
  }

  /** The version of the snapshot being tried; 0 for the empty log, -1 while nothing is known. */
  long candidate() {
    return candidate;
  }

  /** Whether the search is over. */
  boolean found() {
    return found;
  }

  /** The state to begin with; null for the empty log. */
  @Nullable State snapshot() {
    return snapshot;
  }

  /** True once per candidate: the groups of versions after it are to be listed now. */
  boolean takeGroupTurn() {
    boolean turn = candidate >= 0 && !groupAsked;
    groupAsked |= turn;
    return turn;
  }

  /** Length of the snapshot that was found; 0 for the empty log. */
  long snapshotBytes() {
    return snapshotBytes;
  }

  void snapshots(StoreResponse.Listed listed) {
    TreeSet<Long> versions = new TreeSet<>();
    for (ListedObject object : listed.objects()) {
      OptionalLong version = ObjectNames.parseSnapshot(object.key());
      if (version.isPresent() && version.getAsLong() > 0 && version.getAsLong() < MAX_VERSION) {
        versions.add(version.getAsLong());
      }
    }
    versions.removeAll(gone);
    candidates = versions;
    reject();
  }

  void snapshot(long version, @Nullable Bytes body) {
    if (version != candidate || found) {
      return;
    }
    if (body == null) {
      listAgain();
      return;
    }
    State state = decode(version, body);
    if (state == null || state.version() != version) {
      reject();
      return;
    }
    snapshot = state;
    snapshotBytes = body.length();
    conclude();
  }

  void anchor(long version, @Nullable Bytes body) {
    if (version != candidate || found) {
      return;
    }
    if (body == null || ManifestCodec.isTombstone(body)) {
      listAgain();
      return;
    }
    anchor = ManifestCodec.decode(ObjectNames.version(version), body);
    conclude();
  }

  private void conclude() {
    if (snapshot == null || anchor == null) {
      return;
    }
    boolean belongs = snapshot.isAfter(anchor);
    boolean early = SegmentShelf.indexOf(snapshot.nextStep()) <= targetSegment;
    if (belongs && early) {
      found = true;
    } else {
      reject();
    }
  }

  /**
   * The candidate went away since it was listed, so newer ones have come: those before it would go
   * the same way while they are tried.
   */
  private void listAgain() {
    gone.add(candidate);
    candidates = null;
    candidate = -1;
    snapshot = null;
    snapshotBytes = 0;
    anchor = null;
  }

  /** Passes over the candidate and goes on with the one before. */
  void reject() {
    snapshot = null;
    snapshotBytes = 0;
    anchor = null;
    Long next = candidates == null ? null : candidates.pollLast();
    candidate = next == null ? 0 : next;
    found = candidate == 0;
    groupAsked = false;
  }

  private static @Nullable State decode(long version, Bytes body) {
    try {
      return State.of(SnapshotCodec.decode(ObjectNames.snapshot(version), body));
    } catch (BatchWeaveException e) {
      if (e.kind() == BatchWeaveException.Kind.CORRUPT) {
        return null;
      }
      throw e;
    }
  }

  long fingerprint() {
    return Fingerprint.of(
        targetSegment,
        gone,
        candidates,
        candidate,
        snapshot == null ? 0 : snapshot.fingerprint(),
        anchor,
        found,
        groupAsked);
  }
}
