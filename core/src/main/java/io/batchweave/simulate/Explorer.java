package io.batchweave.simulate;

import io.batchweave.BatchWeaveException;
import io.batchweave.Bytes;
import io.batchweave.format.Block;
import io.batchweave.format.ManifestCodec;
import io.batchweave.format.ManifestVersion;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SnapshotCodec;
import io.batchweave.format.TgbEntry;
import io.batchweave.log.Bits;
import io.batchweave.log.BlockOutcome;
import io.batchweave.log.Fingerprint;
import io.batchweave.log.Fold;
import io.batchweave.log.FoldOutcome;
import io.batchweave.log.FollowPolicy;
import io.batchweave.log.Invariants;
import io.batchweave.log.State;
import io.batchweave.produce.ProducerMachine;
import io.batchweave.store.StoreFailure;
import io.batchweave.store.StoreRequest;
import io.batchweave.store.StoreResponse;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.agrona.collections.LongHashSet;
import org.jspecify.annotations.Nullable;

/**
 * Every interleaving of a small case: the real producer machines, each with a clock of its own, and
 * a store where a create takes effect and is answered in separate actions. An action is: a create
 * takes effect; an answer is heard; a process's time comes; an answer is unclear or a conflict; a
 * process dies; another starts. What a process asked for may still take effect after it died or
 * gave up, at any later point, or never.
 *
 * <p>States are told apart by fingerprints of 64 bits. Left out, because nobody can tell the
 * difference: a read is answered where it takes effect; the reads of one process are answered in
 * the order in which they were sent; uploads and reads of the stream's description happen at once.
 * A process's time comes only when it waits for no answer.
 */
public final class Explorer {
  private static final String PRODUCER = "p";

  /**
   * What is explored.
   *
   * @param producers number of producers, one process each
   * @param batches each of them has
   * @param crashes processes that may die, each replaced at any later time
   * @param unclear creates whose answer may be unclear, or a conflict
   * @param duplicates processes that may start beside the first producer's
   * @param prehistory what stands on the store
   */
  record Scope(
      int producers,
      int batches,
      int crashes,
      int unclear,
      int duplicates,
      Prehistory prehistory) {}

  /**
   * What was found.
   *
   * @param states different states seen
   * @param transitions actions taken
   * @param ends states in which nothing is left to do
   * @param deepest actions on the longest path
   * @param complete whether every state was seen
   * @param violation the first broken promise and the way to it; null if none
   */
  public record Findings(
      long states,
      long transitions,
      long ends,
      int deepest,
      boolean complete,
      @Nullable String violation) {}

  /** A create of a process that does not wait for it any more. */
  private record Ghost(StoreRequest.PutIfAbsent put) {}

  private record Failed(String producer, int epoch, long seq) {}

  /** A state of everything; never changed once its actions have been tried. */
  private static final class Cell {
    final @Nullable Cell before;
    final String action;
    final int depth;
    final List<Actor> actors;
    final List<Ghost> ghosts;
    final List<Failed> failed;
    SmallStore store;
    State truth;
    List<TgbEntry> entries;
    int crashes;
    int unclear;
    int starts;

    Cell(SmallStore store, State truth, List<TgbEntry> entries) {
      this.before = null;
      this.action = "begin";
      this.depth = 0;
      this.actors = new ArrayList<>();
      this.ghosts = new ArrayList<>();
      this.failed = new ArrayList<>();
      this.store = store;
      this.truth = truth;
      this.entries = entries;
    }

    Cell(Cell before, String action) {
      this.before = before;
      this.action = action;
      this.depth = before.depth + 1;
      this.actors = new ArrayList<>(before.actors);
      this.ghosts = new ArrayList<>(before.ghosts);
      this.failed = new ArrayList<>(before.failed);
      this.store = before.store.copy();
      this.truth = before.truth;
      this.entries = before.entries;
      this.crashes = before.crashes;
      this.unclear = before.unclear;
      this.starts = before.starts;
    }

    long fingerprint() {
      long hash = store.fingerprint();
      for (Actor actor : actors) {
        hash = Fingerprint.add(hash, actor.fingerprint());
      }
      long unordered = 0;
      for (Ghost ghost : ghosts) {
        unordered += Fingerprint.of(ghost);
      }
      return Fingerprint.add(hash, Fingerprint.of(unordered, failed, crashes, unclear, starts));
    }

    String path() {
      StringBuilder text = new StringBuilder();
      for (Cell cell = this; cell != null; cell = cell.before) {
        text.insert(0, "\n  " + cell.action);
      }
      return text.toString();
    }
  }

  /** What must stop the search. */
  private static final class Found extends RuntimeException {
    private static final long serialVersionUID = 1;

    Found(Promise promise, String detail) {
      super(promise + ": " + detail);
    }

    Found(Found found, Cell at) {
      super(found.getMessage() + at.path());
    }
  }

  private final Scope scope;
  private final PlantedBug bug;
  private final long maxStates;
  private final LongHashSet seen = new LongHashSet();
  private final ArrayDeque<Cell> open = new ArrayDeque<>();
  private long transitions;
  private long ends;
  private int deepest;

  private Explorer(Scope scope, PlantedBug bug, long maxStates) {
    this.scope = scope;
    this.bug = bug;
    this.maxStates = maxStates;
  }

  /**
   * Explores a case.
   *
   * @param small the case
   * @param maxStates where to give up: the findings are then not {@link Findings#complete}
   */
  public static Findings explore(SmallCase small, long maxStates) {
    return explore(small.scope(), PlantedBug.NONE, maxStates);
  }

  /**
   * Explores.
   *
   * @param scope the case
   * @param bug one without state of its own, or {@link PlantedBug#NONE}
   * @param maxStates where to give up
   */
  static Findings explore(Scope scope, PlantedBug bug, long maxStates) {
    return new Explorer(scope, bug, maxStates).explore();
  }

  private Findings explore() {
    Cell cell = begin();
    try {
      seen.add(cell.fingerprint());
      open.push(cell);
      while (!open.isEmpty() && seen.size() < maxStates) {
        cell = open.pop();
        deepest = Math.max(deepest, cell.depth);
        if (!expand(cell)) {
          ends++;
          try {
            checkEnd(cell);
          } catch (Found found) {
            throw new Found(found, cell);
          }
        }
      }
    } catch (Found found) {
      return findings(String.valueOf(found.getMessage()));
    }
    return findings(null);
  }

  private Findings findings(@Nullable String violation) {
    return new Findings(seen.size(), transitions, ends, deepest, open.isEmpty(), violation);
  }

  private Cell begin() {
    Prehistory prehistory = scope.prehistory();
    Cell cell =
        new Cell(new SmallStore(prehistory.objects()), prehistory.state(), prehistory.entries());
    cell.crashes = scope.crashes();
    cell.unclear = scope.unclear();
    cell.starts = scope.duplicates();
    for (int i = 0; i < scope.producers(); i++) {
      // All first processes have read on to the head before the first action.
      add(cell, PRODUCER + i);
      int index = cell.actors.size() - 1;
      Actor actor = cell.actors.get(index);
      for (int read = read(actor); read >= 0; read = read(actor)) {
        actor = deliver(cell, index, read);
      }
    }
    return cell;
  }

  private void add(Cell cell, String producer) {
    String name = producer + "#" + cell.actors.size();
    ProducerMachine machine =
        new ProducerMachine(producer, 2, FollowPolicy.DEFAULT, new Bits(77L + cell.actors.size()));
    Actor actor = new Actor(name, producer, scope.batches(), machine);
    cell.actors.add(actor);
    actor.start();
    settle(cell, actor);
  }

  // ---- actions

  /** Tries every action; false if there is none. */
  private boolean expand(Cell cell) {
    boolean any = false;
    for (int i = 0; i < cell.actors.size(); i++) {
      any |= expand(cell, i);
    }
    for (int i = 0; i < cell.ghosts.size(); i++) {
      int index = i;
      Ghost ghost = cell.ghosts.get(i);
      step(
          cell,
          "late: " + ghost.put().key(),
          next -> {
            next.ghosts.remove(index);
            StoreResponse response = next.store.apply(ghost.put(), Bytes.EMPTY);
            applied(next, ghost.put(), response);
          });
      any = true;
    }
    if (cell.starts > 0) {
      step(
          cell,
          "another process of p0 starts",
          next -> {
            next.starts--;
            add(next, PRODUCER + 0);
          });
      any = true;
    }
    return any;
  }

  private boolean expand(Cell cell, int index) {
    Actor actor = cell.actors.get(index);
    if (!actor.alive) {
      return false;
    }
    boolean any = false;
    if (actor.dueNs() != Long.MAX_VALUE) {
      step(cell, actor.name + " time", next -> settle(next, acting(next, index), Actor::pass));
      any = true;
    }
    int read = read(actor);
    if (read >= 0) {
      String key = actor.pending.get(read).request().key();
      step(cell, actor.name + " reads " + key, next -> deliver(next, index, read));
      any = true;
    }
    for (int k = 0; k < actor.pending.size(); k++) {
      if (actor.pending.get(k).request() instanceof StoreRequest.PutIfAbsent put) {
        expandPut(cell, index, k, put);
        any = true;
      }
    }
    if (cell.crashes > 0 && !actor.drained()) {
      step(cell, actor.name + " dies", next -> crash(next, index));
    }
    return any;
  }

  private void expandPut(Cell cell, int index, int k, StoreRequest.PutIfAbsent put) {
    Actor actor = cell.actors.get(index);
    Actor.Pending pending = actor.pending.get(k);
    StoreResponse response = pending.response();
    String what = actor.name + " " + put.key() + " ";
    if (response == null) {
      step(cell, what + "takes effect", next -> deliverEffect(next, index, k));
    } else {
      step(cell, what + "is answered", next -> hear(next, index, k, response, null));
    }
    if (cell.unclear > 0) {
      step(
          cell,
          what + "is unclear",
          next -> {
            next.unclear--;
            StoreResponse lost = new StoreResponse.Failed(StoreFailure.UNCLEAR, "explored");
            hear(next, index, k, lost, response == null ? put : null);
          });
      if (response == null) {
        step(
            cell,
            what + "is a conflict",
            next -> {
              next.unclear--;
              StoreResponse conflict = new StoreResponse.Failed(StoreFailure.CONFLICT, "explored");
              hear(next, index, k, conflict, null);
            });
      }
    }
  }

  private void step(Cell cell, String action, Consumer<Cell> change) {
    transitions++;
    Cell next = new Cell(cell, action);
    try {
      change.accept(next);
    } catch (Found found) {
      throw new Found(found, next);
    }
    if (seen.add(next.fingerprint())) {
      open.push(next);
    }
  }

  private static Actor acting(Cell next, int index) {
    Actor actor = next.actors.get(index).copy();
    next.actors.set(index, actor);
    return actor;
  }

  /** The oldest request that only reads; -1 if there is none. */
  private static int read(Actor actor) {
    for (int k = 0; k < actor.pending.size(); k++) {
      if (!(actor.pending.get(k).request() instanceof StoreRequest.PutIfAbsent)) {
        return k;
      }
    }
    return -1;
  }

  private Actor deliver(Cell next, int index, int k) {
    Actor actor = acting(next, index);
    Actor.Pending pending = actor.pending.remove(k);
    StoreResponse response = next.store.apply(pending.request(), pending.payload());
    settle(next, actor, who -> heard(next, who, pending, response));
    return actor;
  }

  private void deliverEffect(Cell next, int index, int k) {
    Actor actor = acting(next, index);
    Actor.Pending pending = actor.pending.get(k);
    StoreRequest request = bug.sending(new Hands(next, actor), pending.id(), pending.request());
    StoreResponse response = next.store.apply(request, Bytes.EMPTY);
    actor.pending.set(k, new Actor.Pending(pending.id(), request, Bytes.EMPTY, response));
    applied(next, request, response);
  }

  private void hear(
      Cell next,
      int index,
      int k,
      StoreResponse response,
      StoreRequest.@Nullable PutIfAbsent ghost) {
    Actor actor = acting(next, index);
    Actor.Pending pending = actor.pending.remove(k);
    if (ghost != null) {
      next.ghosts.add(new Ghost(ghost));
    }
    settle(next, actor, who -> heard(next, who, pending, response));
  }

  private void heard(Cell next, Actor actor, Actor.Pending pending, StoreResponse response) {
    StoreResponse heard =
        bug.hearing(new Hands(next, actor), pending.id(), pending.request(), response);
    if (heard != null) {
      actor.hear(pending.id(), heard);
    }
  }

  private void crash(Cell next, int index) {
    Actor actor = acting(next, index);
    actor.alive = false;
    next.crashes--;
    for (Actor.Pending pending : actor.pending) {
      if (pending.request() instanceof StoreRequest.PutIfAbsent put && pending.response() == null) {
        next.ghosts.add(new Ghost(put));
      }
    }
    actor.pending.clear();
    if (actor.producer.equals(PRODUCER + 0)) {
      next.starts++;
    } else {
      add(next, actor.producer);
    }
  }

  private void settle(Cell next, Actor actor, Consumer<Actor> action) {
    action.accept(actor);
    settle(next, actor);
  }

  /** Does at once what commutes with everything, and checks what the process was told. */
  private void settle(Cell next, Actor actor) {
    for (int k = 0; k < actor.pending.size(); k++) {
      Actor.Pending pending = actor.pending.get(k);
      boolean commutes =
          pending.request() instanceof StoreRequest.Upload
              || pending.request() instanceof StoreRequest.Delete
              || pending.request().key().equals(ObjectNames.STREAM);
      if (commutes) {
        actor.pending.remove(k);
        actor.hearAtOnce(pending.id(), next.store.apply(pending.request(), pending.payload()));
        k = -1;
      }
    }
    for (ProducerMachine.Committed told : actor.acknowledged()) {
      TgbEntry entry =
          told.step() < next.entries.size() ? next.entries.get((int) told.step()) : null;
      boolean holds =
          entry != null
              && entry.seq() == told.seq()
              && entry.object().producer().equals(actor.producer)
              && entry.object().epoch() == actor.machine.epoch();
      require(holds, Promise.ACKNOWLEDGED_IS_IN_THE_LOG, actor.name + " " + told + " log=" + entry);
    }
    BatchWeaveException failure = actor.machine.failure();
    if (failure != null) {
      require(
          failure.kind() == BatchWeaveException.Kind.FENCED,
          Promise.NO_UNEXPECTED_STOP,
          actor.name + " " + failure);
      actor.alive = false;
      actor.pending.clear();
    }
  }

  // ---- what must hold

  private static void require(boolean holds, Promise promise, String detail) {
    if (!holds) {
      throw new Found(promise, detail);
    }
  }

  private static void applied(Cell next, StoreRequest request, StoreResponse response) {
    if (!(response instanceof StoreResponse.Created)) {
      return;
    }
    if (request.key().startsWith("manifest/")) {
      fold(next);
    } else if (request.key().startsWith(ObjectNames.SNAPSHOTS)
        && request instanceof StoreRequest.PutIfAbsent put) {
      long version = ObjectNames.parseSnapshot(put.key()).orElse(-1);
      State expected = State.empty(Prehistory.STREAM);
      while (expected.version() < version && foldNext(next, expected) != null) {}
      require(
          expected.version() == version
              && Bytes.wrap(SnapshotCodec.encode(expected.toRecord())).equals(put.body()),
          Promise.SNAPSHOT_IS_THE_FOLD,
          put.key());
    }
  }

  private static @Nullable FoldOutcome foldNext(Cell next, State state) {
    String key = ObjectNames.version(state.version() + 1);
    Bytes body = next.store.get(key);
    if (body == null) {
      return null;
    }
    ManifestVersion version = ManifestCodec.decode(key, body);
    Invariants.Before before = Invariants.before(state, version);
    FoldOutcome outcome = Fold.apply(state, version);
    try {
      Invariants.after(before, state, outcome);
    } catch (BatchWeaveException e) {
      throw new Found(Promise.LOG_SOUND, String.valueOf(e.getMessage()));
    }
    return outcome;
  }

  private static void fold(Cell next) {
    next.truth = next.truth.copy();
    next.entries = new ArrayList<>(next.entries);
    for (FoldOutcome outcome = foldNext(next, next.truth);
        outcome != null;
        outcome = foldNext(next, next.truth)) {
      require(!outcome.isVoid(), Promise.NO_VOID_VERSION, "" + outcome.version());
      for (BlockOutcome block : outcome.blocks()) {
        if (block.accepted() && block.block() instanceof Block.Produce produce) {
          next.entries.addAll(produce.entries());
        }
      }
    }
    next.entries = Collections.unmodifiableList(next.entries);
  }

  /** Nothing is left to happen: all work must be done, and everything told must be so. */
  private void checkEnd(Cell cell) {
    TreeMap<String, Boolean> done = new TreeMap<>();
    for (Actor actor : cell.actors) {
      done.merge(actor.producer, actor.alive && actor.drained(), Boolean::logicalOr);
    }
    require(!done.containsValue(false), Promise.PROGRESS, "at the end: " + done);
    TreeMap<String, Long> nextSeqs = new TreeMap<>();
    for (int step = (int) scope.prehistory().steps(); step < cell.entries.size(); step++) {
      TgbEntry entry = cell.entries.get(step);
      long expected = nextSeqs.merge(entry.object().producer(), 1L, Long::sum);
      Bytes made = Source.slice(entry.object().producer(), expected, 0);
      require(
          entry.seq() == expected && entry.slices().getFirst().crc32c() == RankMachine.crc32c(made),
          Promise.EACH_BATCH_ONCE_IN_ORDER,
          "step=" + step + " seq=" + entry.seq() + " expected=" + expected);
      String key = ObjectNames.data(entry.object());
      require(cell.store.get(key) != null, Promise.EVERY_STEP_READABLE, key);
      require(
          !cell.failed.contains(
              new Failed(entry.object().producer(), entry.object().epoch(), entry.seq())),
          Promise.FAILED_IS_NEVER_IN_THE_LOG,
          entry.object().toString());
    }
    require(
        cell.entries.size() - scope.prehistory().steps()
            == (long) scope.producers() * scope.batches(),
        Promise.EACH_BATCH_ONCE_IN_ORDER,
        "steps=" + cell.entries.size());
  }

  /** What a bug may do. */
  private static final class Hands implements PlantedBug.Hands {
    private final Cell cell;
    private final Actor actor;

    Hands(Cell cell, Actor actor) {
      this.cell = cell;
      this.actor = actor;
    }

    @Override
    public String process() {
      return actor.name;
    }

    @Override
    public void send(long requestId, StoreRequest request) {
      actor.pending.add(new Actor.Pending(requestId, request, Bytes.EMPTY, null));
    }

    @Override
    public void reportFailed(String producer, long seq) {
      cell.failed.add(new Failed(producer, actor.machine.epoch(), seq));
    }

    @Override
    public SortedMap<String, Bytes> objects() {
      return cell.store.all();
    }
  }
}
