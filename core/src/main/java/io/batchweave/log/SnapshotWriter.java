package io.batchweave.log;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.Limits;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SegmentCodec;
import io.batchweave.format.SegmentRecord;
import io.batchweave.format.SnapshotCodec;
import io.batchweave.store.ListedObject;
import io.batchweave.store.StoreRequest;
import io.batchweave.store.StoreResponse;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Writes one snapshot: first the segments that are finished and may not be on the store yet, then
 * the snapshot, then deletes all but the newest {@link SnapshotPolicy#KEPT}. "Exists" is success
 * only if the bytes are equal: the object may have been written by somebody who followed other
 * bytes than the log holds.
 *
 * <p>It gives up at the first trouble; that is harmless, and the next one starts over at a later
 * version. After an unclear answer it reads what is there; it deletes nothing but old snapshots,
 * and those only once its own is known to exist.
 */
public final class SnapshotWriter implements Machine<SnapshotWriter> {
  private static final int MAX_IN_FLIGHT = 8;

  /** How far it is. */
  public enum Status {
    /** Nobody can rely on it yet. */
    WRITING,
    /** The snapshot exists; old ones are being deleted. */
    WRITTEN,
    /** Nothing more will happen, the snapshot exists. */
    DONE,
    /** Nothing more will happen; whether the snapshot exists is unknown. */
    FAILED
  }

  private enum Purpose {
    CREATE,
    COMPARE,
    LIST,
    DELETE
  }

  private record Sent(Purpose purpose, String key) {}

  private final State state;
  private final ArrayDeque<SegmentRecord> segments;
  private final TreeMap<Long, Sent> sent;
  private final TreeMap<String, SegmentRecord> open;
  private @Nullable Bytes snapshot;
  private long nextId;
  private Status status = Status.WRITING;
  private @Nullable BatchWeaveException failure;

  /**
   * A writer that begins at the first {@link #onTime}.
   *
   * @param state what the snapshot will hold; never changed again by anybody
   * @param segments finished since the last snapshot, to be created before it
   */
  public SnapshotWriter(State state, List<SegmentRecord> segments) {
    Invariants.check(state, Invariants.Level.FULL);
    this.state = state;
    this.segments = new ArrayDeque<>(segments);
    this.sent = new TreeMap<>();
    this.open = new TreeMap<>();
  }

  private SnapshotWriter(SnapshotWriter other) {
    this.state = other.state;
    this.segments = new ArrayDeque<>(other.segments);
    this.sent = new TreeMap<>(other.sent);
    this.open = new TreeMap<>(other.open);
    this.snapshot = other.snapshot;
    this.nextId = other.nextId;
    this.status = other.status;
    this.failure = other.failure;
  }

  /** How far it is. */
  public Status status() {
    return status;
  }

  /** Version of the state it writes. */
  public long version() {
    return state.version();
  }

  /** Length of the snapshot object; 0 before it was encoded. */
  public long lengthBytes() {
    return snapshot == null ? 0 : snapshot.length();
  }

  /**
   * Why it failed: RETRYABLE, or CORRUPT where an object of that name has other bytes. Null
   * otherwise.
   */
  public @Nullable BatchWeaveException failure() {
    return failure;
  }

  @Override
  public void onTime(long nowNs, Requests requests) {
    while (status == Status.WRITING && sent.size() < MAX_IN_FLIGHT && !segments.isEmpty()) {
      SegmentRecord segment = segments.removeFirst();
      String key = ObjectNames.segment(segment.index());
      open.put(key, segment);
      send(new Sent(Purpose.CREATE, key), create(key, encode(segment)), requests);
    }
    if (status == Status.WRITING && open.isEmpty() && snapshot == null) {
      Bytes body = Bytes.wrap(SnapshotCodec.encode(state.toRecord()));
      snapshot = body;
      String key = ObjectNames.snapshot(state.version());
      send(new Sent(Purpose.CREATE, key), create(key, body), requests);
    }
  }

  @Override
  public void onResponse(long requestId, StoreResponse response, long nowNs, Requests requests) {
    Sent request = sent.remove(requestId);
    if (request == null || status == Status.FAILED || status == Status.DONE) {
      return;
    }
    switch (request.purpose()) {
      case CREATE -> created(request.key(), response, requests);
      case COMPARE -> compared(request.key(), response, requests);
      case LIST -> listed(response, requests);
      case DELETE -> status = Status.DONE;
    }
    onTime(nowNs, requests);
  }

  @Override
  public long wakeAtNs() {
    return status == Status.WRITING && sent.isEmpty() ? AT_ONCE : Long.MAX_VALUE;
  }

  @Override
  public SnapshotWriter copy() {
    return new SnapshotWriter(this);
  }

  @Override
  public long fingerprint() {
    return Fingerprint.of(
        state.fingerprint(),
        segments.size(),
        Fingerprint.of(sent.keySet()),
        open.keySet(),
        snapshot == null ? 0 : 1,
        nextId,
        status.name());
  }

  private void created(String key, StoreResponse response, Requests requests) {
    switch (response) {
      case StoreResponse.Created ignored -> settled(key, requests);
      case StoreResponse.Exists ignored -> compare(key, requests);
      case StoreResponse.Failed failed when failed.failure().retryable() -> compare(key, requests);
      default -> fail(Kind.RETRYABLE, "cannot create: key=" + key + " answer=" + response);
    }
  }

  private void compare(String key, Requests requests) {
    int limit = snapshot == null ? Limits.SEGMENT_BYTES : Limits.SNAPSHOT_BYTES;
    send(new Sent(Purpose.COMPARE, key), new StoreRequest.Get(key, null, limit), requests);
  }

  private void compared(String key, StoreResponse response, Requests requests) {
    SegmentRecord segment = open.get(key);
    Bytes mine = segment == null ? snapshot : encode(segment);
    if (response instanceof StoreResponse.Found found) {
      if (mine != null && found.body().equals(mine)) {
        settled(key, requests);
      } else {
        fail(
            Kind.CORRUPT,
            "exists with other bytes than the log says: key="
                + key
                + "; it was damaged or written by somebody who followed another log:"
                + " move it away, it will be written again");
      }
      return;
    }
    fail(Kind.RETRYABLE, "cannot tell whether it exists: key=" + key + " answer=" + response);
  }

  private void settled(String key, Requests requests) {
    if (open.remove(key) == null) {
      status = Status.WRITTEN;
      send(new Sent(Purpose.LIST, ObjectNames.SNAPSHOTS), new Ask.Snapshots().request(), requests);
    }
  }

  private void listed(StoreResponse response, Requests requests) {
    TreeSet<Long> versions = new TreeSet<>();
    if (response instanceof StoreResponse.Listed listed) {
      for (ListedObject object : listed.objects()) {
        OptionalLong version = ObjectNames.parseSnapshot(object.key());
        version.ifPresent(versions::add);
      }
    }
    List<String> old = new ArrayList<>();
    while (versions.size() > SnapshotPolicy.KEPT) {
      old.add(ObjectNames.snapshot(versions.removeFirst()));
    }
    if (old.isEmpty()) {
      status = Status.DONE;
    } else {
      send(new Sent(Purpose.DELETE, old.getFirst()), new StoreRequest.Delete(old), requests);
    }
  }

  private void fail(Kind kind, String message) {
    status = Status.FAILED;
    failure = new BatchWeaveException(kind, message);
  }

  private void send(Sent what, StoreRequest request, Requests requests) {
    long id = nextId++;
    sent.put(id, what);
    requests.send(id, request);
  }

  private static StoreRequest create(String key, Bytes body) {
    return new StoreRequest.PutIfAbsent(key, body);
  }

  private static Bytes encode(SegmentRecord segment) {
    return Bytes.wrap(SegmentCodec.encode(segment));
  }
}
