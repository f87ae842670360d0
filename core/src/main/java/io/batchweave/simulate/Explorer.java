package io.batchweave.simulate;

import io.batchweave.BatchWeaveException;
import io.batchweave.Bytes;
import io.batchweave.format.ObjectNames;
import io.batchweave.log.Fingerprint;
import io.batchweave.simulate.Actor.Fate;
import io.batchweave.simulate.Actor.Pending;
import io.batchweave.simulate.Cell.Found;
import io.batchweave.simulate.Cell.Ghost;
import io.batchweave.store.StoreFailure;
import io.batchweave.store.StoreRequest;
import io.batchweave.store.StoreResponse;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import org.agrona.collections.LongHashSet;
import org.jspecify.annotations.Nullable;

/**
 * Every interleaving of a small case: the real machines, each with a clock of its own, and a store
 * where a change takes effect and is answered in separate actions. An action is: a change takes
 * effect; an answer is heard; a process's time comes; an answer is unclear or a conflict; a process
 * dies, and another starts. What a process asked for may still take effect after it died or gave
 * up, at any later point, or never.
 *
 * <p>What is left out because nobody can tell the difference, and why, is in the description of
 * this package; {@link Reduction#NONE} leaves in most of it, for comparison.
 */
public final class Explorer {
  private static final StoreResponse UNCLEAR =
      new StoreResponse.Failed(StoreFailure.UNCLEAR, "explored");
  private static final StoreResponse CONFLICT =
      new StoreResponse.Failed(StoreFailure.CONFLICT, "explored");

  private static final int STATES_PER_PROGRESS = 4_096;

  /** How much is left out. */
  enum Reduction {
    /** As NONE, and states are alike only if every process has lived through the same. */
    NOTHING_ALIKE,
    /** Every action of every process is tried in every state. */
    NONE,
    /** Actions that commute with all that others can do are done first. */
    LOCAL_FIRST
  }

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
      @Nullable String violation) {
    /** The chance that two of the states have one fingerprint, so that one was passed over. */
    public double collisionChance() {
      return 0.5 * states * (states - 1.0) / Math.pow(2, Long.SIZE);
    }
  }

  /** The states in which nothing is left to do. */
  static final class Ends {
    final LongHashSet fingerprints = new LongHashSet();
    final TreeSet<String> outcomes = new TreeSet<>();

    /** How many of them have a version with blocks of several owners. */
    int helped;

    private void add(Cell cell) {
      if (fingerprints.add(cell.end())) {
        outcomes.add(cell.outcome());
        helped += cell.helped() ? 1 : 0;
      }
    }

    private void clear() {
      fingerprints.clear();
      outcomes.clear();
      helped = 0;
    }
  }

  /** Something was assumed to be left alone by everybody, and was not. */
  private static final class NotQuiet extends RuntimeException {
    private static final long serialVersionUID = 1;
  }

  private final Scope scope;
  private final PlantedBug bug;
  private final Reduction reduction;
  private final long maxStates;
  private final Ends ends;
  private final LongHashSet seen = new LongHashSet();
  private final ArrayDeque<Cell> open = new ArrayDeque<>();

  /** What follows from the state being expanded, at no cost of deaths and unclear answers. */
  private final List<Cell> free = new ArrayList<>();

  /** What follows from it at such a cost. */
  private final List<Cell> costly = new ArrayList<>();

  private final boolean quiet;
  private long transitions;
  private int deepest;

  private Explorer(
      Scope scope, PlantedBug bug, Reduction reduction, long maxStates, boolean quiet, Ends ends) {
    this.scope = scope;
    this.bug = bug;
    this.reduction = reduction;
    this.maxStates = maxStates;
    this.quiet = quiet && reduction == Reduction.LOCAL_FIRST;
    this.ends = ends;
  }

  /**
   * Explores a case.
   *
   * @param small the case
   * @param maxStates where to give up: the findings are then not {@link Findings#complete}
   */
  public static Findings explore(SmallCase small, long maxStates) {
    return explore(small, maxStates, states -> {});
  }

  /**
   * Explores a case.
   *
   * @param small the case
   * @param maxStates where to give up: the findings are then not {@link Findings#complete}
   * @param progress is told now and then how many states were seen
   */
  public static Findings explore(SmallCase small, long maxStates, LongConsumer progress) {
    return explore(
        small.scope(), PlantedBug.NONE, Reduction.LOCAL_FIRST, maxStates, new Ends(), progress);
  }

  /**
   * Explores.
   *
   * @param scope the case
   * @param bug one without state of its own, or {@link PlantedBug#NONE}
   * @param maxStates where to give up
   */
  static Findings explore(Scope scope, PlantedBug bug, long maxStates) {
    return explore(scope, bug, Reduction.LOCAL_FIRST, maxStates, new Ends());
  }

  /**
   * Explores.
   *
   * @param scope the case
   * @param bug one without state of its own, or {@link PlantedBug#NONE}
   * @param reduction what to leave out
   * @param maxStates where to give up
   * @param ends takes the states in which nothing is left to do
   */
  static Findings explore(
      Scope scope, PlantedBug bug, Reduction reduction, long maxStates, Ends ends) {
    return explore(scope, bug, reduction, maxStates, ends, states -> {});
  }

  private static Findings explore(
      Scope scope,
      PlantedBug bug,
      Reduction reduction,
      long maxStates,
      Ends ends,
      LongConsumer progress) {
    try {
      return new Explorer(scope, bug, reduction, maxStates, true, ends).explore(progress);
    } catch (NotQuiet e) {
      ends.clear();
      return new Explorer(scope, bug, reduction, maxStates, false, ends).explore(progress);
    }
  }

  private Findings explore(LongConsumer progress) {
    Cell cell = begin();
    try {
      decide(cell, cell);
      push();
      for (long n = 0; !open.isEmpty() && seen.size() < maxStates; n++) {
        cell = open.pop();
        if (n % STATES_PER_PROGRESS == 0) {
          progress.accept(seen.size());
        }
        deepest = Math.max(deepest, cell.depth);
        boolean moved = expand(cell);
        push();
        if (!moved) {
          ends.add(cell);
          try {
            cell.checkEnd(scope);
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
    return new Findings(
        seen.size(), transitions, ends.fingerprints.size(), deepest, open.isEmpty(), violation);
  }

  private Cell begin() {
    Cell cell = new Cell(scope);
    for (Scope.Part part : scope.parts()) {
      if (!part.warm() && reduction != Reduction.LOCAL_FIRST) {
        cell.starts.add(part.role());
        continue;
      }
      add(cell, part.role());
      int index = cell.actors.size() - 1;
      Actor actor = cell.actors.get(index);
      for (int read = read(actor); part.warm() && read >= 0; read = read(actor)) {
        actor = deliver(cell, index, read);
      }
    }
    return cell;
  }

  private void add(Cell cell, String role) {
    int number = cell.actors.size();
    for (Scope.Part part : scope.parts()) {
      if (part.role().equals(role)) {
        Actor actor = part.birth().actor(role + "#" + number, 77L + number);
        cell.actors.add(actor);
        actor.start();
        settle(cell, actor);
        return;
      }
    }
  }

  // ---- actions

  /** Tries every action that must be tried; false if only ghosts are left. */
  private boolean expand(Cell cell) {
    for (int i = 0; reduction == Reduction.LOCAL_FIRST && i < cell.actors.size(); i++) {
      if (isLocal(cell, cell.actors.get(i))) {
        return expand(cell, i);
      }
    }
    boolean any = false;
    for (int i = 0; i < cell.actors.size(); i++) {
      any |= expand(cell, i);
    }
    for (int i = 0; i < cell.ghosts.size(); i++) {
      int index = i;
      Ghost ghost = cell.ghosts.get(i);
      step(
          cell,
          "late: " + ghost.request().key(),
          next -> {
            next.ghosts.remove(index);
            next.applied(ghost.request(), next.store.apply(ghost.request(), ghost.payload()));
          });
    }
    for (int i = 0; i < cell.starts.size(); i++) {
      int index = i;
      step(
          cell,
          "another process of " + cell.starts.get(i) + " starts",
          next -> add(next, next.starts.remove(index)));
      any = true;
    }
    return any;
  }

  /**
   * Whether all that an actor's machine can do next, now or after others have acted, is at hand and
   * touches nothing that others can touch.
   */
  private boolean isLocal(Cell cell, Actor actor) {
    if (!actor.alive()) {
      return false;
    }
    for (Pending pending : actor.pending) {
      boolean settled =
          pending.response() != null
              || pending.fate() == Fate.LOST
              || pending.fate() == Fate.REFUSED;
      if (!pending.reads() && !settled) {
        return false;
      }
    }
    int read = read(actor);
    if (read >= 0) {
      return isQuiet(cell, actor.pending.get(read).request());
    }
    return !actor.pending.isEmpty() || actor.dueNs() != Long.MAX_VALUE;
  }

  /** Whether a read is answered alike whatever others do. */
  private boolean isQuiet(Cell cell, StoreRequest request) {
    if (request.key().startsWith(ObjectNames.SNAPSHOTS)) {
      return quiet;
    }
    boolean there = request instanceof StoreRequest.Get get && cell.store.get(get.key()) != null;
    return there
        && (request.key().startsWith("manifest/")
            || (quiet && request.key().startsWith("announce/")));
  }

  /** Whether somebody touches what is assumed to be left alone. */
  private static boolean disturbs(StoreRequest request) {
    return switch (request) {
      case StoreRequest.PutIfAbsent put -> put.key().startsWith(ObjectNames.SNAPSHOTS);
      case StoreRequest.Delete delete ->
          delete.keys().stream()
              .anyMatch(
                  key -> key.startsWith("announce/") || key.startsWith(ObjectNames.SNAPSHOTS));
      default -> false;
    };
  }

  private boolean expand(Cell cell, int index) {
    Actor actor = cell.actors.get(index);
    if (!actor.alive()) {
      return false;
    }
    boolean any = false;
    boolean later = false;
    if (actor.dueNs() != Long.MAX_VALUE) {
      Cell after =
          step(
              cell,
              actor.name + " time",
              next -> settle(next, next.acting(index), who -> who.pass(scope.tickNs())));
      later = diesAsWell(cell, after, index);
      any = true;
    }
    int read = read(actor);
    if (read >= 0) {
      String key = actor.pending.get(read).request().key();
      Cell after = step(cell, actor.name + " reads " + key, next -> deliver(next, index, read));
      later |= diesAsWell(cell, after, index);
      any = true;
    }
    for (int k = 0; k < actor.pending.size(); k++) {
      if (!actor.pending.get(k).reads()) {
        Cell after = expandChange(cell, index, k);
        later |= after != null && diesAsWell(cell, after, index);
        any = true;
      }
    }
    if (mayDie(cell, index) && !(later && reduction == Reduction.LOCAL_FIRST)) {
      step(cell, actor.name + " dies", next -> crash(next, index));
    }
    return any;
  }

  /** Whether a death after a step leaves all that a death before it would. */
  private static boolean diesAsWell(Cell before, Cell after, int index) {
    return mayDie(after, index) && after.store.fingerprint() == before.store.fingerprint();
  }

  private static boolean mayDie(Cell cell, int index) {
    Actor actor = cell.actors.get(index);
    return cell.crashes > 0 && actor.alive() && !actor.done();
  }

  /**
   * Tries what becomes of a change.
   *
   * @return the state after its answer was heard; null if it has none yet
   */
  private @Nullable Cell expandChange(Cell cell, int index, int k) {
    Cell heard = null;
    Actor actor = cell.actors.get(index);
    Pending pending = actor.pending.get(k);
    StoreResponse response = pending.response();
    String what = actor.name + " " + pending.request().key() + " ";
    if (pending.fate() == Fate.LOST) {
      heard = step(cell, what + "is unclear", next -> hear(next, index, k, UNCLEAR));
    } else if (pending.fate() == Fate.REFUSED) {
      heard = step(cell, what + "is a conflict", next -> hear(next, index, k, CONFLICT));
    } else if (response == null) {
      step(cell, what + "takes effect", next -> takeEffect(next, index, k));
    } else {
      heard = step(cell, what + "is answered", next -> hear(next, index, k, response));
    }
    if (cell.unclear > 0 && reduction != Reduction.LOCAL_FIRST) {
      step(
          cell,
          what + "is unclear",
          next -> {
            next.unclear--;
            hear(next, index, k, UNCLEAR);
          });
      if (response == null) {
        step(
            cell,
            what + "is a conflict",
            next -> {
              next.unclear--;
              hear(next, index, k, CONFLICT);
            });
      }
    }
    return heard;
  }

  private Cell step(Cell cell, String action, Consumer<Cell> change) {
    transitions++;
    Cell next = new Cell(cell, action);
    try {
      change.accept(next);
      decide(cell, next);
    } catch (Found found) {
      throw new Found(found, next);
    }
    return next;
  }

  /** Decides what becomes of what was just sent, each way that the budget allows. */
  private void decide(Cell before, Cell next) {
    for (int i = 0; i < next.actors.size(); i++) {
      Actor actor = next.actors.get(i);
      for (int k = 0; k < actor.pending.size(); k++) {
        Pending pending = actor.pending.get(k);
        if (pending.fate() != Fate.OPEN) {
          continue;
        }
        if (quiet && disturbs(pending.request())) {
          throw new NotQuiet();
        }
        if (next.unclear > 0 && !pending.reads() && reduction == Reduction.LOCAL_FIRST) {
          decide(before, decided(next, i, k, Fate.LOST));
          if (pending.request() instanceof StoreRequest.PutIfAbsent) {
            decide(before, decided(next, i, k, Fate.REFUSED));
          }
        }
        actor.pending.set(k, pending.with(Fate.CLEAR));
      }
    }
    if (reduction == Reduction.LOCAL_FIRST) {
      endVain(next);
    }
    if (isNew(next)) {
      boolean same = next.crashes == before.crashes && next.unclear == before.unclear;
      (same ? free : costly).add(next);
    }
  }

  /** A create of what is there for good says so whenever it takes effect, and changes nothing. */
  private void endVain(Cell next) {
    next.ghosts.removeIf(ghost -> isVain(next, ghost.request()));
    for (int i = 0; i < next.actors.size(); i++) {
      for (int k = 0; k < next.actors.get(i).pending.size(); k++) {
        Pending pending = next.actors.get(i).pending.get(k);
        boolean due = pending.response() == null && pending.fate() == Fate.CLEAR;
        if (due && isVain(next, pending.request())) {
          takeEffect(next, i, k);
        }
      }
    }
  }

  private boolean isVain(Cell cell, StoreRequest request) {
    boolean forGood =
        request.key().startsWith("manifest/") || (quiet && request.key().startsWith("announce/"));
    return forGood
        && request instanceof StoreRequest.PutIfAbsent put
        && cell.store.get(put.key()) != null;
  }

  /**
   * Whether a state must be looked at: not if it was seen, with as many deaths and unclear answers
   * to come or with more.
   */
  private boolean isNew(Cell next) {
    long hash = reduction == Reduction.NOTHING_ALIKE ? next.history() : next.fingerprint();
    for (int crashes = next.crashes; crashes <= scope.crashes(); crashes++) {
      for (int unclear = next.unclear; unclear <= scope.unclear(); unclear++) {
        boolean other = crashes != next.crashes || unclear != next.unclear;
        if (other
            && reduction == Reduction.LOCAL_FIRST
            && seen.contains(Fingerprint.of(hash, crashes, unclear))) {
          return false;
        }
      }
    }
    return seen.add(Fingerprint.of(hash, next.crashes, next.unclear));
  }

  /** What spends nothing comes first: what spends most often leads to what is known by then. */
  private void push() {
    costly.forEach(open::push);
    free.forEach(open::push);
    costly.clear();
    free.clear();
  }

  private static Cell decided(Cell next, int index, int k, Fate fate) {
    Pending pending = next.actors.get(index).pending.get(k);
    Cell other = new Cell(next, "... which will be " + fate + ": " + pending.request().key());
    other.unclear--;
    other.acting(index).pending.set(k, pending.with(fate));
    if (fate == Fate.LOST) {
      other.ghosts.add(new Ghost(pending.request(), pending.payload()));
    }
    return other;
  }

  /** The oldest request that only reads; -1 if there is none. */
  private static int read(Actor actor) {
    for (int k = 0; k < actor.pending.size(); k++) {
      if (actor.pending.get(k).reads()) {
        return k;
      }
    }
    return -1;
  }

  private Actor deliver(Cell next, int index, int k) {
    Actor actor = next.acting(index);
    Pending pending = actor.pending.remove(k);
    StoreResponse response = next.store.apply(pending.request(), pending.payload());
    settle(next, actor, who -> heard(next, who, pending, response));
    return actor;
  }

  private void takeEffect(Cell next, int index, int k) {
    Actor actor = next.acting(index);
    Pending pending = actor.pending.get(k);
    StoreRequest request = bug.sending(new Hands(next, actor), pending.id(), pending.request());
    StoreResponse response = next.store.apply(request, pending.payload());
    actor.pending.set(
        k, new Pending(pending.id(), request, pending.payload(), pending.fate(), response));
    next.applied(request, response);
  }

  private void hear(Cell next, int index, int k, StoreResponse response) {
    Actor actor = next.acting(index);
    Pending pending = actor.pending.remove(k);
    if (pending.response() == null && pending.fate() == Fate.CLEAR && !response.equals(CONFLICT)) {
      next.ghosts.add(new Ghost(pending.request(), pending.payload()));
    }
    settle(next, actor, who -> heard(next, who, pending, response));
  }

  private void heard(Cell next, Actor actor, Pending pending, StoreResponse response) {
    StoreResponse heard =
        bug.hearing(new Hands(next, actor), pending.id(), pending.request(), response);
    if (heard != null) {
      if (reduction == Reduction.NOTHING_ALIKE) {
        actor.remember(pending.id(), heard);
      }
      actor.hear(pending.id(), heard);
    }
  }

  private void crash(Cell next, int index) {
    Actor actor = next.acting(index);
    next.crashes--;
    for (Pending pending : actor.pending) {
      if (!pending.reads() && pending.response() == null && pending.fate() == Fate.CLEAR) {
        next.ghosts.add(new Ghost(pending.request(), pending.payload()));
      }
    }
    actor.end();
    if (reduction != Reduction.LOCAL_FIRST) {
      next.starts.add(actor.role());
    } else {
      add(next, actor.role());
    }
  }

  private void settle(Cell next, Actor actor, Consumer<Actor> action) {
    action.accept(actor);
    settle(next, actor);
  }

  /** Does at once what commutes with everything, and checks what the process was told. */
  private void settle(Cell next, Actor actor) {
    for (int k = 0; k < actor.pending.size(); k++) {
      Pending pending = actor.pending.get(k);
      boolean owns = !scope.contested() && pending.request() instanceof StoreRequest.Upload;
      if (owns || pending.request().key().equals(ObjectNames.STREAM)) {
        actor.pending.remove(k);
        actor.hearAtOnce(pending.id(), next.store.apply(pending.request(), pending.payload()));
        k = -1;
      }
    }
    actor.judge(next);
    BatchWeaveException failure = actor.failure();
    if (failure != null) {
      Cell.require(actor.mayStop(failure), Promise.NO_UNEXPECTED_STOP, actor.name + " " + failure);
      actor.end();
    }
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
      actor.send(requestId, request);
    }

    @Override
    public void reportFailed(String producer, long seq) {
      int epoch = actor instanceof ProducerActor process ? process.epoch() : 0;
      cell.failed.add(new Cell.Failed(producer, epoch, seq));
    }

    @Override
    public SortedMap<String, Bytes> objects() {
      return cell.store.all();
    }
  }
}
