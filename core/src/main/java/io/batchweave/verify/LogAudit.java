package io.batchweave.verify;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.Block;
import io.batchweave.format.Limits;
import io.batchweave.format.ManifestCodec;
import io.batchweave.format.ManifestVersion;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SegmentCodec;
import io.batchweave.format.SegmentRecord;
import io.batchweave.format.SnapshotCodec;
import io.batchweave.format.TgbEntry;
import io.batchweave.log.BlockOutcome;
import io.batchweave.log.Fold;
import io.batchweave.log.FoldOutcome;
import io.batchweave.log.Invariants;
import io.batchweave.log.Invariants.Level;
import io.batchweave.log.SnapshotPolicy;
import io.batchweave.log.State;
import java.util.ArrayDeque;
import java.util.NavigableSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Folds the log from its beginning to a head, compares snapshots and segments on the way, and hands
 * on every step at or above a horizon. Where it cannot go on it jumps to the next snapshot.
 */
final class LogAudit {
  /** Takes a step. */
  interface Steps {
    void step(long step, TgbEntry entry);
  }

  private static final int READ_AHEAD = 16;
  private static final int FULL_PRODUCERS = 1_000;
  private static final int FULL_VERSIONS = 64;
  private static final int HINTS = 64;

  private final Reads reads;
  private final Findings findings;
  private final long head;
  private final long fromStep;
  private final Steps steps;
  private final LongConsumer progress;
  private final NavigableSet<Long> snapshots;
  private final NavigableSet<Long> segments;
  private final TreeSet<Long> hinted = new TreeSet<>();
  private final TreeMap<Long, Long> absentSegments = new TreeMap<>();
  private final ArrayDeque<CompletableFuture<Bytes>> ahead = new ArrayDeque<>();
  private State state;
  private long firstVersion = 1;
  private long nextRead;
  private long snapshotsCompared;
  private long segmentsCompared;

  LogAudit(
      Reads reads,
      Findings findings,
      UUID streamId,
      Range range,
      Steps steps,
      LongConsumer progress) {
    this.reads = reads;
    this.findings = findings;
    this.head = range.head();
    this.fromStep = range.fromStep();
    this.steps = steps;
    this.progress = progress;
    this.snapshots = reads.snapshots();
    this.segments = reads.segments();
    this.state = State.empty(streamId);
  }

  /**
   * What is looked at.
   *
   * @param head the last version
   * @param fromStep the first step to hand on
   */
  record Range(long head, long fromStep) {}

  long firstVersion() {
    return firstVersion;
  }

  long snapshotsCompared() {
    return snapshotsCompared;
  }

  long segmentsCompared() {
    return segmentsCompared;
  }

  /** Folds; the state at the last version that could be folded. */
  State run() {
    boolean going = true;
    while (going && state.version() < head) {
      long version = state.version() + 1;
      progress.accept(version);
      Bytes body = read(version);
      if (body == null) {
        findings.add(ObjectNames.version(version), "missing version: later ones exist");
        going = goOnAfter(version);
      } else if (ManifestCodec.isTombstone(body)) {
        going = trimmed(version);
      } else {
        going = fold(version, body) || goOnAfter(version);
      }
    }
    ahead.forEach(request -> request.cancel(false));
    missingSegments();
    missingSnapshots();
    return state;
  }

  private @Nullable Bytes read(long version) {
    if (nextRead != version + ahead.size() || ahead.isEmpty()) {
      ahead.forEach(request -> request.cancel(false));
      ahead.clear();
      nextRead = version;
    }
    while (ahead.size() < READ_AHEAD && nextRead <= head) {
      ahead.add(reads.version(nextRead++));
    }
    return Reads.awaitPresent(ahead.remove());
  }

  /** Applies one version; false if that is impossible. */
  private boolean fold(long number, Bytes body) {
    String name = ObjectNames.version(number);
    FoldOutcome outcome;
    try {
      ManifestVersion version = ManifestCodec.decode(name, body);
      Invariants.Before remembered = Invariants.before(state, version);
      outcome = Fold.apply(state, version);
      Invariants.after(remembered, state, outcome);
      boolean full = state.liveProducers() <= FULL_PRODUCERS || number % FULL_VERSIONS == 0;
      Invariants.check(state, full || number == head ? Level.FULL : Level.CHEAP);
    } catch (BatchWeaveException e) {
      addIfCorrupt(name, "", e);
      return false;
    }
    if (outcome.isVoid()) {
      findings.add(
          name,
          "does not follow the version before it, so its "
              + outcome.blocks().size()
              + " blocks count for nothing and batches acknowledged for them are lost; somebody"
              + " changed or exchanged versions, or the store lets two writers create one: "
              + outcome.voidReason());
    } else if (outcome.header().newestSnapshot() > 0) {
      hint(outcome.header().newestSnapshot());
    }
    for (BlockOutcome block : outcome.blocks()) {
      if (block.accepted() && block.block() instanceof Block.Produce produce) {
        for (int i = 0; i < produce.entries().size(); i++) {
          hand(block.firstStep() + i, produce.entries().get(i));
        }
      }
    }
    outcome.completed().forEach(this::compareSegment);
    if (snapshots.contains(number)) {
      compareSnapshot(number);
    }
    return true;
  }

  private void hand(long step, TgbEntry entry) {
    if (step >= fromStep) {
      steps.step(step, entry);
    }
  }

  private void hint(long snapshot) {
    hinted.add(snapshot);
    if (hinted.size() > HINTS) {
      hinted.removeFirst();
    }
  }

  private void compareSnapshot(long version) {
    Bytes found = reads.snapshot(version);
    if (found == null) {
      hint(version);
      snapshots.remove(version);
      return;
    }
    Invariants.check(state, Level.FULL);
    snapshotsCompared++;
    String name = ObjectNames.snapshot(version);
    Bytes expected = Bytes.wrap(SnapshotCodec.encode(state.toRecord()));
    if (found.equals(expected)) {
      return;
    }
    try {
      var _ = SnapshotCodec.decode(name, found);
      findings.add(name, "differs from the fold" + difference(expected, found));
    } catch (BatchWeaveException e) {
      addIfCorrupt(name, "damaged snapshot: ", e);
    }
  }

  private static String difference(Bytes expected, Bytes found) {
    int at = expected.asByteBuffer().mismatch(found.asByteBuffer());
    return ": first at offset="
        + at
        + " expectedBytes="
        + expected.length()
        + " foundBytes="
        + found.length();
  }

  private void compareSegment(SegmentRecord segment) {
    String name = ObjectNames.segment(segment.index());
    Bytes found = segments.contains(segment.index()) ? reads.segment(segment.index()) : null;
    if (found == null) {
      absentSegments.put(segment.index(), state.version());
      return;
    }
    segmentsCompared++;
    Bytes expected = Bytes.wrap(SegmentCodec.encode(segment));
    if (found.equals(expected)) {
      return;
    }
    try {
      var _ = SegmentCodec.decode(name, found);
      findings.add(name, "differs from the fold" + difference(expected, found));
    } catch (BatchWeaveException e) {
      addIfCorrupt(name, "damaged segment: ", e);
    }
  }

  /** A snapshot is written after its segments: those of the newest one must be there. */
  private void missingSegments() {
    long builtOn = snapshots.isEmpty() ? 0 : snapshots.last();
    absentSegments.forEach((index, version) -> {
      long end = (index + 1) * Limits.SEGMENT_STEPS;
      if (version <= builtOn && end > state.horizon()) {
        findings.addOfStep(
            end - 1,
            ObjectNames.segment(index),
            "missing segment: the snapshot of version " + builtOn + " builds on it");
      }
    });
  }

  /** Only the newest are kept, so one that was named may be gone if enough are newer. */
  private void missingSnapshots() {
    TreeSet<Long> now = new TreeSet<>(snapshots);
    now.addAll(reads.snapshots());
    for (long version : hinted) {
      if (!now.contains(version)
          && version <= state.version()
          && now.tailSet(version).size() < SnapshotPolicy.KEPT) {
        findings.add(
            ObjectNames.snapshot(version),
            "missing snapshot: a version names it, and fewer than "
                + SnapshotPolicy.KEPT
                + " newer ones exist");
      }
    }
  }

  /** A trimmed version: right below the sixteenth snapshot, wrong above it. */
  private boolean trimmed(long version) {
    NavigableSet<Long> now = reads.snapshots();
    snapshots.addAll(now.headSet(head, true));
    if (now.tailSet(version, true).size() < SnapshotPolicy.KEPT) {
      findings.add(
          ObjectNames.version(version),
          "trimmed, though fewer than " + SnapshotPolicy.KEPT + " snapshots are newer");
    }
    boolean first = state.version() == 0;
    boolean going = jump(version);
    if (going && first) {
      firstVersion = state.version() + 1;
      findings.note("trimmed: the fold begins at the snapshot of version " + state.version());
    }
    return going;
  }

  /** Goes on behind a version that cannot be folded; false if there is no way. */
  private boolean goOnAfter(long version) {
    boolean going = jump(version);
    if (going) {
      findings.note(
          "versions "
              + version
              + " to "
              + state.version()
              + " could not be folded: the fold goes on at the snapshot of version "
              + state.version());
    }
    return going;
  }

  /** Takes the oldest usable snapshot from this version on for the state; false without one. */
  private boolean jump(long version) {
    for (long candidate : new TreeSet<>(snapshots.tailSet(version, true))) {
      State usable = candidate <= head ? usable(candidate, version) : null;
      if (usable != null) {
        long firstStep = state.nextStep();
        state = usable;
        stepsBefore(firstStep);
        return true;
      }
    }
    findings.add(
        ObjectNames.version(version),
        "nothing from here to version " + head + " could be judged: no snapshot to go on from");
    return false;
  }

  private @Nullable State usable(long version, long notBefore) {
    Bytes body = reads.snapshot(version);
    ManifestVersion anchor = version == notBefore ? null : anchor(version);
    if (body == null || anchor == null) {
      return null;
    }
    String name = ObjectNames.snapshot(version);
    try {
      State candidate = State.of(SnapshotCodec.decode(name, body));
      Invariants.check(candidate, Level.FULL);
      if (candidate.version() == version
          && candidate.streamId().equals(state.streamId())
          && candidate.isAfter(anchor)) {
        return candidate;
      }
      findings.add(name, "does not belong to the log: its version says otherwise");
    } catch (BatchWeaveException e) {
      addIfCorrupt(name, "damaged snapshot: ", e);
    }
    return null;
  }

  /** The version that a snapshot claims to be the state of; null if it cannot say. */
  private @Nullable ManifestVersion anchor(long version) {
    String name = ObjectNames.version(version);
    Bytes body = Reads.awaitPresent(reads.version(version));
    if (body == null || ManifestCodec.isTombstone(body)) {
      return null;
    }
    try {
      return ManifestCodec.decode(name, body);
    } catch (BatchWeaveException e) {
      addIfCorrupt(name, "", e);
      return null;
    }
  }

  private void addIfCorrupt(String object, String prefix, BatchWeaveException e) {
    if (e.kind() != Kind.CORRUPT) {
      throw e;
    }
    findings.add(object, prefix + e.getMessage());
  }

  /** The steps that a jump passed over, from their segments and the snapshot itself. */
  private void stepsBefore(long firstStep) {
    long from = Math.max(Math.max(firstStep, fromStep), state.horizon());
    for (long step = from; step < state.unfinishedStep(); ) {
      long index = step / Limits.SEGMENT_STEPS;
      long end = (index + 1) * Limits.SEGMENT_STEPS;
      SegmentRecord segment = readSegment(index);
      for (; step < end; step++) {
        if (segment != null) {
          hand(step, segment.entries().get((int) (step - segment.firstStep())));
        }
      }
    }
    for (long step = Math.max(from, state.unfinishedStep()); step < state.nextStep(); step++) {
      TgbEntry entry = state.entry(step);
      if (entry != null) {
        hand(step, entry);
      }
    }
  }

  private @Nullable SegmentRecord readSegment(long index) {
    String name = ObjectNames.segment(index);
    Bytes body = reads.segment(index);
    segmentsCompared++;
    long lastStep = (index + 1) * Limits.SEGMENT_STEPS - 1;
    if (body == null) {
      findings.addOfStep(lastStep, name, "missing segment: its steps could not be judged");
      return null;
    }
    try {
      SegmentRecord segment = SegmentCodec.decode(name, body);
      if (segment.index() == index && segment.streamId().equals(state.streamId())) {
        return segment;
      }
      findings.add(name, "is another segment: index=" + segment.index());
    } catch (BatchWeaveException e) {
      addIfCorrupt(name, "damaged segment: ", e);
    }
    return null;
  }
}
