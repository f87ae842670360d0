package io.batchweave.bridge.ring;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A hash of all that decides what can happen in a {@link RingWorld} from here on. Two worlds are
 * one when they differ in nothing else than:
 *
 * <ul>
 *   <li>names: a rank's reader files are numbered from the oldest that somebody still knows,
 *       generations in their order, fetches have none; a real reader file's name is random
 *   <li>how many reader files without lock and lease there are that are no member's: the daemon's
 *       next look forgets them, which makes room for nobody. Counted, a rank that is refused again
 *       and again would never come to a world that was there before
 *   <li>what nobody looks at any more: control files that are dropped and read by no rank, the
 *       bytes of regions that nobody describes or holds (whoever is given them writes them all
 *       before anything reads them), what a dead rank thought
 * </ul>
 *
 * <p>Unless it is exact, it leaves out more, for the reason given there:
 *
 * <ul>
 *   <li>which rank is which: all do the same, so the lower of the hashes under each order counts
 *   <li>whether there is such a reader file at all
 *   <li>of closed control files that nobody reads or was told to read, all: no rank can attach any
 *       more, and whether the daemon dropped them yet makes no difference to the next one. The
 *       newest counts while another is read: the next daemon begins there
 *   <li>of other closed control files, the steps beyond what its readers hold or ask for next, and
 *       whether a step was published, but for the one that a reader would take: it backs out
 *   <li>which bytes are wrong: they are only ever compared with the right ones
 *   <li>where a rank began in a generation, once it is attached: what it took and did not release
 *       says the rest
 *   <li>whether an attached rank has said Hello: not before it attaches anew
 *   <li>fields of the machine that its state makes meaningless ({@link StateHash#addWhere}), and
 *       the blocked bytes, which only say how the ring stands
 * </ul>
 *
 * <p>That this hides nothing is checked by {@link Exploration#compare}.
 */
final class WorldHash extends StateHash {
  /** Names of a rank's files: more than it ever has. */
  private static final long FILES = 1_000;

  private final RingWorld world;

  /** Whether fields that decide nothing count too. */
  private final boolean isExact;

  /** By number of the rank: its place. */
  private final int[] places;

  /** Those known, by place of their ranks, each rank's in the order in which they were made. */
  private final List<ModelReader> files;

  /** Their names. */
  private final long[] names;

  /** Control files that are known. */
  private final List<ModelControl> controls;

  /** What the next daemon takes for the newest. */
  private final @Nullable ModelControl newest;

  /** Numbers of those known, ascending. */
  private final List<Long> generations;

  private WorldHash(
      RingWorld world,
      boolean isExact,
      int[] places,
      List<ModelReader> known,
      List<ModelControl> controls,
      List<Long> generations) {
    this.world = world;
    this.isExact = isExact;
    this.places = places;
    this.controls = controls;
    this.newest = newest(world);
    this.generations = generations;
    this.files = new ArrayList<>(known.size());
    this.names = new long[known.size()];
    for (int place = 0; place < places.length; place++) {
      int count = 0;
      for (ModelReader file : known) {
        if (places[file.rank.number] == place) {
          names[files.size()] = place * FILES + ++count;
          files.add(file);
        }
      }
    }
  }

  static long of(RingWorld world, boolean isExact) {
    List<ModelReader> known = knownFiles(world, isExact);
    List<ModelControl> controls = knownControls(world, isExact);
    List<Long> generations = generations(world, controls);
    long lowest = Long.MAX_VALUE;
    for (int[] places : isExact ? List.of(sameOrder(world)) : orders(world)) {
      WorldHash hash = new WorldHash(world, isExact, places, known, controls, generations);
      hash.addWorld();
      lowest = Math.min(lowest, hash.value());
    }
    return lowest;
  }

  /**
   * Ranks of one launch may change places; with more than two, or launches, nobody does. Where what
   * they think tells the two apart, one order is enough.
   */
  private static List<int[]> orders(RingWorld world) {
    int[] same = sameOrder(world);
    if (same.length != 2 || world.sessions > 1) {
      return List.of(same);
    }
    int[] exchanged = {1, 0};
    int order = Long.compare(ownState(world.ranks.getFirst()), ownState(world.ranks.getLast()));
    return order < 0 ? List.of(same) : order > 0 ? List.of(exchanged) : List.of(same, exchanged);
  }

  private static int[] sameOrder(RingWorld world) {
    int[] same = new int[world.ranks.size()];
    Arrays.setAll(same, number -> number);
    return same;
  }

  /** Of a rank, what is the same whatever its place, and counts anyway. */
  private static long ownState(ModelRank rank) {
    long flags = (rank.alive ? 1 : 0) | (rank.finished ? 2 : 0);
    if (rank.finished) {
      return flags;
    }
    if (rank.alive) {
      flags |= (rank.attached ? 4 : 0) | (rank.taking ? 8 : 0) | (rank.welcome == null ? 0 : 16);
      flags |= (rank.file == null ? 0 : 32);
    }
    ModelReader file = rank.file;
    return flags | rank.nextStep << 8 | (file == null ? 0 : file.taken << 24);
  }

  /** Files that a rank, the daemon or the next one can still tell apart from none. */
  private static List<ModelReader> knownFiles(RingWorld world, boolean isExact) {
    List<ModelReader> known = new ArrayList<>(world.files.size());
    List<Id128> read = world.down ? List.of() : world.machine.lastingReaders();
    List<Id128> forgotten = world.down || !isExact ? List.of() : world.machine.readers();
    boolean isAnyForgotten = false;
    Map<Id128, Id128> unsettled = world.down ? Map.of() : world.machine.unsettled();
    for (ModelReader file : world.files.values()) {
      if (file.locked
          || read.contains(file.id)
          || unsettled.containsKey(file.id)
          || unsettled.containsValue(file.id)) {
        known.add(file);
      } else if (!isAnyForgotten && forgotten.contains(file.id)) {
        isAnyForgotten = true;
        known.add(file);
      }
    }
    return known;
  }

  private static boolean isRead(RingWorld world, long generation) {
    for (ModelReader file : world.files.values()) {
      if (file.locked && file.attachedTo == generation) {
        return true;
      }
    }
    return false;
  }

  private static boolean isKnown(RingWorld world, ModelControl control, boolean isExact) {
    if (world.down && control.state == ControlDescriptor.STATE_NEW) {
      return false;
    }
    long number = control.create.generation();
    if (isRead(world, number) || isWelcome(world, number)) {
      return true;
    }
    return isExact
        ? !control.dropped
        : control.state != ControlDescriptor.STATE_CLOSED
            || (control == newest(world) && isAnyFound(world));
  }

  /** Whether a rank is still to attach there. */
  private static boolean isWelcome(RingWorld world, long generation) {
    for (ModelRank rank : world.ranks) {
      if (rank.alive && rank.welcome != null && rank.welcome.generation() == generation) {
        return true;
      }
    }
    return false;
  }

  /** What the next daemon takes for the newest. */
  private static @Nullable ModelControl newest(RingWorld world) {
    ModelControl newest = null;
    for (ModelControl control : world.controls.values()) {
      if (!control.dropped && control.state != ControlDescriptor.STATE_NEW) {
        newest = control;
      }
    }
    return newest;
  }

  /** Whether the next daemon takes over at all, or may once a rank has attached. */
  private static boolean isAnyFound(RingWorld world) {
    for (ModelControl control : world.controls.values()) {
      long number = control.create.generation();
      if (!control.dropped && (isRead(world, number) || isWelcome(world, number))) {
        return true;
      }
    }
    return false;
  }

  private static List<ModelControl> knownControls(RingWorld world, boolean isExact) {
    List<ModelControl> known = new ArrayList<>(world.controls.size());
    for (ModelControl control : world.controls.values()) {
      if (isKnown(world, control, isExact)) {
        known.add(control);
      }
    }
    return known;
  }

  private static List<Long> generations(RingWorld world, List<ModelControl> controls) {
    List<Long> numbers = new ArrayList<>();
    for (ModelControl control : controls) {
      addOnce(numbers, control.create.generation());
    }
    if (!world.down) {
      addOnce(numbers, world.machine.generation());
    }
    for (ModelReader file : world.files.values()) {
      if (file.locked) {
        addOnce(numbers, file.attachedTo);
      }
    }
    Collections.sort(numbers);
    return numbers;
  }

  private static void addOnce(List<Long> numbers, Long number) {
    if (!numbers.contains(number)) {
      numbers.add(number);
    }
  }

  @Override
  StateHash reader(Id128 reader) {
    return add(name(reader));
  }

  private long name(Id128 reader) {
    for (int i = 0; i < names.length; i++) {
      if (files.get(i).id.equals(reader)) {
        return names[i];
      }
    }
    return 0;
  }

  @Override
  StateHash addWhere(boolean counts, long field) {
    return add(isExact || counts ? field : 0);
  }

  @Override
  StateHash beginning(RingMember member) {
    ModelReader file = Objects.requireNonNull(world.files.get(member.reader));
    boolean isWelcome = member.stage == RingMember.Stage.WELCOMED;
    boolean isThere = isWelcome && file.isAttached();
    if (isThere && !file.locked) {
      addTaken(file); // its rank died, which is looked at when the generation is closed
    }
    add(isThere ? 1 : 0).addWhere(isWelcome && !isThere, member.firstN);
    return addWhere(!isThere, member.nextStep);
  }

  @Override
  StateHash olderControls(Collection<Long> numbers) {
    return isExact ? super.olderControls(numbers) : this;
  }

  @Override
  StateHash fetches(Collection<Long> fetchIds) {
    return isExact ? super.fetches(fetchIds) : this;
  }

  @Override
  StateHash readers(Collection<Id128> readers) {
    long[] sorted = new long[readers.size()];
    int count = 0;
    for (Id128 reader : readers) {
      sorted[count++] = name(reader);
    }
    return addSorted(sorted, count);
  }

  @Override
  StateHash holders(Collection<Id128> readers) {
    long[] sorted = new long[readers.size()];
    int count = 0;
    for (Id128 reader : readers) {
      long name = name(reader);
      if (name != 0) {
        sorted[count++] = name;
      }
    }
    return addSorted(sorted, count);
  }

  @Override
  StateHash leases(List<RegionRing.Lease> leases) {
    long[] sorted = new long[leases.size()];
    int count = 0;
    for (RegionRing.Lease lease : leases) {
      sorted[count++] =
          new StateHash()
              .add(name(lease.reader()))
              .add(generations.indexOf(lease.generation()))
              .add(lease.n())
              .add(lease.offset())
              .value();
    }
    return addSorted(sorted, count);
  }

  private StateHash addSorted(long[] fields, int count) {
    Arrays.sort(fields, 0, count);
    add(count);
    for (int i = 0; i < count; i++) {
      add(fields[i]);
    }
    return this;
  }

  @Override
  StateHash generation(long number) {
    return add(1 + generations.indexOf(number)).add(number == 0 ? 1 : 0);
  }

  @Override
  StateHash coordinates(List<Coordinate> coordinates) {
    long[] sorted = new long[coordinates.size()];
    int count = 0;
    for (Coordinate coordinate : coordinates) {
      sorted[count++] = places[coordinate.dp()];
    }
    return addSorted(sorted, count);
  }

  @Override
  StateHash fetch(long fetchId) {
    RingWorld.Fetching fetching = world.fetches.get(fetchId);
    return add(fetching == null ? -1 : fetching.fetch().region().offset());
  }

  private void addWorld() {
    add(world.down ? 1 : 0);
    if (!world.down) {
      world.machine.hash(this);
    }
    controls.forEach(this::addControl);
    files.forEach(this::addFile);
    for (int place = 0; place < places.length; place++) {
      for (ModelRank rank : world.ranks) {
        if (places[rank.number] == place) {
          addRank(rank);
        }
      }
    }
    List<RingWorld.Fetching> fetches = new ArrayList<>(world.fetches.values());
    fetches.sort(Comparator.comparingLong(fetching -> fetching.fetch().region().offset()));
    fetches.forEach(this::addFetch);
    addMemory();
  }

  private void addControl(ModelControl control) {
    generation(control.create.generation()).add(control.state).add(control.dropped ? 1 : 0);
    add(control.reason == CloseReason.NEW_SESSION ? 1 : 0);
    boolean isClosed = control.state == ControlDescriptor.STATE_CLOSED;
    boolean isWhole = isExact || !isClosed || control == newest;
    if (isWhole) {
      add(control.create.firstStep()).coordinates(control.create.coordinates());
      addSlots(control, Long.MIN_VALUE, Long.MAX_VALUE);
    } else {
      LongSummaryStatistics taken = askedFor(control);
      addWhere(taken.getMin() <= 0, control.create.firstStep());
      addSlots(control, taken.getMin() - 1, taken.getMax());
    }
    if (isExact || !isClosed) {
      add(control.kinds.size());
      control.kinds.forEach((n, kind) -> add(n).add(kind));
    }
  }

  /** The steps of a closed generation that somebody holds or may still ask for. */
  private LongSummaryStatistics askedFor(ModelControl control) {
    LongSummaryStatistics asked = new LongSummaryStatistics();
    long number = control.create.generation();
    for (ModelReader file : world.files.values()) {
      if (file.locked && file.attachedTo == number) {
        asked.accept(Math.min(lowestHeld(file), file.taken - 1));
        asked.accept(file.taken + (mayTake(file, control) ? 1 : 0));
      }
    }
    for (ModelRank rank : world.ranks) {
      RingCommand.Welcome welcome = rank.welcome;
      if (rank.alive && welcome != null && welcome.generation() == number) {
        asked.accept(welcome.firstN() - 1);
        asked.accept(welcome.firstN() + (control.kinds.containsKey(welcome.firstN()) ? 1 : 0));
      }
    }
    return asked;
  }

  private static boolean mayTake(ModelReader file, ModelControl control) {
    return file.rank.file == file && !file.rank.taking && control.kinds.containsKey(file.taken);
  }

  private static long lowestHeld(ModelReader file) {
    return file.held.isEmpty() ? file.taken : file.held.keySet().iterator().next();
  }

  private void addSlots(ModelControl control, long from, long to) {
    for (long n : control.slots.values()) {
      if (n >= from && n <= to) {
        StepRegion region = control.region(n);
        add(n).add(region.step()).add(region.offset()).add(region.lengthBytes());
      }
    }
    add(Long.MIN_VALUE);
  }

  private void addFile(ModelReader file) {
    reader(file.id).add(file.locked ? 1 : 0);
    if (file.locked) {
      reader(file.previous).generation(world.down ? 0 : file.expected);
      generation(file.attachedTo);
      addTaken(file);
      addWhere(false, file.firstN); // what lies between there and the next is held or acked
      ModelControl control = world.controls.get(file.attachedTo);
      add(control != null && mayTake(file, control) ? 1 : 0);
    }
  }

  /** What it took and did not release; whether it is about to back out the rank tells. */
  private void addTaken(ModelReader file) {
    add(file.taken);
    for (long n = file.firstN; n < file.taken; n++) {
      if (!file.acked.contains(n)) {
        add(n);
      }
    }
    add(Long.MIN_VALUE);
  }

  private void addRank(ModelRank rank) {
    add(rank.alive ? 1 : 0).add(rank.finished ? 1 : 0);
    if (rank.finished) {
      return;
    }
    add(rank.nextStep);
    if (rank.alive) {
      RingCommand.Welcome welcome = rank.welcome;
      add(rank.attached ? 1 : 0).add(rank.taking ? 1 : 0).add(welcome == null ? 0 : 1);
      addWhere(!rank.attached && welcome == null, rank.said ? 1 : 0);
      add(rank.file == null ? 0 : name(rank.file.id));
      addWhere(rank.file == null, name(rank.previous));
      List<Id128> former = new ArrayList<>(rank.former.size());
      rank.former.forEach(file -> former.add(file.id));
      readers(former);
      if (welcome != null) {
        generation(welcome.generation()).add(welcome.firstN()).add(welcome.firstStep());
        ModelControl control = world.controls.get(welcome.generation());
        add(control != null && control.kinds.containsKey(welcome.firstN()) ? 1 : 0);
      }
    }
  }

  private void addFetch(RingWorld.Fetching fetching) {
    add(fetching.fetch().region().offset()).add(fetching.tag());
    add(fetching.fetch().mode() == FetchMode.FRESH ? 1 : 0).add(fetching.cancelled().get() ? 1 : 0);
    addBytes(fetching.fetch().region(), fetching.tag());
  }

  /** Whether the bytes of regions are right that a descriptor of the newest or a rank names. */
  private void addMemory() {
    ModelControl described = newest;
    if (described != null && controls.contains(described)) {
      for (long n : described.slots.values()) {
        addBytes(described, described.region(n));
      }
    }
    for (ModelReader file : files) {
      ModelControl control = world.controls.get(file.attachedTo);
      if (file.locked && control != null) {
        for (StepRegion region : file.held.values()) {
          addBytes(control, region);
        }
      }
    }
  }

  private void addBytes(ModelControl control, StepRegion region) {
    addBytes(region, RingWorld.tag(region.step(), control.create.coordinates().size()));
  }

  private void addBytes(StepRegion region, int tag) {
    int from = (int) (region.offset() / RingWorld.PAGE);
    int to = (int) ((region.offset() + region.lengthBytes()) / RingWorld.PAGE);
    for (int page = from; page < to; page++) {
      add(isExact ? world.memory[page] : world.memory[page] == tag ? 1 : 0);
    }
  }
}
