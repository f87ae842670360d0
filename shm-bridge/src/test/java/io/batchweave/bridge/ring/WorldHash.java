package io.batchweave.bridge.ring;

import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * A hash of all that decides what can happen in a {@link RingWorld} from here on. Two worlds are
 * one when they differ in nothing else than:
 *
 * <ul>
 *   <li>names: a rank's reader files are numbered from the oldest that somebody still knows,
 *       generations in their order, fetches have none; a real reader file's name is random
 *   <li>which rank is which: all do the same, so the lower of the hashes under each order counts
 *   <li>what nobody looks at any more: control files that are dropped and read by no rank, the
 *       bytes of regions that nobody describes or holds (whoever is given them writes them all
 *       before anything reads them), what a dead rank thought
 * </ul>
 *
 * <p>Unless it is exact, it leaves out more, for the reason given there:
 *
 * <ul>
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
  private final RingWorld world;

  /** Whether fields that decide nothing count too. */
  private final boolean isExact;

  /** By number of the rank: its place. */
  private final int[] places;

  private final Map<Id128, Long> readers;
  private final SortedSet<Long> generations;

  private WorldHash(
      RingWorld world,
      boolean isExact,
      int[] places,
      Map<Id128, Long> readers,
      SortedSet<Long> generations) {
    this.world = world;
    this.isExact = isExact;
    this.places = places;
    this.readers = readers;
    this.generations = generations;
  }

  static long of(RingWorld world, boolean isExact) {
    SortedSet<Long> generations = generations(world, isExact);
    List<ModelReader> files = knownFiles(world);
    long lowest = Long.MAX_VALUE;
    for (int[] places : orders(world)) {
      WorldHash hash = new WorldHash(world, isExact, places, names(files, places), generations);
      hash.addWorld(files);
      lowest = Math.min(lowest, hash.value());
    }
    return lowest;
  }

  /** Ranks of one launch may change places; with more than two, or launches, nobody does. */
  private static List<int[]> orders(RingWorld world) {
    int count = world.ranks.size();
    int[] same = new int[count];
    Arrays.setAll(same, number -> number);
    return count == 2 && world.sessions == 1 ? List.of(same, new int[] {1, 0}) : List.of(same);
  }

  /** Files that a rank, the daemon or the next one can still tell apart from none. */
  private static List<ModelReader> knownFiles(RingWorld world) {
    Set<Id128> known = new HashSet<>();
    if (!world.down) {
      known.addAll(world.machine.readers());
      known.addAll(world.machine.unsettled().keySet());
      known.addAll(world.machine.unsettled().values());
    }
    return world.files.values().stream()
        .filter(file -> file.locked || known.contains(file.id))
        .toList();
  }

  private static Map<Id128, Long> names(List<ModelReader> files, int[] places) {
    Map<Id128, Long> names = new HashMap<>();
    int[] counts = new int[places.length];
    for (ModelReader file : files) {
      int rank = file.rank.number;
      names.put(file.id, places[rank] * 1_000L + ++counts[rank]);
    }
    return names;
  }

  private static boolean isRead(RingWorld world, long generation) {
    return world.files.values().stream()
        .anyMatch(file -> file.locked && file.attachedTo == generation);
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
    return world.ranks.stream()
        .anyMatch(
            rank -> rank.alive && rank.welcome != null && rank.welcome.generation() == generation);
  }

  /** What the next daemon takes for the newest. */
  private static @Nullable ModelControl newest(RingWorld world) {
    return world.controls.values().stream()
        .filter(control -> !control.dropped && control.state != ControlDescriptor.STATE_NEW)
        .reduce((first, second) -> second)
        .orElse(null);
  }

  /** Whether the next daemon takes over at all, or may once a rank has attached. */
  private static boolean isAnyFound(RingWorld world) {
    return world.controls.values().stream()
        .filter(control -> !control.dropped)
        .mapToLong(control -> control.create.generation())
        .anyMatch(number -> isRead(world, number) || isWelcome(world, number));
  }

  private static SortedSet<Long> generations(RingWorld world, boolean isExact) {
    SortedSet<Long> numbers = new TreeSet<>();
    world.controls.forEach((number, control) -> {
      if (isKnown(world, control, isExact)) {
        numbers.add(number);
      }
    });
    if (!world.down) {
      numbers.add(world.machine.generation());
    }
    for (ModelReader file : world.files.values()) {
      if (file.locked) {
        numbers.add(file.attachedTo);
      }
    }
    return numbers;
  }

  @Override
  StateHash reader(Id128 reader) {
    return add(name(reader));
  }

  private long name(Id128 reader) {
    return readers.getOrDefault(reader, 0L);
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
  StateHash readers(Collection<Id128> names) {
    add(names.size());
    names.stream().mapToLong(this::name).sorted().forEach(this::add);
    return this;
  }

  @Override
  StateHash generation(long number) {
    return add(generations.contains(number) ? 1 + generations.headSet(number).size() : 0)
        .add(number == 0 ? 1 : 0);
  }

  @Override
  StateHash coordinates(List<Coordinate> coordinates) {
    add(coordinates.size());
    coordinates.stream().mapToLong(place -> places[place.dp()]).sorted().forEach(this::add);
    return this;
  }

  @Override
  StateHash fetch(long fetchId) {
    RingWorld.Fetching fetching = world.fetches.get(fetchId);
    return add(fetching == null ? -1 : fetching.fetch().region().offset());
  }

  private void addWorld(List<ModelReader> files) {
    add(world.down ? 1 : 0);
    if (!world.down) {
      world.machine.hash(this);
    }
    world.controls.values().stream()
        .filter(control -> isKnown(world, control, isExact))
        .forEach(this::addControl);
    files.stream()
        .sorted(Comparator.comparingLong(file -> name(file.id)))
        .forEach(file -> addFile(file));
    world.ranks.stream()
        .sorted(Comparator.comparingInt(rank -> places[rank.number]))
        .forEach(this::addRank);
    world.fetches.values().stream()
        .sorted(Comparator.comparingLong(fetching -> fetching.fetch().region().offset()))
        .forEach(this::addFetch);
    addMemory(files);
  }

  private void addControl(ModelControl control) {
    generation(control.create.generation()).add(control.state).add(control.dropped ? 1 : 0);
    add(control.reason == CloseReason.NEW_SESSION ? 1 : 0);
    boolean isClosed = control.state == ControlDescriptor.STATE_CLOSED;
    boolean isWhole = isExact || !isClosed || control == newest(world);
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
    control.slots.values().stream()
        .filter(n -> n >= from && n <= to)
        .forEach(n -> {
          StepRegion region = control.region(n);
          add(n).add(region.step()).add(region.offset()).add(region.lengthBytes());
        });
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
    LongStream.range(file.firstN, file.taken)
        .filter(n -> !file.acked.contains(n))
        .forEach(this::add);
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
      readers(rank.former.stream().map(file -> file.id).toList());
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
  private void addMemory(List<ModelReader> files) {
    ModelControl newest = newest(world);
    if (newest != null && isKnown(world, newest, isExact)) {
      int slices = newest.create.coordinates().size();
      newest
          .slots
          .values()
          .forEach(n -> addBytes(newest.region(n), RingWorld.tag(newest.region(n).step(), slices)));
    }
    files.stream()
        .filter(file -> file.locked)
        .sorted(Comparator.comparingLong(file -> name(file.id)))
        .forEach(file -> {
          ModelControl control = world.controls.get(file.attachedTo);
          if (control != null) {
            int slices = control.create.coordinates().size();
            file.held
                .values()
                .forEach(region -> addBytes(region, RingWorld.tag(region.step(), slices)));
          }
        });
  }

  private void addBytes(StepRegion region, int tag) {
    int from = (int) (region.offset() / RingWorld.PAGE);
    int to = (int) ((region.offset() + region.lengthBytes()) / RingWorld.PAGE);
    for (int page = from; page < to; page++) {
      add(isExact ? world.memory[page] : world.memory[page] == tag ? 1 : 0);
    }
  }
}
