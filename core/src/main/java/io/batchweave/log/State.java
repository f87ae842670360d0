package io.batchweave.log;

import io.batchweave.BatchWeaveException;
import io.batchweave.format.Limits;
import io.batchweave.format.ManifestVersion;
import io.batchweave.format.SnapshotRecord;
import io.batchweave.format.SnapshotRecord.GroupEntry;
import io.batchweave.format.SnapshotRecord.Life;
import io.batchweave.format.SnapshotRecord.PinEntry;
import io.batchweave.format.SnapshotRecord.ProducerEntry;
import io.batchweave.format.SnapshotRecord.SessionEntry;
import io.batchweave.format.SnapshotRecord.SkipEntry;
import io.batchweave.format.TgbEntry;
import io.batchweave.format.VersionHeader;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The folded state of a stream at one version. Only {@link Fold} changes it; everybody else reads.
 * Its size is linear in producers and registered things and flat in history.
 *
 * <p>Not thread-safe. Whoever keeps it across an event of the machine that owns it takes a {@link
 * #copy()}.
 */
public final class State {
  /** Counter of versions whose header disagreed with the fold. */
  public static final String VOID_VERSIONS = "void-versions";

  final UUID streamId;
  final Map<String, ProducerState> producers;
  final TreeMap<String, GroupState> groups;
  final ArrayList<SkipState> skips;
  final ArrayList<TgbEntry> unfinished;
  final Map<Verdict, Long> ignored;
  long voidVersions;
  long version;
  UUID commitId;
  UUID runningHash;
  long nextStep;
  long horizon;
  boolean sealed;
  long lastSkipVersion;
  int liveProducers;
  int pinCount;

  private State(UUID streamId) {
    this.streamId = streamId;
    this.commitId = streamId;
    this.runningHash = streamId;
    this.producers = new HashMap<>();
    this.groups = new TreeMap<>();
    this.skips = new ArrayList<>();
    this.unfinished = new ArrayList<>();
    this.ignored = new EnumMap<>(Verdict.class);
  }

  private State(State other) {
    this.streamId = other.streamId;
    this.producers = new HashMap<>(other.producers);
    this.groups = new TreeMap<>(other.groups);
    this.skips = new ArrayList<>(other.skips);
    this.unfinished = new ArrayList<>(other.unfinished);
    this.ignored = new EnumMap<>(other.ignored);
    this.voidVersions = other.voidVersions;
    this.version = other.version;
    this.commitId = other.commitId;
    this.runningHash = other.runningHash;
    this.nextStep = other.nextStep;
    this.horizon = other.horizon;
    this.sealed = other.sealed;
    this.lastSkipVersion = other.lastSkipVersion;
    this.liveProducers = other.liveProducers;
    this.pinCount = other.pinCount;
  }

  /**
   * The state of the empty log, version 0: the stream id stands for commit id and running hash.
   *
   * @param streamId the stream's id
   */
  public static State empty(UUID streamId) {
    return new State(streamId);
  }

  /** The stream's id. */
  public UUID streamId() {
    return streamId;
  }

  /** The last version folded; 0 for the empty log. */
  public long version() {
    return version;
  }

  /** Commit id of that version: the parent of the next one. */
  public UUID commitId() {
    return commitId;
  }

  /** Chained over the digests of all versions. */
  public UUID runningHash() {
    return runningHash;
  }

  /**
   * The header of a version that follows this one: a header that says anything else is void.
   *
   * @param commitId unique to this attempt to commit
   * @param newestSnapshot version of the newest snapshot that its committer knows, 0 if none
   * @param paceMillis its committer's interval between versions
   */
  public VersionHeader nextHeader(UUID commitId, long newestSnapshot, int paceMillis) {
    return new VersionHeader(
        streamId,
        version + 1,
        commitId,
        this.commitId,
        nextStep,
        horizon,
        runningHash,
        newestSnapshot,
        paceMillis);
  }

  /**
   * Whether this is the state right after a version, by commit id and running hash.
   *
   * @param newest the version; its number is not looked at
   */
  public boolean isAfter(ManifestVersion newest) {
    return newest.header().commitId().equals(commitId)
        && Fold.chain(newest.header().runningHash(), newest.digest()).equals(runningHash);
  }

  /** The step that the next accepted batch takes; the number of steps so far. */
  public long nextStep() {
    return nextStep;
  }

  /** First step not yet reclaimed. */
  public long horizon() {
    return horizon;
  }

  /** Whether the stream ended at {@link #nextStep}. */
  public boolean sealed() {
    return sealed;
  }

  /** Version of the last accepted skip: the base of the next one; 0 if there was none. */
  public long lastSkipVersion() {
    return lastSkipVersion;
  }

  /**
   * A producer's state.
   *
   * @param producer its id
   * @return null if it was never fenced
   */
  public @Nullable ProducerState producer(String producer) {
    return producers.get(producer);
  }

  /**
   * Goes over all producers, retired ones included, in no particular order.
   *
   * @param action takes id and state
   */
  public void forEachProducer(BiConsumer<String, ProducerState> action) {
    producers.forEach(action);
  }

  /** Producers that are not retired. */
  public int liveProducers() {
    return liveProducers;
  }

  /**
   * A group's state.
   *
   * @param group its name
   * @return never null: a group that never was has base 0 and nothing registered
   */
  public GroupState group(String group) {
    return groups.getOrDefault(group, GroupState.NEW);
  }

  /** Names of all groups, sorted. */
  public List<String> groups() {
    return List.copyOf(groups.keySet());
  }

  /** Skips that reach above the horizon, by version. */
  public List<SkipState> skips() {
    return List.copyOf(skips);
  }

  /**
   * Whether a session passes over a step.
   *
   * @param step the step
   * @param view version that registered the session
   */
  public boolean skipped(long step, long view) {
    for (SkipState skip : skips) {
      if (skip.version() <= view && skip.from() <= step && step < skip.to()) {
        return true;
      }
    }
    return false;
  }

  /**
   * The first step at or after one that a session does not pass over.
   *
   * @param step where to begin
   * @param view version that registered the session
   */
  public long nextUnskipped(long step, long view) {
    return SkipState.firstBeyond(skips, view, step);
  }

  /**
   * Lowest step that any live session or pin may still ask for; {@code Long.MAX_VALUE} if nothing
   * is registered (then nothing may be reclaimed).
   */
  public long protectedStep() {
    long step = Long.MAX_VALUE;
    for (GroupState group : groups.values()) {
      step = Math.min(step, group.protectedStep());
    }
    return step;
  }

  /** Blocks ignored so far for one reason. */
  public long ignored(Verdict reason) {
    return ignored.getOrDefault(reason, 0L);
  }

  /** Versions so far whose header disagreed with the fold. */
  public long voidVersions() {
    return voidVersions;
  }

  /** First step of the unfinished segment. */
  public long unfinishedStep() {
    return nextStep - unfinished.size();
  }

  /**
   * An entry of the unfinished segment.
   *
   * @param step the step
   * @return null if the step is not in {@code [unfinishedStep, nextStep)}
   */
  public @Nullable TgbEntry entry(long step) {
    long index = step - unfinishedStep();
    return index < 0 || index >= unfinished.size() ? null : unfinished.get((int) index);
  }

  /** A copy that shares nothing mutable: linear in producers, groups, skips and 255 entries. */
  public State copy() {
    return new State(this);
  }

  /** A hash of everything in it, equal for equal states. */
  public long fingerprint() {
    long hash = Fingerprint.of(version, commitId, runningHash, nextStep, horizon, sealed);
    long unordered = 0;
    for (Map.Entry<String, ProducerState> producer : producers.entrySet()) {
      unordered += Fingerprint.of(producer.getKey(), producer.getValue());
    }
    hash = Fingerprint.add(hash, unordered);
    hash = Fingerprint.add(hash, Fingerprint.of(groups, skips, lastSkipVersion, unfinished));
    return Fingerprint.add(hash, Fingerprint.of(counters()));
  }

  /** The state as the tree of values that a snapshot holds; equal states give equal records. */
  public SnapshotRecord toRecord() {
    List<ProducerEntry> producerEntries = new ArrayList<>(producers.size());
    new TreeMap<>(producers)
        .forEach((id, p) ->
            producerEntries.add(
                new ProducerEntry(
                    id,
                    p.epoch(),
                    p.incarnation(),
                    p.nextSeq(),
                    p.sourceState(),
                    p.lastVersion(),
                    p.retired() ? Life.RETIRED : Life.ACTIVE)));
    List<GroupEntry> groupEntries = new ArrayList<>(groups.size());
    groups.forEach((name, group) -> groupEntries.add(toEntry(name, group)));
    List<SkipEntry> skipEntries = new ArrayList<>(skips.size());
    skips.forEach(s -> skipEntries.add(new SkipEntry(s.from(), s.to(), s.version())));
    return new SnapshotRecord(
        streamId,
        version,
        commitId,
        runningHash,
        nextStep,
        horizon,
        sealed,
        lastSkipVersion,
        producerEntries,
        groupEntries,
        skipEntries,
        counters(),
        unfinished);
  }

  /** All counters that are not 0, by name. */
  public SortedMap<String, Long> counters() {
    SortedMap<String, Long> counters = new TreeMap<>();
    ignored.forEach((reason, count) -> counters.put(reason.counterName(), count));
    if (voidVersions != 0) {
      counters.put(VOID_VERSIONS, voidVersions);
    }
    return counters;
  }

  private static GroupEntry toEntry(String name, GroupState group) {
    List<SessionEntry> sessions = new ArrayList<>(1);
    SessionState session = group.session();
    if (session != null) {
      sessions.add(
          new SessionEntry(
              session.sessionId(), session.view(), session.startStep(), session.lastPin()));
    }
    List<PinEntry> pins = new ArrayList<>(group.pins().size());
    group.pins().forEach(p -> pins.add(new PinEntry(p.id(), p.view(), p.step())));
    return new GroupEntry(name, group.changed(), sessions, pins);
  }

  /**
   * The state that a snapshot holds. It is checked by {@link Invariants} like any other.
   *
   * @param record a decoded snapshot
   * @throws io.batchweave.BatchWeaveException CORRUPT if no fold can have made it; TOO_NEW if it
   *     counts what this program does not know
   */
  public static State of(SnapshotRecord record) {
    State state = new State(record.streamId());
    state.version = record.version();
    state.commitId = record.commitId();
    state.runningHash = record.runningHash();
    state.nextStep = record.nextStep();
    state.horizon = record.horizon();
    state.sealed = record.sealed();
    state.lastSkipVersion = record.lastSkipVersion();
    for (ProducerEntry p : record.producers()) {
      boolean retired = p.life() == Life.RETIRED;
      state.producers.put(
          p.producer(),
          new ProducerState(
              p.epoch(), p.incarnation(), p.nextSeq(), p.sourceState(), p.lastVersion(), retired));
      state.liveProducers += retired ? 0 : 1;
    }
    for (GroupEntry group : record.groups()) {
      state.groups.put(group.group(), ofEntry(group));
      state.pinCount += group.pins().size();
    }
    record.skips().forEach(s -> state.skips.add(new SkipState(s.from(), s.to(), s.version())));
    state.unfinished.addAll(record.entries());
    record.counters().forEach(state::setCounter);
    Invariants.check(state, Invariants.Level.FULL);
    return state;
  }

  private static GroupState ofEntry(GroupEntry entry) {
    Invariants.require(
        entry.sessions().size() <= 1,
        "oneLiveSessionPerGroup",
        "group=" + entry.group() + " sessions=" + entry.sessions().size());
    SessionState session = null;
    for (SessionEntry s : entry.sessions()) {
      session = new SessionState(s.sessionId(), s.version(), s.startStep(), s.lastPin());
    }
    List<PinState> pins = new ArrayList<>(entry.pins().size());
    entry.pins().forEach(p -> pins.add(new PinState(p.id(), p.sessionVersion(), p.step())));
    return new GroupState(entry.changed(), session, pins);
  }

  private void setCounter(String name, long value) {
    if (name.equals(VOID_VERSIONS)) {
      voidVersions = value;
      return;
    }
    for (Verdict verdict : Verdict.values()) {
      if (verdict.counterName().equals(name)) {
        ignored.put(verdict, value);
        return;
      }
    }
    throw new BatchWeaveException(
        BatchWeaveException.Kind.TOO_NEW,
        "a snapshot counts what this program does not know: counter="
            + name
            + " version="
            + version
            + "; use a newer BatchWeave");
  }

  @Override
  public String toString() {
    return "State[version="
        + version
        + ", nextStep="
        + nextStep
        + ", horizon="
        + horizon
        + ", sealed="
        + sealed
        + ", producers="
        + producers.size()
        + ", groups="
        + groups.size()
        + ", unfinished="
        + unfinished.size()
        + "/"
        + Limits.SEGMENT_STEPS
        + "]";
  }
}
