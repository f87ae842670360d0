package io.batchweave.bridge.ring;

import io.batchweave.bridge.ring.FoundRing.Generation;
import io.batchweave.bridge.ring.FoundRing.Reader;
import io.batchweave.bridge.ring.FoundRing.Slot;
import io.batchweave.bridge.ring.RegionRing.Gap;
import io.batchweave.bridge.ring.RegionRing.Item;
import io.batchweave.bridge.ring.RegionRing.Lease;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * A ring put together again from the files of a daemon that is gone. Which regions are still in use
 * is not written anywhere; it follows from the order of allocation, latest first: whatever a later
 * region overlaps was free by then. So a claim is believed as far as no later descriptor
 * contradicts it, and a rank that scribbles in its own file can hold back its ring, never make it
 * hand out what another rank holds.
 *
 * <ul>
 *   <li>steps of the newest generation from the lowest one that a live rank holds or still wants
 *       keep their places;
 *   <li>what was taken and not released lies where its generation's descriptor says, in ring order
 *       before those; leases of other launches, and of steps that are still to come for the slowest
 *       rank, lie outside of the window: who holds one lets go when it gets the step after it,
 *       which comes only once the ring has gone past its place;
 *   <li>a rank counts with its newest reader file, and an older file of it is a mere holder.
 * </ul>
 */
final class RingTakeover {
  /** A region with everybody who holds it. */
  private record Place(StepRegion region, long n, List<Lease> leases) {
    long end() {
      return region.offset() + region.lengthBytes();
    }
  }

  private final RingSettings settings;
  private final Generation last;
  private final List<FoundClaim> claims = new ArrayList<>();

  /** By offset; disjoint. */
  private final TreeMap<Long, Place> places = new TreeMap<>();

  private final List<Lease> outside = new ArrayList<>();

  /** The lowest n of the newest generation whose place was not given to a later one. */
  private long floorN;

  /** The lowest step that a live rank of the launch still wants. */
  private long wantedStep;

  final RingMembers members = new RingMembers();

  /** Reader files that are not attached yet, and whom each replaces, if any. */
  final Map<Id128, Id128> unsettled = new HashMap<>();

  final RingGeneration newest;

  /** Numbers of the generations before the newest. */
  final List<Long> older = new ArrayList<>();

  RingTakeover(RingSettings settings, FoundRing found) {
    this.settings = settings;
    this.last = found.generations().getLast();
    for (Generation generation : found.generations()) {
      if (generation.number() != last.number()) {
        older.add(generation.number());
      }
      for (Reader reader : found.readers()) {
        if (reader.generation() == generation.number()) {
          claims.add(FoundClaim.of(generation, reader));
        }
      }
    }
    for (Reader reader : found.readers()) {
      if (reader.generation() == 0) {
        unsettled.put(reader.id(), reader.previous());
      }
    }
    findFloor();
    List<FoundClaim> counted = countMembers();
    keepPlaces(counted);
    addLeases();
    newest = new RingGeneration(ring(), settings.descriptorCount(), last.number());
    for (FoundClaim claim : counted) {
      members.add(new RingMember(claim, last));
    }
    newest.restore(last, !members.isEmpty());
  }

  /** Walks back from the latest step; behind the first overlap everything was free. */
  private void findFloor() {
    floorN = last.nextN();
    List<StepRegion> later = new ArrayList<>();
    for (int i = last.slots().size() - 1; i >= 0; i--) {
      Slot slot = last.slots().get(i);
      if (!slot.hasRegion()) {
        continue;
      }
      if (later.stream().anyMatch(region -> overlap(region, slot.region()))) {
        return;
      }
      later.add(slot.region());
      floorN = slot.n();
    }
  }

  private static boolean overlap(StepRegion a, StepRegion b) {
    return a.offset() < b.offset() + b.lengthBytes() && b.offset() < a.offset() + a.lengthBytes();
  }

  private List<FoundClaim> countMembers() {
    Map<Id128, Coordinate> attached = new HashMap<>();
    claims.forEach(claim -> attached.put(claim.reader().id(), claim.reader().place()));
    Set<Id128> replaced = new HashSet<>();
    for (FoundClaim claim : claims) {
      Id128 previous = claim.reader().previous();
      if (claim.reader().place().equals(attached.get(previous))) {
        replaced.add(previous);
      }
    }
    List<FoundClaim> counted = new ArrayList<>();
    for (FoundClaim found : claims) {
      members.makeHolder(found.reader().id());
      boolean sameLaunch = found.generation().session().equals(last.session());
      // The newest generation began at the lowest step then: by now nobody backs out to before it.
      FoundClaim claim = found.notBefore(last);
      if (sameLaunch
          && !replaced.contains(claim.reader().id())
          && claim.nextStep() >= lowestStep()) {
        counted.add(claim);
      }
    }
    return counted;
  }

  /** The lowest step that can be taken without fetching an older one. */
  private long lowestStep() {
    for (Slot slot : last.slots()) {
      if (slot.n() >= floorN && slot.hasRegion()) {
        return slot.region().step();
      }
    }
    return last.nextStep();
  }

  private void keepPlaces(List<FoundClaim> counted) {
    wantedStep = counted.stream().mapToLong(FoundClaim::nextStep).min().orElse(Long.MAX_VALUE);
    long heldN =
        claims.stream()
            .filter(claim -> claim.generation().number() == last.number())
            .flatMap(claim -> claim.held().stream())
            .mapToLong(Slot::n)
            .min()
            .orElse(Long.MAX_VALUE);
    for (Slot slot : last.slots()) {
      boolean needed = slot.n() >= heldN || slot.region().step() >= wantedStep;
      if (slot.hasRegion() && slot.n() >= floorN && needed) {
        places.put(slot.region().offset(), new Place(slot.region(), slot.n(), new ArrayList<>()));
      }
    }
  }

  private void addLeases() {
    // The latest first: it proves that what it overlaps was free.
    for (int i = claims.size() - 1; i >= 0; i--) {
      FoundClaim claim = claims.get(i);
      for (Slot slot : claim.held()) {
        addLease(claim, slot);
      }
    }
  }

  private void addLease(FoundClaim claim, Slot slot) {
    StepRegion region = slot.region();
    Lease lease =
        new Lease(
            claim.reader().id(),
            claim.generation().number(),
            slot.n(),
            region.offset(),
            region.lengthBytes());
    boolean isLast = claim.generation().number() == last.number();
    if (!slot.hasRegion() || (isLast && slot.n() < floorN) || (!isLast && isReused(region))) {
      return;
    }
    Place same = places.get(region.offset());
    if (same != null && isSame(same.region(), region)) {
      same.leases().add(lease);
    } else if (isFree(region)) {
      if (claim.generation().session().equals(last.session()) && region.step() < wantedStep) {
        places.put(region.offset(), new Place(region, -1, new ArrayList<>(List.of(lease))));
      } else {
        outside.add(lease);
      }
    } else {
      boolean shared =
          outside.stream()
              .anyMatch(other ->
                  other.offset() == region.offset() && other.lengthBytes() == region.lengthBytes());
      if (!shared) {
        return; // contradicted by a later one
      }
      outside.add(lease);
    }
    members.makeHolder(lease.reader()).add(lease);
  }

  /** Whether the newest generation gave the place of an older one's region to another step. */
  private boolean isReused(StepRegion region) {
    for (Slot slot : last.slots()) {
      if (overlap(slot.region(), region) && !isSame(slot.region(), region)) {
        return true;
      }
    }
    return false;
  }

  private static boolean isSame(StepRegion a, StepRegion b) {
    return a.step() == b.step() && a.offset() == b.offset() && a.lengthBytes() == b.lengthBytes();
  }

  private boolean isFree(StepRegion region) {
    for (Place place : places.values()) {
      if (overlap(place.region(), region)) {
        return false;
      }
    }
    for (Lease lease : outside) {
      if (lease.offset() < region.offset() + region.lengthBytes()
          && region.offset() < lease.offset() + lease.lengthBytes()) {
        return false;
      }
    }
    return true;
  }

  /** The space: items in ring order, the tail first, the cursor behind the latest step. */
  private RegionRing ring() {
    Gap window = window();
    places.values().removeIf(place -> isOutside(place, window));
    long cursor = cursor(window);
    List<Item> items = new ArrayList<>();
    places.values().stream()
        .sorted(
            Comparator.comparingLong(
                place -> Math.floorMod(place.region().offset() - cursor, window.lengthBytes())))
        .forEach(place -> {
          Item item = new Item(place.region(), place.n());
          item.leases.addAll(place.leases());
          items.add(item);
        });
    if (!isInOrder(items)) {
      items.forEach(item -> item.n = -1);
    }
    return RegionRing.restore(settings.ringLengthBytes(), window, cursor, items, outside);
  }

  /** The gap between the leases of other launches that the steps of this one lie in. */
  private Gap window() {
    long inside = -1;
    for (Place place : places.values()) {
      inside = place.n() >= 0 ? place.region().offset() : inside;
    }
    if (inside < 0) {
      return new RegionRing(settings.ringLengthBytes()).largestGap(outside);
    }
    long start = 0;
    long end = settings.ringLengthBytes();
    for (Lease lease : outside) {
      long leaseEnd = lease.offset() + lease.lengthBytes();
      start = leaseEnd <= inside ? Math.max(start, leaseEnd) : start;
      end = lease.offset() > inside ? Math.min(end, lease.offset()) : end;
    }
    return new Gap(start, end - start);
  }

  private boolean isOutside(Place place, Gap window) {
    boolean isOutside =
        place.region().offset() < window.offset()
            || place.end() > window.offset() + window.lengthBytes();
    if (isOutside) {
      outside.addAll(place.leases());
    }
    return isOutside;
  }

  /** Whether the steps of the newest generation lie one after the other up to its latest. */
  private boolean isInOrder(List<Item> items) {
    long nextN = -1;
    for (Item item : items) {
      if (item.n >= 0) {
        if (nextN >= 0 && item.n != nextN) {
          return false;
        }
        nextN = item.n + 1;
      }
    }
    return nextN < 0 || nextN == last.nextN();
  }

  private long cursor(Gap window) {
    Place latest = null;
    for (Place place : places.values()) {
      latest = place.n() >= 0 && (latest == null || place.n() > latest.n()) ? place : latest;
    }
    if (latest != null) {
      return latest.end();
    }
    // Nothing but leases: behind the one with the most room after it.
    long cursor = window.offset();
    long room = -1;
    for (Place place : places.values()) {
      Long next = places.higherKey(place.region().offset());
      long free = (next == null ? window.offset() + window.lengthBytes() : next) - place.end();
      if (free > room) {
        room = free;
        cursor = place.end();
      }
    }
    return cursor;
  }
}
