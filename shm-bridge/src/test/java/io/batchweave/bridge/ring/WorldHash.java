package io.batchweave.bridge.ring;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;

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
 */
final class WorldHash extends StateHash {
  private final RingWorld world;

  /** By number of the rank: its place. */
  private final int[] places;

  private final Map<Id128, Long> readers;
  private final SortedSet<Long> generations;

  private WorldHash(
      RingWorld world, int[] places, Map<Id128, Long> readers, SortedSet<Long> generations) {
    this.world = world;
    this.places = places;
    this.readers = readers;
    this.generations = generations;
  }

  static long of(RingWorld world) {
    SortedSet<Long> generations = generations(world);
    List<ModelReader> files = knownFiles(world);
    long lowest = Long.MAX_VALUE;
    for (int[] places : orders(world)) {
      WorldHash hash = new WorldHash(world, places, names(files, places), generations);
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

  private static boolean isKnown(RingWorld world, ModelControl control) {
    boolean isForgotten = world.down && control.state == ControlDescriptor.STATE_NEW;
    boolean isNeeded = !control.dropped || isRead(world, control.create.generation());
    return isNeeded && !isForgotten;
  }

  private static SortedSet<Long> generations(RingWorld world) {
    SortedSet<Long> numbers = new TreeSet<>();
    world.controls.forEach((number, control) -> {
      if (isKnown(world, control)) {
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
        .filter(control -> isKnown(world, control))
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
    addMemory();
  }

  private void addControl(ModelControl control) {
    generation(control.create.generation()).add(control.state).add(control.dropped ? 1 : 0);
    add(control.reason == CloseReason.NEW_SESSION ? 1 : 0);
    add(control.create.firstStep()).coordinates(control.create.coordinates());
    add(control.kinds.size()).add(control.slots.size());
    control.kinds.forEach((n, kind) -> add(n).add(kind));
    control.slots.forEach((slot, n) -> {
      StepRegion region = control.region(n);
      add(n).add(region.step()).add(region.offset()).add(region.lengthBytes());
    });
  }

  private void addFile(ModelReader file) {
    reader(file.id).add(file.locked ? 1 : 0);
    if (file.locked) {
      reader(file.previous).generation(world.down ? 0 : file.expected);
      generation(file.attachedTo);
      add(file.firstN).add(file.taken).add(file.held.size());
      file.held.keySet().forEach(this::add); // the others below taken are acked
    }
  }

  private void addRank(ModelRank rank) {
    add(rank.alive ? 1 : 0).add(rank.finished ? 1 : 0);
    if (rank.finished) {
      return;
    }
    add(rank.nextStep);
    if (rank.alive) {
      add(rank.said ? 1 : 0).add(rank.attached ? 1 : 0).add(rank.taking ? 1 : 0);
      reader(rank.previous);
      add(rank.file == null ? 0 : name(rank.file.id));
      readers(rank.former.stream().map(file -> file.id).toList());
      RingCommand.Welcome welcome = rank.welcome;
      add(welcome == null ? 0 : 1);
      if (welcome != null) {
        generation(welcome.generation()).add(welcome.firstN()).add(welcome.firstStep());
      }
    }
  }

  private void addFetch(RingWorld.Fetching fetching) {
    add(fetching.fetch().region().offset()).add(fetching.tag());
    add(fetching.fetch().mode() == FetchMode.FRESH ? 1 : 0).add(fetching.cancelled().get() ? 1 : 0);
  }

  /** The bytes of regions that a descriptor of the newest generation or a rank names. */
  private void addMemory() {
    List<StepRegion> regions = new ArrayList<>();
    world.controls.values().stream()
        .filter(control -> control.state != ControlDescriptor.STATE_NEW)
        .reduce((first, second) -> second)
        .ifPresent(newest -> newest.slots.values().forEach(n -> regions.add(newest.region(n))));
    world.files.values().stream()
        .filter(file -> file.locked)
        .forEach(file -> regions.addAll(file.held.values()));
    world.fetches.values().forEach(fetching -> regions.add(fetching.fetch().region()));
    boolean[] isRead = new boolean[world.memory.length];
    for (StepRegion region : regions) {
      int from = (int) (region.offset() / RingWorld.PAGE);
      int to = (int) ((region.offset() + region.lengthBytes()) / RingWorld.PAGE);
      Arrays.fill(isRead, from, to, true);
    }
    for (int page = 0; page < isRead.length; page++) {
      add(isRead[page] ? world.memory[page] : RingWorld.NO_TAG);
    }
  }
}
