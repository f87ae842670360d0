package io.batchweave.bridge.ring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.bridge.ring.Choices.Whim;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A modelled node: a {@link RingMachine}, its files and memory, ranks that follow the protocol one
 * store or load at a time, fetches that write late. Every micro-step checks what must hold.
 */
final class RingWorld {
  static final int PAGE = 64;
  static final int NO_TAG = -1;

  /** How this world is. */
  record Shape(int ranks, int hold, int pages, int maxRegionPages, long endStep, int slots) {}

  /** A fetch that may still write. */
  record Fetching(RingCommand.Fetch fetch, int tag, AtomicBoolean cancelled) {
    Fetching copy() {
      return new Fetching(fetch, tag, new AtomicBoolean(cancelled.get()));
    }
  }

  final Shape shape;
  Choices choices;
  final RingSettings settings;
  RingMachine machine;
  final int[] memory;
  final Map<Long, ModelControl> controls = new TreeMap<>();
  final Map<Id128, ModelReader> files = new TreeMap<>();
  final Map<Long, Fetching> fetches = new TreeMap<>();
  final List<ModelRank> ranks = new ArrayList<>();
  long nowNs;
  long nextId = 1;
  int sessions = 1;
  int takes;
  int closes;

  /** Generations closed because a rank asked for a step before their first. */
  int olderSteps;

  int takeovers;

  /** Times a rank was told that it keeps too much. */
  int helds;

  /** Whether no daemon runs. */
  boolean down;

  /** What is wrong on purpose. */
  @Nullable RingBug bug;

  /** Commands that the daemon still carries out before it is killed. */
  private long commandsLeft = Long.MAX_VALUE;

  /** Commands so far; a copy begins anew. */
  int commands;

  RingWorld(Shape shape, Choices choices) {
    this.shape = shape;
    this.choices = choices;
    this.settings =
        new RingSettings(0, (long) shape.pages() * PAGE, PAGE, shape.slots(), shape.hold(), 1_000);
    this.machine = new RingMachine(settings, 0);
    this.memory = new int[shape.pages()];
    Arrays.fill(memory, NO_TAG);
    for (int i = 0; i < shape.ranks(); i++) {
      ranks.add(new ModelRank(i, i, session(1)));
    }
  }

  private RingWorld(RingWorld other) {
    shape = other.shape;
    choices = other.choices;
    settings = other.settings;
    machine = other.machine.copy();
    memory = other.memory.clone();
    other.controls.forEach((number, control) -> controls.put(number, control.copy()));
    other.ranks.forEach(rank -> ranks.add(rank.copy()));
    other.files.forEach((id, file) -> files.put(id, file.copy(ranks.get(file.rank.number))));
    for (ModelRank rank : ranks) {
      ModelRank from = other.ranks.get(rank.number);
      rank.file = from.file == null ? null : files.get(from.file.id);
      from.former.forEach(file -> rank.former.add(there(files.get(file.id))));
    }
    other.fetches.forEach((id, fetching) -> fetches.put(id, fetching.copy()));
    nowNs = other.nowNs;
    nextId = other.nextId;
    sessions = other.sessions;
    takes = other.takes;
    closes = other.closes;
    olderSteps = other.olderSteps;
    takeovers = other.takeovers;
    helds = other.helds;
    bug = other.bug;
    down = other.down;
    commandsLeft = other.commandsLeft;
  }

  /** A deep copy. */
  RingWorld copy() {
    return new RingWorld(this);
  }

  /** A hash of all that decides what can happen from here on, and nothing else. */
  long fingerprint() {
    return WorldHash.of(this, false);
  }

  /** The same with fields that decide nothing any more. */
  long exactFingerprint() {
    return WorldHash.of(this, true);
  }

  static SessionKey session(int number) {
    return new SessionKey(new Id128(7, 7), "job", "run-" + number, 16, 1);
  }

  private static <T> T there(@Nullable T value) {
    return Objects.requireNonNull(value);
  }

  long below(long bound) {
    return choices.below(bound);
  }

  /** Pages of one slice of a step; the same whenever asked. */
  long slicePages(long step) {
    long mixed = new StateHash().add(step).add(shape.pages()).value() & Long.MAX_VALUE;
    return 1 + mixed % Math.max(1, shape.maxRegionPages() / shape.ranks());
  }

  long regionBytes(long step, int slices) {
    return slicePages(step) * slices * PAGE;
  }

  static int tag(long step, int slices) {
    return (int) step * 32 + slices;
  }

  // ---- the daemon

  void drain() {
    machine.drain(this::carryOutIfAlive);
  }

  private void carryOutIfAlive(RingCommand command) {
    commands++;
    if (!down && commandsLeft-- <= 0) {
      die();
      if (command instanceof RingCommand.Allocate allocate) {
        newest().forget(allocate.n(), settings.descriptorCount()); // in the middle
      }
    }
    if (!down) {
      carryOut(command);
    }
  }

  /** The daemon, or the next one, is to be killed before it carries out more commands. */
  void limit(long commandsToCome) {
    commandsLeft = commandsToCome;
  }

  /** With the daemon go its requests; what they wrote last is there. */
  void die() {
    commandsLeft = Long.MAX_VALUE;
    if (down) {
      return;
    }
    down = true;
    ranks.forEach(rank -> rank.said = false); // whoever waits for an answer asks again
    for (Fetching fetching : fetches.values()) {
      StepRegion region = fetching.fetch().region();
      if (choices.happens(Whim.LATE_WRITE) && !isThere(fetching)) {
        memory[(int) (region.offset() / PAGE + choices.anyOf(region.lengthBytes() / PAGE))] =
            fetching.tag();
      }
    }
    fetches.clear();
  }

  /** The next daemon finds what this one left. */
  void startDaemon() {
    down = false;
    takeovers++;
    controls.values().removeIf(control -> control.state == ControlDescriptor.STATE_NEW);
    List<FoundRing.Generation> generations = new ArrayList<>();
    for (ModelControl control : controls.values()) {
      if (!control.dropped) {
        control.close(CloseReason.DAEMON_RESTART);
        generations.add(control.found(settings.descriptorCount()));
      }
    }
    List<FoundRing.Reader> readers = new ArrayList<>();
    boolean isRead = false;
    for (ModelReader file : inAnyOrder()) {
      ModelControl read = controls.get(file.attachedTo);
      boolean found = read != null && !read.dropped;
      boolean attaching = file.attachedTo == 0 && bug != RingBug.FORGETS_WHO_WAS_ATTACHING;
      if (found || attaching) {
        isRead |= found;
        file.expected = file.attachedTo;
        readers.add(
            new FoundRing.Reader(
                file.id,
                file.previous,
                new Coordinate(file.rank.index, 0),
                file.attachedTo,
                file.firstN,
                foundView(file)));
      }
    }
    if (isRead) {
      machine = RingMachine.takeOver(settings, new FoundRing(generations, readers), nowNs);
    } else {
      for (ModelControl control : controls.values()) {
        control.dropped = true;
      }
      // Names may be used again; here they tell files apart.
      long last = controls.keySet().stream().mapToLong(number -> number).max().orElse(0);
      machine = new RingMachine(settings, last);
    }
    drain();
  }

  /** Reader files whose lock is held, as the next daemon comes across them. */
  private List<ModelReader> inAnyOrder() {
    List<ModelReader> left = new ArrayList<>();
    for (ModelReader file : files.values()) {
      if (file.locked) {
        left.add(file);
      }
    }
    List<ModelReader> ordered = new ArrayList<>();
    while (!left.isEmpty()) {
      ordered.add(left.remove((int) choices.below(left.size())));
    }
    return ordered;
  }

  /** What the next daemon reads of a file. */
  private ReaderView foundView(ModelReader file) {
    long last = file.taken - 1;
    boolean released =
        (bug == RingBug.COUNTS_A_STEP_THAT_IS_BACKED_OUT_OF && file.rank.taking)
            || bug == RingBug.TAKEN_IS_RELEASED;
    long taken =
        bug == RingBug.TAKES_OVER_WITHOUT_A_LOOK && file.held.containsKey(last) ? last : file.taken;
    return released || taken != file.taken ? new OtherView(file, taken, released) : file;
  }

  /** What the daemon reads of a file. */
  private ReaderView view(ModelReader file) {
    return bug == RingBug.TAKEN_IS_RELEASED ? new OtherView(file, file.taken, true) : file;
  }

  /** What it reads of it when a generation was closed. */
  private ReaderView closedView(ModelReader file) {
    return bug == RingBug.CLOSES_WITHOUT_A_LOOK
        ? new OtherView(file, Math.min(file.taken, file.firstN), false)
        : view(file);
  }

  /** A file with another n taken, and perhaps the last one released. */
  private record OtherView(ModelReader file, long taken, boolean released) implements ReaderView {
    @Override
    public boolean isAttached() {
      return file.isAttached();
    }

    @Override
    public boolean isAcked(long n) {
      return file.isAcked(n) || (released && file.isAttached() && n < taken);
    }
  }

  private ModelControl newest() {
    return there(controls.get(machine.generation()));
  }

  private void carryOut(RingCommand command) {
    switch (command) {
      case RingCommand.Create create -> controls.put(create.generation(), new ModelControl(create));
      case RingCommand.Allocate allocate -> allocate(allocate);
      case RingCommand.Open open -> {
        assertTrue(fetches.isEmpty(), "opened while a request is unfinished");
        there(controls.get(open.generation())).state = ControlDescriptor.STATE_OPEN;
        if (bug == RingBug.DROPS_CONTROLS_AT_ONCE) {
          controls.values().stream()
              .filter(control -> control.create.generation() < open.generation())
              .forEach(control -> control.dropped = true);
        }
      }
      case RingCommand.Publish publish -> {
        ModelControl control = newest();
        assertEquals(ControlDescriptor.STATE_OPEN, control.state);
        StepRegion region = control.region(publish.n());
        if (publish.kind() == ControlDescriptor.KIND_READY) {
          checkBytes(region, tag(region.step(), control.create.coordinates().size()));
        }
        control.publish(publish.n(), publish.kind());
      }
      case RingCommand.Close close -> {
        there(controls.get(close.generation())).close(close.reason());
        closes++;
        olderSteps += close.reason() == CloseReason.OLDER_STEP ? 1 : 0;
        machine.onClosed(reader -> closedView(there(files.get(reader))), nowNs);
      }
      case RingCommand.Fetch fetch -> startFetch(fetch);
      case RingCommand.Cancel cancel -> {
        Fetching fetching = fetches.get(cancel.fetchId());
        if (fetching != null) {
          fetching.cancelled().set(true);
          if (bug == RingBug.CANCELLED_IS_FINISHED) {
            machine.onFetchFinished(cancel.fetchId(), FetchOutcome.CANCELLED, null, "");
          }
        }
      }
      case RingCommand.Welcome welcome -> {
        ModelReader file = there(files.get(welcome.reader()));
        assertEquals(ControlDescriptor.STATE_OPEN, newest().state);
        file.expected = welcome.generation();
        if (file.rank.file == file) {
          file.rank.welcome = welcome;
        }
      }
      case RingCommand.Refuse refuse -> refused(there(files.get(refuse.reader())), refuse);
      case RingCommand.DropReader drop -> assertTrue(!there(files.get(drop.reader())).locked);
      case RingCommand.DropControl drop -> dropControl(drop.generation());
    }
  }

  private void allocate(RingCommand.Allocate allocate) {
    ModelControl control = newest();
    long n = allocate.n();
    for (ModelReader file : files.values()) {
      boolean live = file.locked && file.attachedTo == machine.generation();
      assertTrue(
          !live
              || n - settings.descriptorCount() < file.firstN
              || file.acked.contains(n - settings.descriptorCount()),
          "slot rewritten before every reader released it");
    }
    control.allocate(n, allocate.region(), settings.descriptorCount());
    if (control.state == ControlDescriptor.STATE_OPEN) { // else it keeps its place and its bytes
      int from = (int) (allocate.region().offset() / PAGE);
      Arrays.fill(memory, from, from + (int) (allocate.region().lengthBytes() / PAGE), NO_TAG);
    }
  }

  private void startFetch(RingCommand.Fetch fetch) {
    StepRegion region = fetch.region();
    assertTrue(region.offset() % PAGE == 0 && region.lengthBytes() % PAGE == 0);
    assertTrue(region.offset() + region.lengthBytes() <= settings.ringLengthBytes());
    for (Fetching other : fetches.values()) {
      assertTrue(!overlaps(region, other.fetch().region()), "two fetches write to one place");
    }
    checkNobodyHolds(region);
    int tag = tag(region.step(), newest().create.coordinates().size());
    fetches.put(fetch.fetchId(), new Fetching(fetch, tag, new AtomicBoolean()));
  }

  private static boolean overlaps(StepRegion a, StepRegion b) {
    return a.offset() < b.offset() + b.lengthBytes() && b.offset() < a.offset() + a.lengthBytes();
  }

  /** No live lease overlaps, except the same step in the same place. */
  private void checkNobodyHolds(StepRegion region) {
    for (ModelReader file : files.values()) {
      if (file.locked) {
        for (StepRegion held : file.held.values()) {
          boolean same = held.step() == region.step() && held.offset() == region.offset();
          assertTrue(same || !overlaps(held, region), "a lease lies where a step is written");
        }
      }
    }
  }

  private void refused(ModelReader file, RingCommand.Refuse refuse) {
    ModelRank rank = file.rank;
    if (rank.file == file && !rank.attached) { // else nobody listens any more
      assertTrue(
          refuse.refusal() == RingRefusal.RING_HELD || refuse.refusal() == RingRefusal.NO_RING,
          () -> "unexpected refusal " + refuse);
      file.locked = false;
      rank.file = null;
      rank.said = false;
      rank.refusals++;
    }
  }

  private void dropControl(long generation) {
    ModelControl control = controls.get(generation);
    if (control != null) {
      control.dropped = true;
      for (ModelReader file : files.values()) {
        assertTrue(
            !file.locked || file.attachedTo != generation || file.held.isEmpty(),
            "a control file that describes a lease was dropped");
      }
    }
  }

  void offer() {
    long step = machine.wantedStep();
    if (down || step < 0) {
      return;
    }
    if (step >= shape.endStep()) {
      machine.onEndOfStream(step);
    } else {
      long after = step % 7 == 3 ? step + 2 : step + 1; // some steps are skipped
      machine.onStep(step, after, regionBytes(step, machine.coordinates().size()));
    }
    drain();
  }

  /** Some bytes arrive, or a fetch ends. */
  void fetchMore(boolean finish) {
    if (fetches.isEmpty()) {
      return;
    }
    List<Fetching> all = List.copyOf(fetches.values());
    Fetching chosen = all.get((int) below(all.size()));
    StepRegion region = chosen.fetch().region();
    int from = (int) (region.offset() / PAGE);
    int pages = (int) (region.lengthBytes() / PAGE);
    boolean verify =
        chosen.fetch().mode() == FetchMode.VERIFY_FIRST
            && (isThere(chosen) || bug == RingBug.TRUSTS_KEPT_BYTES);
    if (!verify) {
      checkNobodyHolds(region);
      memory[from + (int) choices.anyOf(pages)] = chosen.tag(); // a late part, cancelled or not
    }
    if (!finish) {
      return;
    }
    fetches.remove(chosen.fetch().fetchId());
    if (chosen.cancelled().get()) {
      machine.onFetchFinished(chosen.fetch().fetchId(), FetchOutcome.CANCELLED, null, "");
    } else if (!verify && choices.happens(Whim.FAILURE)) {
      machine.onFetchFinished(
          chosen.fetch().fetchId(), FetchOutcome.FAILED, FailReason.MISSING, "gone");
    } else {
      if (!verify) {
        Arrays.fill(memory, from, from + pages, chosen.tag());
      }
      machine.onFetchFinished(chosen.fetch().fetchId(), FetchOutcome.COMPLETE, null, "");
    }
    drain();
  }

  private boolean isThere(Fetching fetching) {
    StepRegion region = fetching.fetch().region();
    boolean there = true;
    for (long page = 0; page < region.lengthBytes() / PAGE; page++) {
      there &= memory[(int) (region.offset() / PAGE + page)] == fetching.tag();
    }
    return there;
  }

  void look(boolean everybody) {
    if (down) {
      return;
    }
    List<Id128> readers = machine.readers();
    for (Id128 reader : readers) {
      if (!down && (everybody || choices.happens(Whim.LOOK))) {
        ModelReader file = there(files.get(reader));
        if (file.locked) {
          machine.onReader(reader, view(file));
        } else if (bug != RingBug.IGNORES_LOCKS) {
          machine.onReaderGone(reader, nowNs);
        }
        drain();
      }
    }
    machine.onTime(nowNs);
    drain();
    if (!down && choices.happens(Whim.STATUS)) {
      publishStatus();
    }
  }

  /** Says how the ring stands, in the newest control file. */
  private void publishStatus() {
    ModelControl control = controls.get(machine.generation());
    if (control != null) {
      control.status = machine.status("");
    }
  }

  // ---- the ranks

  void hello(ModelRank rank) {
    ModelReader file = rank.file;
    if (file == null) {
      file = new ModelReader(new Id128(1, nextId++), rank, rank.previous);
      files.put(file.id, file);
      rank.file = file;
    }
    if (down) {
      return; // its attempts go unanswered
    }
    rank.said = true;
    Set<Coordinate> union = new HashSet<>(machine.coordinates());
    union.add(new Coordinate(rank.index, 0));
    ReaderHello hello =
        new ReaderHello(
            file.id,
            rank.previous,
            rank.session,
            List.of(new Coordinate(rank.index, 0)),
            rank.nextStep,
            shape.ranks(),
            regionBytes(rank.nextStep, union.size()));
    machine.onHello(hello, nowNs);
    drain();
  }

  /** One store, load or message of a rank. */
  void step(ModelRank rank) {
    if (!rank.alive || rank.finished) {
      return;
    }
    dropFormer(rank);
    ModelReader file = rank.file;
    RingCommand.Welcome welcome = rank.welcome;
    if (file == null || (!rank.attached && welcome == null)) {
      if (!rank.said || choices.happens(Whim.REPEAT)) {
        hello(rank);
      }
    } else if (!rank.attached && welcome != null) {
      file.attachedTo = welcome.generation();
      file.firstN = welcome.firstN();
      file.taken = welcome.firstN();
      rank.attached = true;
      rank.welcome = null;
      assertEquals(rank.nextStep, welcome.firstStep(), "served from another step");
      ModelControl control = there(controls.get(file.attachedTo));
      if (control.state == ControlDescriptor.STATE_CLOSED
          && bug != RingBug.ATTACHES_TO_WHAT_IS_CLOSED) {
        reattach(rank, file, control); // with all its files
      }
    } else if (rank.taking) {
      finishTake(rank, file);
    } else if ((file.taken - lowestHeld(file) >= shape.hold() + 1 && !choices.happens(Whim.KEEP))
        || (!file.held.isEmpty() && choices.happens(Whim.RELEASE))) {
      releaseOne(file);
    } else {
      beginTake(rank, file);
    }
  }

  /** Whether nothing else than a message or a store of another lets this rank go on. */
  boolean isWaiting(ModelRank rank) {
    ModelReader file = rank.file;
    if (file == null || !rank.former.isEmpty() || rank.taking) {
      return false;
    }
    if (!rank.attached) {
      return rank.welcome == null && (rank.said || down);
    }
    ModelControl control = there(controls.get(file.attachedTo));
    return file.taken - lowestHeld(file) <= shape.hold()
        && control.kind(file.taken) == null
        && control.state == ControlDescriptor.STATE_OPEN;
  }

  private static long lowestHeld(ModelReader file) {
    return file.held.isEmpty() ? file.taken : file.held.keySet().iterator().next();
  }

  private void beginTake(ModelRank rank, ModelReader file) {
    ModelControl control = there(controls.get(file.attachedTo));
    long n = file.taken;
    Integer kind = control.kinds.get(n);
    if (kind != null) {
      assertEquals(n, control.slots.get((int) (n % settings.descriptorCount())));
      file.taken = n + 1;
      rank.taking = true;
    } else if (control.state == ControlDescriptor.STATE_CLOSED) {
      reattach(rank, file, control);
    } else if (control.status.isHeldBy(
        file.id, rank.nextStep, n - lowestHeld(file), shape.hold())) {
      checkHeld(file, control.status.usedBytes());
      helds++;
      releaseOne(file); // as its caller was told to
    }
  }

  /**
   * What a rank is told is so once the daemon has seen all that the rank did. What others released
   * meanwhile it cannot know.
   */
  private void checkHeld(ModelReader file, long usedBytes) {
    if (!down && machine.status("").usedBytes() == usedBytes) {
      RingWorld seen = copy();
      seen.limit(Long.MAX_VALUE);
      seen.machine.onReader(file.id, file);
      seen.drain();
      seen.offer();
      assertTrue(seen.machine.status("").blockedBytes() > 0, "told of what is not in the way");
    }
  }

  private void finishTake(ModelRank rank, ModelReader file) {
    ModelControl control = there(controls.get(file.attachedTo));
    rank.taking = false;
    long n = file.taken - 1;
    if (control.state == ControlDescriptor.STATE_CLOSED && bug != RingBug.DOES_NOT_BACK_OUT) {
      file.taken = n;
      reattach(rank, file, control);
      return;
    }
    int kind = there(control.kinds.get(n));
    if (kind == ControlDescriptor.KIND_READY) {
      StepRegion region = control.region(n);
      assertEquals(rank.nextStep, region.step(), "a step was skipped or doubled");
      assertTrue(region.step() > rank.lastStep, "a step was doubled");
      rank.lastStep = region.step();
      assertTrue(
          control.create.coordinates().contains(new Coordinate(rank.index, 0)), "not its slice");
      checkBytes(region, tag(region.step(), control.create.coordinates().size()));
      file.held.put(n, region);
      rank.nextStep = region.nextStep();
      takes++;
    } else {
      file.taken = n;
      if (kind == ControlDescriptor.KIND_END) {
        assertTrue(rank.nextStep >= shape.endStep());
        exit(rank);
      } else {
        reattach(rank, file, control); // asks for another try
      }
    }
  }

  private void reattach(ModelRank rank, ModelReader file, ModelControl control) {
    if (control.reason == CloseReason.NEW_SESSION && !rank.session.equals(newestSession())) {
      exit(rank);
      return;
    }
    if (bug == RingBug.ASKS_FOR_ITS_LAST_STEP && !file.held.isEmpty()) {
      rank.nextStep = file.held.values().iterator().next().step();
    }
    rank.former.add(file);
    rank.previous = file.id;
    rank.file = null;
    rank.attached = false;
    rank.said = false;
    rank.welcome = null;
  }

  /** A rank attaches anew although nothing was closed: its client was made again. */
  void attachAnew(ModelRank rank) {
    ModelReader file = rank.file;
    if (rank.alive && rank.attached && !rank.taking && file != null) {
      reattach(rank, file, there(controls.get(file.attachedTo)));
    }
  }

  SessionKey newestSession() {
    return session(sessions);
  }

  private void exit(ModelRank rank) {
    rank.finished = true;
    kill(rank);
  }

  private void releaseOne(ModelReader file) {
    if (file.held.isEmpty()) {
      return;
    }
    List<Long> held = List.copyOf(file.held.keySet());
    long n =
        held.size() > 1 && choices.happens(Whim.OUT_OF_ORDER)
            ? held.get((int) below(held.size()))
            : held.getFirst();
    StepRegion region = there(file.held.get(n));
    ModelControl control = there(controls.get(file.attachedTo));
    checkBytes(region, tag(region.step(), control.create.coordinates().size()));
    file.held.remove(n);
    file.acked.add(n);
  }

  /** Releases the oldest steps until it may ask for the next one. */
  void keepNoMoreThanAllowed(ModelRank rank) {
    List<ModelReader> all = new ArrayList<>(rank.former);
    if (rank.file != null) {
      all.add(rank.file);
    }
    int kept = all.stream().mapToInt(file -> file.held.size()).sum();
    for (ModelReader file : all) {
      while (kept > shape.hold() && !file.held.isEmpty()) {
        releaseOne(file);
        kept--;
      }
    }
  }

  /** Old leases are released at any time; an old file without one goes once attached anew. */
  private void dropFormer(ModelRank rank) {
    if (bug == RingBug.NEVER_RELEASES_OLD_LEASES) {
      return;
    }
    for (ModelReader file : List.copyOf(rank.former)) {
      boolean newerHolds = rank.file != null && !rank.file.held.isEmpty();
      if (!file.held.isEmpty() && (newerHolds || choices.happens(Whim.RELEASE_OLD))) {
        releaseOne(file);
      }
      if (file.held.isEmpty() && rank.attached) {
        file.locked = false;
        rank.former.remove(file);
      }
    }
  }

  void kill(ModelRank rank) {
    rank.alive = false;
    ModelReader file = rank.file;
    if (file != null) {
      file.locked = false;
    }
    for (ModelReader old : rank.former) {
      old.locked = false;
    }
    rank.former.clear();
    rank.file = null;
  }

  /** The next process of a rank: goes on where it was, or at an older checkpoint. */
  void restart(ModelRank rank, long fromStep) {
    kill(rank);
    rank.alive = true;
    rank.finished = false;
    rank.nextStep = fromStep;
    rank.lastStep = -1;
    rank.previous = Id128.NONE;
    rank.attached = false;
    rank.said = false;
    rank.taking = false;
    rank.welcome = null;
  }

  private void checkBytes(StepRegion region, int tag) {
    for (long page = region.offset() / PAGE;
        page < (region.offset() + region.lengthBytes()) / PAGE;
        page++) {
      assertEquals(tag, memory[(int) page], () -> "foreign bytes in step " + region);
    }
  }
}
