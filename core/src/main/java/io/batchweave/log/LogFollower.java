package io.batchweave.log;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.Limits;
import io.batchweave.format.ManifestCodec;
import io.batchweave.format.ManifestVersion;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SegmentCodec;
import io.batchweave.format.SegmentRecord;
import io.batchweave.format.StreamCodec;
import io.batchweave.format.StreamDescriptor;
import io.batchweave.format.TgbEntry;
import io.batchweave.store.ListedObject;
import io.batchweave.store.StoreFailure;
import io.batchweave.store.StoreRequest;
import io.batchweave.store.StoreResponse;
import java.util.ArrayDeque;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Reads the log: opens it cold, follows it, looks steps up. Embedded by the machines that commit,
 * produce and read; they pass on its requests under ids of their own, drain {@link #nextEvent}
 * after every call (it stops reading when nobody does) and never change {@link #state}.
 *
 * <p>Every input method only notes what is wanted, and makes {@link #wakeAtNs} due at once.
 *
 * <p>Memory: as many versions as requests may be in flight, the entries since the last snapshot, a
 * few segments, the state.
 */
public final class LogFollower implements Machine<LogFollower> {
  private static final int MAX_EVENTS = 64;
  private static final long NO_TARGET = Long.MAX_VALUE;

  /** How to go on once the head is known. */
  public enum Mode {
    /** Reads only what {@link #requireHead} and lookups ask for. */
    PAUSED,
    /** Looks for new versions at the pace at which they come. */
    PACED
  }

  private final FollowPolicy policy;
  private final Folding folding;
  private final Flight flight;
  private final Pace pace;
  private final SegmentShelf shelf;
  private final SnapshotTrail trail;
  private final ArrayDeque<LogEvent> events;
  private final TreeMap<Long, ManifestVersion> arrived;
  private final TreeSet<Long> trimmedAnchors;

  /** The segment this follower exists to rebuild; {@link #NO_TARGET} for one that follows. */
  private final long target;

  private Mode mode = Mode.PAUSED;
  private @Nullable StreamDescriptor stream;
  private @Nullable State state;
  private @Nullable Opening opening;
  private long anchor;
  private long highest;
  private long groupToList = -1;
  private long demand = 1;
  private long metDemand;
  private long metHead;
  private boolean nextWanted;
  private long missing = -1;
  private @Nullable LogFollower rebuild;
  private @Nullable SegmentRecord rebuilt;
  private @Nullable BatchWeaveException failure;
  private long wakeAtNs = AT_ONCE;

  /**
   * A follower that will open the stream at the first {@link #onTime}.
   *
   * @param policy how eagerly it reads
   * @param bits jitter
   */
  public LogFollower(FollowPolicy policy, Bits bits) {
    this(policy, Folding.OWN, bits);
  }

  /**
   * A follower that may share with others what it reads.
   *
   * @param policy how eagerly it reads
   * @param folding how it takes versions to states
   * @param bits jitter
   */
  public LogFollower(FollowPolicy policy, Folding folding, Bits bits) {
    this(policy, folding, bits, NO_TARGET, null);
  }

  private LogFollower(
      FollowPolicy policy,
      Folding folding,
      Bits bits,
      long target,
      @Nullable StreamDescriptor stream) {
    this.policy = policy;
    this.folding = folding;
    this.flight = new Flight(policy, bits);
    this.pace = new Pace(policy);
    this.shelf = new SegmentShelf(policy.cachedSegments());
    this.trail = new SnapshotTrail();
    this.events = new ArrayDeque<>();
    this.arrived = new TreeMap<>();
    this.trimmedAnchors = new TreeSet<>();
    this.target = target;
    this.stream = stream;
    this.opening = new Opening(target);
  }

  private LogFollower(LogFollower other) {
    this.policy = other.policy;
    this.folding = other.folding;
    this.flight = new Flight(other.flight);
    this.pace = new Pace(other.pace);
    this.shelf = new SegmentShelf(other.shelf);
    this.trail = new SnapshotTrail(other.trail);
    this.events = new ArrayDeque<>(other.events);
    this.arrived = new TreeMap<>(other.arrived);
    this.trimmedAnchors = new TreeSet<>(other.trimmedAnchors);
    this.target = other.target;
    this.mode = other.mode;
    this.stream = other.stream;
    this.state = other.state == null ? null : other.state.copy();
    this.opening = other.opening == null ? null : new Opening(other.opening);
    this.anchor = other.anchor;
    this.highest = other.highest;
    this.groupToList = other.groupToList;
    this.demand = other.demand;
    this.metDemand = other.metDemand;
    this.metHead = other.metHead;
    this.nextWanted = other.nextWanted;
    this.missing = other.missing;
    this.rebuild = other.rebuild == null ? null : other.rebuild.copy();
    this.rebuilt = other.rebuilt;
    this.failure = other.failure;
    this.wakeAtNs = other.wakeAtNs;
  }

  // ---- inputs

  /** How to go on; PAUSED at first. */
  public void follow(Mode newMode) {
    if (mode != newMode) {
      mode = newMode;
      wakeAtNs = AT_ONCE;
    }
  }

  /**
   * Asks to read on until a look for the next version that began after this call finds none; {@link
   * #headKnown} is false until then. Opening counts as such a call.
   */
  public void requireHead() {
    demand++;
    wakeAtNs = AT_ONCE;
  }

  /** Asks for the next version once, whether it is there or not. */
  public void requireNext() {
    nextWanted = true;
    wakeAtNs = Long.MIN_VALUE;
  }

  /**
   * Takes a version that the caller has just created itself, so that it need not be read again.
   *
   * @param version the number under which it was created; ignored unless it follows the state
   * @param body exactly the bytes for which the store answered {@link StoreResponse.Created}
   * @param nowNs the current monotonic time in nanoseconds
   */
  public void committed(long version, Bytes body, long nowNs) {
    State current = state;
    if (failure != null || opening != null || current == null || version != current.version() + 1) {
      return;
    }
    try {
      FoldOutcome outcome = fold(folding.decode(version, body));
      highest = Math.max(highest, version);
      if (outcome.isVoid()) {
        throw new BatchWeaveException(
            Kind.CORRUPT,
            "a version committed here is void: version="
                + version
                + " "
                + outcome.voidReason()
                + "; the committer has folded other bytes than the log holds: stop it");
      }
      foldArrived();
    } catch (BatchWeaveException e) {
      fail(e);
    }
  }

  /**
   * Takes note of a snapshot that the caller has just written.
   *
   * @param version of its state
   * @param lengthBytes of the object
   */
  public void snapshotWritten(long version, long lengthBytes) {
    snapshotExists(version, lengthBytes);
  }

  // ---- outputs

  /** Whether {@link #state} and {@link #stream} may be asked. */
  public boolean isOpen() {
    return state != null && stream != null;
  }

  /** Whether the last {@link #requireHead} is fulfilled: the state is that of the head. */
  public boolean headKnown() {
    return state != null && opening == null && metDemand == demand && state.version() >= metHead;
  }

  /** The state folded so far; for reading only, valid until the next call. */
  public State state() {
    if (state == null) {
      throw new IllegalStateException("not open yet: ask isOpen() first");
    }
    return state;
  }

  /** What the object {@code stream} says. */
  public StreamDescriptor stream() {
    if (stream == null) {
      throw new IllegalStateException("not open yet: ask isOpen() first");
    }
    return stream;
  }

  /** Takes the next event; null when there is none. */
  public @Nullable LogEvent nextEvent() {
    return events.poll();
  }

  /**
   * Looks a step up; the first question about a segment that is not at hand makes it be read.
   *
   * @param step from 0
   */
  public StepLookup lookup(long step) {
    State current = state();
    if (step < current.horizon()) {
      return new StepLookup.Reclaimed(current.horizon());
    }
    if (step >= current.nextStep()) {
      return current.sealed()
          ? new StepLookup.End(current.nextStep())
          : new StepLookup.NotYet(current.nextStep());
    }
    TgbEntry entry = current.entry(step);
    if (entry == null) {
      entry = shelf.entry(step);
    }
    if (entry != null) {
      return new StepLookup.Entry(entry);
    }
    long index = SegmentShelf.indexOf(step);
    if (shelf.want(index)) {
      wakeAtNs = AT_ONCE;
    }
    return new StepLookup.NeedSegment(index);
  }

  /**
   * The entry of a step, below the horizon or not, if it is at hand: of the unfinished segment, or
   * of one that was folded and may not be on the store yet. Asks for nothing.
   *
   * @param step from 0
   * @return null if it is in a segment on the store, or not committed
   */
  public @Nullable TgbEntry folded(long step) {
    TgbEntry entry = state().entry(step);
    return entry != null ? entry : shelf.folded(step);
  }

  /** How things stand with snapshots at {@link #state}. */
  public SnapshotPolicy.Standing snapshots() {
    return trail.standing(state().version());
  }

  /**
   * The machine that writes a snapshot of {@link #state} and what must be on the store before it;
   * when it has succeeded, {@link #snapshotWritten} is called.
   */
  public SnapshotWriter snapshotWriter() {
    return new SnapshotWriter(state().copy(), shelf.unsettled());
  }

  /** Why the follower has stopped for good; null while it works. */
  public @Nullable BatchWeaveException failure() {
    return failure;
  }

  /** The last failed request while there is passing trouble, for messages; null otherwise. */
  public @Nullable String trouble() {
    return rebuild != null && rebuild.trouble() != null ? rebuild.trouble() : flight.trouble();
  }

  // ---- the machine

  @Override
  public void onTime(long nowNs, Requests requests) {
    if (failure != null) {
      return;
    }
    for (Ask ask = nextAsk(nowNs); ask != null; ask = nextAsk(nowNs)) {
      requests.send(own(flight.send(ask, highest, demand)), ask.request());
    }
    LogFollower child = rebuild;
    if (child != null) {
      child.onTime(nowNs, (id, request) -> requests.send(childs(id), request));
    }
    schedule(nowNs);
  }

  @Override
  public void onResponse(long requestId, StoreResponse response, long nowNs, Requests requests) {
    if (failure != null) {
      return;
    }
    try {
      LogFollower child = rebuild;
      if ((requestId & 1) == 1) {
        if (child != null) {
          child.onResponse(
              requestId >> 1, response, nowNs, (id, r) -> requests.send(childs(id), r));
          takeRebuilt(child);
        }
      } else {
        Flight.Sent sent = flight.answered(requestId >> 1);
        if (sent != null) {
          answered(sent, response, nowNs);
        }
      }
      decideMissing();
    } catch (BatchWeaveException e) {
      fail(e);
    }
    onTime(nowNs, requests);
  }

  @Override
  public long wakeAtNs() {
    return failure == null ? wakeAtNs : Long.MAX_VALUE;
  }

  @Override
  public LogFollower copy() {
    return new LogFollower(this);
  }

  @Override
  public long fingerprint() {
    long hash =
        Fingerprint.of(
            mode.name(),
            stream,
            state == null ? 0 : state.fingerprint(),
            opening == null ? 0 : opening.fingerprint(),
            anchor,
            highest,
            groupToList,
            demand - metDemand,
            metHead,
            nextWanted);
    hash =
        Fingerprint.add(
            hash,
            Fingerprint.of(
                flight.fingerprint(demand),
                pace.fingerprint(),
                shelf.fingerprint(),
                trail.fingerprint(),
                events.size(),
                arrived,
                trimmedAnchors,
                missing));
    return Fingerprint.add(
        hash,
        Fingerprint.of(
            rebuild == null ? 0 : rebuild.fingerprint(), failure == null ? "" : failure.kind()));
  }

  // ---- what to ask for

  private static long own(long id) {
    return id << 1;
  }

  private static long childs(long id) {
    return id << 1 | 1;
  }

  private @Nullable Ask nextAsk(long nowNs) {
    if (!flight.room(nowNs)) {
      return null;
    }
    if (stream == null && !flight.has(new Ask.Stream())) {
      return new Ask.Stream();
    }
    if (opening != null) {
      Ask ask = opening.next(flight);
      if (ask != null) {
        return ask;
      }
    }
    if (groupToList >= 0 && !flight.has(new Ask.Group(groupToList))) {
      return new Ask.Group(groupToList);
    }
    if (opening != null || state == null || rebuilt != null) {
      return null;
    }
    for (long index : shelf.wanted()) {
      Ask ask = new Ask.Segment(index);
      if (missing < 0 && !flight.has(ask)) {
        return ask;
      }
    }
    return events.size() < MAX_EVENTS ? nextVersion(state.version(), nowNs) : null;
  }

  private @Nullable Ask nextVersion(long folded, long nowNs) {
    long limit = Math.min(highest, folded + policy.maxInFlight());
    for (long version = folded + 1; version <= limit; version++) {
      Ask ask = new Ask.Version(version);
      if (!arrived.containsKey(version) && !flight.has(ask)) {
        return ask;
      }
    }
    Ask look = new Ask.Version(highest + 1);
    boolean due =
        nextWanted || metDemand != demand || (mode == Mode.PACED && nowNs >= pace.nextLookNs());
    boolean near = highest + 1 <= folded + policy.maxInFlight();
    return due && near && groupToList < 0 && !flight.has(look) ? look : null;
  }

  private void schedule(long nowNs) {
    wakeAtNs = Long.MAX_VALUE;
    if (failure != null) {
      return;
    }
    if (nowNs < flight.notBeforeNs()) {
      wakeAtNs = flight.notBeforeNs();
    } else if (events.size() >= MAX_EVENTS) {
      wakeAtNs = nowNs + policy.minPollNs();
    } else if (opening == null && mode == Mode.PACED && nowNs < pace.nextLookNs()) {
      // A look that is due and was not sent waits for an answer, not for time.
      wakeAtNs = pace.nextLookNs();
    }
    if (rebuild != null) {
      wakeAtNs = Math.min(wakeAtNs, rebuild.wakeAtNs());
    }
  }

  // ---- answers

  private void answered(Flight.Sent sent, StoreResponse response, long nowNs) {
    if (response instanceof StoreResponse.Failed failed) {
      if (failed.failure() == StoreFailure.TOO_LONG) {
        tooLong(sent.ask());
        return;
      }
      if (!flight.failed(sent.ask(), failed, nowNs)) {
        throw giveUp(sent.ask(), failed);
      }
      return;
    }
    flight.succeeded(sent.ask());
    Bytes body = response instanceof StoreResponse.Found found ? found.body() : null;
    switch (sent.ask()) {
      case Ask.Stream ask -> streamArrived(body);
      case Ask.Snapshots ask -> {
        if (response instanceof StoreResponse.Listed listed && opening != null) {
          opening.snapshots(listed);
        }
      }
      case Ask.Snapshot ask -> {
        if (opening != null) {
          opening.snapshot(ask.version(), body);
        }
      }
      case Ask.Anchor ask -> {
        if (opening != null) {
          opening.anchor(ask.version(), body);
        }
      }
      case Ask.Group ask -> groupArrived(ask, response);
      case Ask.Version ask -> versionArrived(ask.version(), sent, body, nowNs);
      case Ask.Segment ask -> segmentArrived(ask.index(), body);
    }
    advanceOpening();
  }

  /** No object of the log is longer than its limit: damaged, like any other bytes that are. */
  private void tooLong(Ask ask) {
    switch (ask) {
      case Ask.Snapshot snapshot when opening != null -> {
        opening.snapshot(snapshot.version(), Bytes.EMPTY);
        advanceOpening();
      }
      case Ask.Segment segment -> segmentArrived(segment.index(), Bytes.EMPTY);
      default ->
          throw new BatchWeaveException(
              Kind.CORRUPT,
              "longer than any object of its kind: key="
                  + ask.request().key()
                  + "; restore it from a backup");
    }
  }

  private void streamArrived(@Nullable Bytes body) {
    if (body == null) {
      throw new BatchWeaveException(
          Kind.CONFIG,
          "this root is no stream: missing="
              + ObjectNames.STREAM
              + "; check the URL, or create the stream with `batchweave init`");
    }
    stream = StreamCodec.decode(ObjectNames.STREAM, body);
  }

  private void groupArrived(Ask.Group ask, StoreResponse response) {
    if (ask.group() != groupToList || !(response instanceof StoreResponse.Listed listed)) {
      return;
    }
    for (ListedObject object : listed.objects()) {
      OptionalLong version = ObjectNames.parseVersion(object.key());
      if (version.isPresent()) {
        highest = Math.max(highest, version.getAsLong());
      }
    }
    pace.listed();
    groupToList = highest >= ask.lastVersion() ? ask.group() + 1 : -1;
  }

  private void versionArrived(long version, Flight.Sent sent, @Nullable Bytes body, long nowNs) {
    if (opening != null || state == null || version <= state.version()) {
      return;
    }
    nextWanted &= version <= highest;
    if (body == null) {
      absent(version, sent, nowNs);
      return;
    }
    if (ManifestCodec.isTombstone(body)) {
      reopen(version);
      return;
    }
    arrived.put(version, folding.decode(version, body));
    if (version > highest) {
      highest = version;
      pace.hit(nowNs, flight.bits());
      if (pace.hits() >= policy.listAfterHits()) {
        groupToList = (version + 1) / Limits.GROUP_VERSIONS;
      }
    }
    foldArrived();
  }

  private void absent(long version, Flight.Sent sent, long nowNs) {
    if (version > highest) {
      if (sent.demand() == demand) {
        metDemand = demand;
        metHead = version - 1;
      }
      pace.miss(nowNs, flight.bits());
    } else if (sent.evidence() >= version) {
      // The look began when this version or a later one was known to exist: numbers are never free
      // again, so this is a hole, not the head.
      throw new BatchWeaveException(
          Kind.CORRUPT,
          "gap in the log: missing="
              + ObjectNames.version(version)
              + " exists="
              + ObjectNames.version(sent.evidence())
              + "; restore the missing object from a backup, nothing after it can be trusted");
    }
  }

  private void foldArrived() {
    for (ManifestVersion next = arrived.remove(state().version() + 1);
        next != null;
        next = arrived.remove(state().version() + 1)) {
      fold(next);
    }
  }

  private FoldOutcome fold(ManifestVersion next) {
    Folding.Folded folded = folding.fold(state(), next);
    State current = folded.state();
    FoldOutcome outcome = folded.outcome();
    state = current;
    trail.folded(current.version(), next.sizeBytes(), current.nextStep());
    for (SegmentRecord segment : outcome.completed()) {
      if (segment.index() == target) {
        rebuilt = segment;
      }
      if (target == NO_TARGET) {
        shelf.addFolded(segment);
      }
    }
    if (target == NO_TARGET) {
      events.add(new LogEvent.Folded(next, outcome));
    }
    pace.hint(next.header().paceMillis());
    if (!outcome.isVoid() && next.header().newestSnapshot() < outcome.version()) {
      snapshotExists(next.header().newestSnapshot(), 0);
    }
    return outcome;
  }

  private void snapshotExists(long version, long lengthBytes) {
    long nextStep = trail.exists(version, lengthBytes);
    if (nextStep >= 0) {
      shelf.settle(SegmentShelf.indexOf(nextStep));
    }
  }

  // ---- opening

  private void advanceOpening() {
    Opening current = opening;
    if (current == null) {
      return;
    }
    if (current.takeGroupTurn()) {
      groupToList = (Math.max(highest, current.candidate()) + 1) / Limits.GROUP_VERSIONS;
    }
    if (!current.found() || stream == null) {
      return;
    }
    State found = current.snapshot();
    if (found != null && !found.streamId().equals(stream.streamId())) {
      current.reject();
      advanceOpening();
      return;
    }
    begin(found == null ? State.empty(stream.streamId()) : found, current.snapshotBytes());
  }

  private void begin(State found, long snapshotBytes) {
    opening = null;
    long from = state == null ? 0 : state.version();
    if (state == null || found.version() > from) {
      state = found;
      anchor = found.version();
      trail.restart(anchor, snapshotBytes);
      shelf.forgetFolded();
      if (anchor > 0 && target == NO_TARGET) {
        events.add(new LogEvent.Jumped(from, anchor));
      }
    }
    highest = Math.max(highest, state().version());
  }

  private void reopen(long version) {
    if (!trimmedAnchors.add(anchor)) {
      throw new BatchWeaveException(
          Kind.CORRUPT,
          "trimmed where it is still needed: version="
              + version
              + " newestUsableSnapshot="
              + anchor
              + "; restore the newest snapshot or the trimmed versions from a backup");
    }
    arrived.clear();
    flight.forgetAll();
    groupToList = -1;
    opening = new Opening(target);
  }

  // ---- segments

  private void segmentArrived(long index, @Nullable Bytes body) {
    SegmentRecord segment = body == null ? null : decodeSegment(index, body);
    if (segment != null) {
      shelf.addRead(segment);
    } else if (missing < 0) {
      // Reclaimed since, or damaged: only the head can tell.
      missing = index;
      requireHead();
    }
  }

  private @Nullable SegmentRecord decodeSegment(long index, Bytes body) {
    try {
      SegmentRecord segment = SegmentCodec.decode(ObjectNames.segment(index), body);
      boolean right = segment.index() == index && segment.streamId().equals(stream().streamId());
      return right ? segment : null;
    } catch (BatchWeaveException e) {
      if (e.kind() == Kind.CORRUPT) {
        return null;
      }
      throw e;
    }
  }

  private void decideMissing() {
    if (missing < 0 || rebuild != null || !headKnown()) {
      return;
    }
    if ((missing + 1) * Limits.SEGMENT_STEPS <= state().horizon()) {
      shelf.unwant(missing);
      missing = -1;
    } else {
      rebuild =
          new LogFollower(policy, folding, new Bits(flight.bits().nextLong()), missing, stream);
    }
  }

  private void takeRebuilt(LogFollower child) {
    BatchWeaveException childFailure = child.failure;
    if (childFailure != null) {
      throw childFailure;
    }
    SegmentRecord segment = child.rebuilt;
    if (segment != null) {
      shelf.addRead(segment);
      missing = -1;
      rebuild = null;
    } else if (child.headKnown()) {
      throw new BatchWeaveException(
          Kind.CORRUPT,
          "segment missing and not in the log either: key="
              + ObjectNames.segment(missing)
              + " nextStep="
              + child.state().nextStep()
              + "; restore it from a backup");
    }
  }

  // ---- the end

  private void fail(BatchWeaveException exception) {
    failure = exception;
    rebuild = null;
    arrived.clear();
    flight.forgetAll();
    wakeAtNs = Long.MAX_VALUE;
  }

  private static BatchWeaveException giveUp(Ask ask, StoreResponse.Failed failed) {
    Kind kind = failed.failure() == StoreFailure.BAD_ANSWER ? Kind.CORRUPT : Kind.CONFIG;
    StoreRequest request = ask.request();
    return new BatchWeaveException(
        kind,
        "cannot read the log: key="
            + request.key()
            + " failure="
            + failed.failure()
            + " detail="
            + failed.detail()
            + "; check the store's URL, credentials and health");
  }
}
