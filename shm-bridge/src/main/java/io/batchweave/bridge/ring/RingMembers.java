package io.batchweave.bridge.ring;

import io.batchweave.bridge.ring.RegionRing.Item;
import io.batchweave.bridge.ring.RegionRing.Lease;
import io.batchweave.bridge.ring.RingMember.Stage;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/**
 * The readers of a ring: the ranks of its session, and the holders, which are reader files that
 * take nothing any more but may have leases until their lock goes.
 */
final class RingMembers implements Iterable<RingMember> {
  private final List<RingMember> members = new ArrayList<>();
  private final Map<Id128, List<Lease>> holders = new TreeMap<>();

  RingMembers copy() {
    RingMembers copy = new RingMembers();
    for (RingMember member : members) {
      copy.members.add(member.copy());
    }
    holders.forEach((reader, leases) -> copy.holders.put(reader, new ArrayList<>(leases)));
    return copy;
  }

  void hash(StateHash hash) {
    hash.add(members.size());
    members.forEach(member -> member.hash(hash));
    hash.holders(holders.keySet());
  }

  /** In the order in which they came; removing while iterating is not allowed. */
  @Override
  public Iterator<RingMember> iterator() {
    return members.iterator();
  }

  int size() {
    return members.size();
  }

  boolean isEmpty() {
    return members.isEmpty();
  }

  List<RingMember> list() {
    return List.copyOf(members);
  }

  @Nullable RingMember find(Id128 reader) {
    for (RingMember member : members) {
      if (member.reader.equals(reader)) {
        return member;
      }
    }
    return null;
  }

  void add(RingMember member) {
    members.add(member);
  }

  void remove(RingMember member) {
    members.remove(member);
  }

  /** The leases of a reader that takes nothing any more; null when it is none. */
  @Nullable List<Lease> leases(Id128 reader) {
    return holders.get(reader);
  }

  boolean isHolder(Id128 reader) {
    return holders.containsKey(reader);
  }

  List<Lease> makeHolder(Id128 reader) {
    return holders.computeIfAbsent(reader, ignored -> new ArrayList<>());
  }

  @Nullable List<Lease> removeHolder(Id128 reader) {
    return holders.remove(reader);
  }

  /** Every reader file that somebody may still hold the lock of, as far as this ring knows. */
  List<Id128> readers() {
    List<Id128> readers = new ArrayList<>(holders.keySet());
    for (RingMember member : members) {
      if (!holders.containsKey(member.reader)) {
        readers.add(member.reader);
      }
    }
    return readers;
  }

  /** The same without holders of nothing. */
  List<Id128> lastingReaders() {
    List<Id128> readers = readers();
    readers.removeIf(reader -> {
      List<Lease> leases = holders.get(reader);
      return leases != null && leases.isEmpty() && find(reader) == null;
    });
    return readers;
  }

  /**
   * Whether a generation's control file is still needed: for a lease, or to tell the next daemon
   * where a rank goes on that has not come back.
   */
  boolean needs(long generation) {
    for (RingMember member : members) {
      if (member.stage == Stage.EXPECTED && member.generation == generation) {
        return true;
      }
    }
    for (List<Lease> leases : holders.values()) {
      for (Lease lease : leases) {
        if (lease.generation() == generation) {
          return true;
        }
      }
    }
    return false;
  }

  /** Lowest n that a member has not released; NO_N when none holds or awaits any. */
  long lowest() {
    long lowest = RingMember.NO_N;
    for (RingMember member : members) {
      lowest = Math.min(lowest, member.lowest);
    }
    return lowest;
  }

  /** What a member took and did not release stays where it is. */
  void addLeases(RingMember member, RingGeneration generation, LongPredicate isAcked) {
    List<Lease> leases = makeHolder(member.reader);
    for (Item item : generation.ring.items()) {
      if (item.n >= 0
          && item.n >= member.lowest
          && item.n < member.taken
          && !isAcked.test(item.n)) {
        Lease lease = generation.leaseOf(member.reader, item);
        item.leases.add(lease);
        leases.add(lease);
      }
    }
  }

  /** The leases there would be if the generation were closed now, the next take included. */
  List<Lease> possibleLeases(RingGeneration generation) {
    List<Lease> leases = generation.ring.leasesByOffset();
    for (RingMember member : members) {
      for (Item item : generation.ring.items()) {
        if (member.stage == Stage.WELCOMED && item.n >= member.lowest && item.n <= member.taken) {
          leases.add(generation.leaseOf(member.reader, item));
        }
      }
    }
    return leases;
  }

  /** Steps below nextN that a member has not released; the leases of a mere holder. */
  long unreleased(Id128 reader, long nextN) {
    RingMember member = find(reader);
    if (member != null && member.lowest != RingMember.NO_N) {
      return nextN - member.lowest;
    }
    List<Lease> leases = holders.get(reader);
    return leases == null ? 0 : leases.size();
  }

  /** Whose leases are in the way when so many bytes do not fit. */
  Id128 blocker(RegionRing ring, long neededBytes) {
    if (!ring.outside().isEmpty() && neededBytes > ring.windowBytes()) {
      return ring.outside().getFirst().reader();
    }
    Item first = ring.first();
    if (first == null || first.fetchId >= 0) {
      return Id128.NONE;
    }
    if (!first.leases.isEmpty()) {
      return first.leases.getFirst().reader();
    }
    return members.stream()
        .filter(member -> member.lowest <= first.n)
        .min(
            Comparator.comparingLong((RingMember member) -> member.lowest)
                .thenComparingLong(member -> -member.taken)
                .thenComparing(member -> member.reader))
        .map(member -> member.reader)
        .orElse(Id128.NONE);
  }

  /** The answer to a rank for which the leases of others leave too little. */
  RingCommand.Refuse ringHeld(Id128 reader, List<Lease> leases, long neededBytes, long gapBytes) {
    List<String> who =
        leases.stream()
            .map(lease -> lease.reader().toString())
            .distinct()
            .sorted()
            .limit(4)
            .toList();
    return new RingCommand.Refuse(
        reader,
        RingRefusal.RING_HELD,
        leases.size(),
        neededBytes - gapBytes,
        "unreleased steps leave too little of the ring: readers="
            + who
            + " steps="
            + leases.size()
            + " needed="
            + neededBytes
            + " largestGap="
            + gapBytes
            + "; release them, end those processes, or serve with more --memory");
  }

  /** Whether nobody is left at or before n. */
  boolean allBeyond(long n) {
    return members.stream()
        .allMatch(member -> member.lowest == RingMember.NO_N || member.lowest > n);
  }

  /** Whether a Hello names this session but differs from its ranks in what all must agree on. */
  boolean disagree(@Nullable SessionKey session, ReaderHello hello) {
    if (session == null
        || !session.group().equals(hello.session().group())
        || !session.session().equals(hello.session().session())) {
      return false;
    }
    return !session.equals(hello.session())
        || members.stream().anyMatch(member -> member.localReaders != hello.localReaders());
  }

  /** The largest region that a member is known to need first. */
  long regionBytes() {
    return members.stream().mapToLong(member -> member.regionBytes).max().orElse(0);
  }
}
