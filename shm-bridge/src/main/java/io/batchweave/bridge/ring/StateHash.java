package io.batchweave.bridge.ring;

import java.util.Collection;
import java.util.List;

/**
 * Accumulates a 64-bit hash of a state, field by field. Names that only have to differ are added by
 * methods of their own: an exploration puts others in their place, so that states which differ by
 * nothing else are one.
 */
class StateHash {
  private long value = 0x9e3779b97f4a7c15L;

  StateHash add(long field) {
    long mixed = (value ^ field) * 0xff51afd7ed558ccdL;
    mixed ^= mixed >>> 32;
    value = mixed * 0xc4ceb9fe1a85ec53L + 0x9e3779b97f4a7c15L;
    return this;
  }

  /**
   * A field that decides what may happen only where it counts; an exploration leaves it out
   * elsewhere.
   *
   * @param counts follows from what else is added
   */
  StateHash addWhere(boolean counts, long field) {
    return add(field);
  }

  /** The name of a reader file. */
  StateHash reader(Id128 reader) {
    return add(reader.high()).add(reader.low());
  }

  /** Names whose order means nothing. */
  StateHash readers(Collection<Id128> readers) {
    add(readers.size());
    readers.forEach(this::reader);
    return this;
  }

  /** Reader files that take nothing any more; their leases are added where they lie. */
  StateHash holders(Collection<Id128> readers) {
    return readers(readers);
  }

  /** Leases whose order means nothing. */
  StateHash leases(List<RegionRing.Lease> leases) {
    add(leases.size());
    for (RegionRing.Lease lease : leases) {
      reader(lease.reader()).generation(lease.generation()).add(lease.n()).add(lease.offset());
    }
    return this;
  }

  /** The number of a generation. */
  StateHash generation(long number) {
    return add(number);
  }

  /** Slices. */
  StateHash coordinates(List<Coordinate> coordinates) {
    return add(coordinates.hashCode());
  }

  /** Where a member began, which decides nothing once its rank is attached there. */
  StateHash beginning(RingMember member) {
    return add(member.nextStep).add(member.firstN);
  }

  /** Former generations whose control files are still there, as those who need them tell. */
  StateHash olderControls(Collection<Long> numbers) {
    numbers.forEach(this::generation);
    return this;
  }

  /** Unfinished fetches in the order in which they began; their regions say the rest. */
  StateHash fetches(Collection<Long> fetchIds) {
    fetchIds.forEach(this::fetch);
    return this;
  }

  /** A fetch, -1 when there is none. */
  StateHash fetch(long fetchId) {
    return add(fetchId);
  }

  long value() {
    return value ^ value >>> 29;
  }
}
