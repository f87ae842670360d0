package io.batchweave.simulate;

import io.batchweave.BatchWeaveException;
import io.batchweave.Bytes;
import io.batchweave.commit.CommitPolicy;
import io.batchweave.format.Block;
import io.batchweave.format.ManifestCodec;
import io.batchweave.format.ManifestVersion;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SnapshotCodec;
import io.batchweave.format.TgbEntry;
import io.batchweave.log.BlockOutcome;
import io.batchweave.log.Fingerprint;
import io.batchweave.log.Fold;
import io.batchweave.log.FoldOutcome;
import io.batchweave.log.Invariants;
import io.batchweave.log.State;
import io.batchweave.store.StoreRequest;
import io.batchweave.store.StoreResponse;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A state of everything: the actors, the store, and the truth about the log, which no actor knows.
 * Never changed once it is in the search. What must hold is checked here.
 */
final class Cell {
  /** A change of a process that does not wait for it any more: it may still take effect. */
  record Ghost(StoreRequest request, Bytes payload) {}

  /** A batch that a user was told failed. */
  record Failed(String producer, int epoch, long seq) {}

  /** A block that the log accepted. */
  record Accepted(long version, Block block) {}

  /** A broken promise; stops the search. */
  static final class Found extends RuntimeException {
    private static final long serialVersionUID = 1;

    Found(Promise promise, String detail) {
      super(promise + ": " + detail);
    }

    Found(Found found, Cell at) {
      super(found.getMessage() + at.path());
    }
  }

  private final @Nullable Cell before;
  private final String action;
  final int depth;
  final List<Actor> actors;
  final List<Ghost> ghosts;
  final List<Failed> failed;

  /** Roles of which another process may start at any time. */
  final List<String> starts;

  private final State start;
  SmallStore store;
  State truth;
  List<TgbEntry> entries;
  private List<Accepted> accepted;
  private int announcements;
  int crashes;
  int unclear;

  /** The beginning. */
  Cell(Scope scope) {
    this.before = null;
    this.action = "begin";
    this.depth = 0;
    this.actors = new ArrayList<>();
    this.ghosts = new ArrayList<>();
    this.failed = new ArrayList<>();
    this.starts = new ArrayList<>();
    this.store = new SmallStore(scope.prehistory().objects());
    this.start = scope.prehistory().state();
    this.truth = start;
    this.entries = scope.prehistory().entries();
    this.accepted = List.of();
    this.crashes = scope.crashes();
    this.unclear = scope.unclear();
  }

  /** What follows by an action, to be changed by it. */
  Cell(Cell before, String action) {
    this.before = before;
    this.action = action;
    this.depth = before.depth + 1;
    this.actors = new ArrayList<>(before.actors);
    this.ghosts = new ArrayList<>(before.ghosts);
    this.failed = new ArrayList<>(before.failed);
    this.starts = new ArrayList<>(before.starts);
    this.store = before.store.copy();
    this.start = before.start;
    this.truth = before.truth;
    this.entries = before.entries;
    this.accepted = before.accepted;
    this.announcements = before.announcements;
    this.crashes = before.crashes;
    this.unclear = before.unclear;
  }

  /** A copy of an actor, in its place, that will act. */
  Actor acting(int index) {
    Actor actor = actors.get(index).copy();
    actors.set(index, actor);
    return actor;
  }

  /** What cannot differ where the future does not, deaths and unclear answers to come apart. */
  long fingerprint() {
    long unordered = 0;
    for (Ghost ghost : ghosts) {
      unordered += Fingerprint.of(ghost);
    }
    return Fingerprint.of(end(), unordered, starts);
  }

  /** As {@link #fingerprint}, of all that every actor has lived through. */
  long history() {
    long hash = fingerprint();
    for (Actor actor : actors) {
      hash = Fingerprint.add(hash, actor.history());
    }
    return hash;
  }

  /** The state as an end: what may still take effect and what was not used up are left out. */
  long end() {
    long hash = store.fingerprint();
    for (Actor actor : actors) {
      hash = Fingerprint.add(hash, actor.fingerprint());
    }
    return Fingerprint.of(hash, failed);
  }

  /** Whether somebody committed for somebody else. */
  boolean helped() {
    Map<Long, Set<String>> owners = new HashMap<>();
    for (Accepted one : accepted) {
      owners
          .computeIfAbsent(one.version(), v -> new HashSet<>())
          .add(CommitPolicy.ownerOf(one.block()));
    }
    return owners.values().stream().anyMatch(of -> of.size() > 1);
  }

  /** What the processes were told at the end, for people. */
  String outcome() {
    StringBuilder text = new StringBuilder("horizon=" + truth.horizon());
    for (Actor actor : actors) {
      if (actor instanceof ProposalActor proposal && proposal.done()) {
        text.append(' ').append(actor.role()).append('=').append(proposal.told());
      }
    }
    return text.toString();
  }

  /** The actions that lead here. */
  String path() {
    StringBuilder text = new StringBuilder();
    for (Cell cell = this; cell != null; cell = cell.before) {
      text.insert(0, "\n  " + cell.action);
    }
    return text.toString();
  }

  // ---- what must hold

  static void require(boolean holds, Promise promise, String detail) {
    if (!holds) {
      throw new Found(promise, detail);
    }
  }

  boolean accepted(Block block, long version) {
    return accepted.contains(new Accepted(version, block));
  }

  boolean accepted(Block block) {
    return accepted.stream().anyMatch(one -> one.block().equals(block));
  }

  /** A change took effect. */
  void applied(StoreRequest request, StoreResponse response) {
    if (request instanceof StoreRequest.Delete delete) {
      boolean log = delete.keys().stream().anyMatch(key -> key.startsWith("manifest/"));
      require(!log, Promise.NOTHING_REMOVED, delete.keys().toString());
      everyStepReadable(truth.horizon());
    }
    if (!(response instanceof StoreResponse.Created)) {
      return;
    }
    if (request.key().startsWith(ObjectNames.ANNOUNCEMENTS)) {
      announcements++;
      // From here on a machine may clean up, which its fingerprint leaves out.
      if (announcements == CommitPolicy.WORTH_A_DELETE) {
        throw new IllegalStateException("too large a case: announcements=" + announcements);
      }
    } else if (request.key().startsWith("manifest/")) {
      fold();
    } else if (request.key().startsWith(ObjectNames.SNAPSHOTS)
        && request instanceof StoreRequest.PutIfAbsent put) {
      snapshotIsTheFold(put);
    }
  }

  private void snapshotIsTheFold(StoreRequest.PutIfAbsent put) {
    long version = ObjectNames.parseSnapshot(put.key()).orElse(-1);
    State expected = start.copy();
    while (expected.version() < version && foldNext(expected) != null) {}
    require(
        expected.version() == version
            && Bytes.wrap(SnapshotCodec.encode(expected.toRecord())).equals(put.body()),
        Promise.SNAPSHOT_IS_THE_FOLD,
        put.key());
  }

  private @Nullable FoldOutcome foldNext(State state) {
    String key = ObjectNames.version(state.version() + 1);
    Bytes body = store.get(key);
    if (body == null) {
      return null;
    }
    ManifestVersion version = ManifestCodec.decode(key, body);
    Invariants.Before known = Invariants.before(state, version);
    FoldOutcome outcome = Fold.apply(state, version);
    try {
      Invariants.after(known, state, outcome);
    } catch (BatchWeaveException e) {
      throw new Found(Promise.LOG_SOUND, String.valueOf(e.getMessage()));
    }
    return outcome;
  }

  private void fold() {
    truth = truth.copy();
    List<TgbEntry> moreEntries = new ArrayList<>(entries);
    List<Accepted> moreAccepted = new ArrayList<>(accepted);
    for (FoldOutcome outcome = foldNext(truth); outcome != null; outcome = foldNext(truth)) {
      require(!outcome.isVoid(), Promise.NO_VOID_VERSION, "" + outcome.version());
      for (BlockOutcome block : outcome.blocks()) {
        if (block.accepted()) {
          moreAccepted.add(new Accepted(outcome.version(), block.block()));
          if (block.block() instanceof Block.Produce produce) {
            moreEntries.addAll(produce.entries());
          }
        }
      }
    }
    int from = entries.size();
    entries = Collections.unmodifiableList(moreEntries);
    accepted = Collections.unmodifiableList(moreAccepted);
    everyStepReadable(from);
  }

  private void everyStepReadable(long fromStep) {
    for (long step = Math.max(fromStep, truth.horizon()); step < entries.size(); step++) {
      String key = ObjectNames.data(entries.get((int) step).object());
      require(store.get(key) != null, Promise.EVERY_STEP_READABLE, "step=" + step + " " + key);
    }
  }

  /** Nothing is left to happen: all work must be done, and everything told must be so. */
  void checkEnd(Scope scope) {
    TreeMap<String, Boolean> done = new TreeMap<>();
    for (Actor actor : actors) {
      done.merge(actor.role(), actor.alive() && actor.done(), Boolean::logicalOr);
      if (actor.alive()) {
        actor.judge(this);
      }
    }
    require(!done.containsValue(false), Promise.PROGRESS, "at the end: " + done);
    TreeMap<String, Long> nextSeqs = new TreeMap<>();
    nextSeqs.put(Prehistory.PRODUCER, scope.prehistory().nextSeq() - 1);
    for (int step = (int) scope.prehistory().steps(); step < entries.size(); step++) {
      TgbEntry entry = entries.get(step);
      String producer = entry.object().producer();
      long expected = nextSeqs.merge(producer, 1L, Long::sum);
      Bytes made = Source.slice(producer, expected, 0);
      require(
          entry.seq() == expected && entry.slices().getFirst().crc32c() == RankMachine.crc32c(made),
          Promise.EACH_BATCH_ONCE_IN_ORDER,
          String.format(Locale.ROOT, "step=%d seq=%d expected=%d", step, entry.seq(), expected));
      require(
          !failed.contains(new Failed(producer, entry.object().epoch(), entry.seq())),
          Promise.FAILED_IS_NEVER_IN_THE_LOG,
          entry.object().toString());
    }
    everyStepReadable(0);
    require(
        entries.size() - scope.prehistory().steps() == scope.batches(),
        Promise.EACH_BATCH_ONCE_IN_ORDER,
        "steps=" + entries.size());
  }
}
