package io.batchweave.bridge.ring;

import io.batchweave.bridge.ring.RegionRing.Item;
import io.batchweave.bridge.ring.RegionRing.Lease;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The newest generation of a ring, open or closed: which steps it has, under which n, and where.
 */
final class RingGeneration {
  /** How a generation ends. */
  enum Ending {
    NONE,
    END,
    FAILED
  }

  final RegionRing ring;
  private final int descriptorCount;
  long number;

  /** Whom it serves; null once its places are not kept for anybody. */
  @Nullable SessionKey session;

  /** The session that was served last, whatever became of it. */
  private @Nullable SessionKey served;

  List<Coordinate> coordinates = List.of();

  /** n of the next step to be allocated. */
  long nextN;

  /** The next step to be allocated. */
  long nextStep;

  Ending ending = Ending.NONE;
  long endingStep;
  long endingN;

  RingGeneration(RegionRing ring, int descriptorCount, long number) {
    this.ring = ring;
    this.descriptorCount = descriptorCount;
    this.number = number;
  }

  RingGeneration copy() {
    RingGeneration copy = new RingGeneration(ring.copy(), descriptorCount, number);
    copy.session = session;
    copy.served = served;
    copy.coordinates = coordinates;
    copy.nextN = nextN;
    copy.nextStep = nextStep;
    copy.ending = ending;
    copy.endingStep = endingStep;
    copy.endingN = endingN;
    return copy;
  }

  void hash(StateHash hash, boolean isOpen) {
    hash.add(Objects.hashCode(served));
    ring.hash(hash, isOpen);
    hash.generation(number).add(Objects.hashCode(session)).coordinates(coordinates);
    boolean isKept = session != null;
    boolean isEnding = isKept && ending != Ending.NONE;
    hash.addWhere(isKept, nextN)
        .addWhere(isKept, nextStep)
        .addWhere(isKept, ending.name().hashCode());
    hash.addWhere(isEnding, endingStep).addWhere(isEnding, endingN);
  }

  /**
   * What a daemon before left, closed.
   *
   * @param found its newest control file
   * @param isWanted whether somebody goes on with it
   */
  void restore(FoundRing.Generation found, boolean isWanted) {
    coordinates = found.coordinates();
    nextN = found.nextN();
    nextStep = found.nextStep();
    if (isWanted) {
      session = found.session();
      served = found.session();
    } else {
      abandon();
    }
  }

  /** n of a step, or of the first one after it; nextN when there is none with a region. */
  long nOf(long step) {
    for (Item item : ring.items()) {
      if (item.n >= 0 && item.region.step() >= step) {
        return item.n;
      }
    }
    return nextN;
  }

  /** The step of n, which is nextN, the ending, or still has its region. */
  long stepOf(long n) {
    for (Item item : ring.items()) {
      if (item.n == n) {
        return item.region.step();
      }
    }
    return upcomingStep();
  }

  private long upcomingStep() {
    return ending == Ending.NONE ? nextStep : endingStep;
  }

  /** Whether a rank that wants this step first can be put into the generation. */
  boolean isReachable(long step) {
    for (Item item : ring.items()) {
      if (item.n >= 0 && item.n >= nextN - descriptorCount) {
        return step >= item.region.step();
      }
    }
    return step >= upcomingStep();
  }

  /** Where a rank that wants this step first begins; -1 when the step is not allocated yet. */
  long placeOf(long step) {
    if (ending != Ending.NONE && step > endingStep) {
      return -1;
    }
    long n = nOf(step);
    if (n < nextN) {
      return n;
    }
    if (ending != Ending.NONE) {
      return endingN;
    }
    return step <= nextStep ? nextN : -1;
  }

  void end(Ending how, long step, long n) {
    ending = how;
    endingStep = step;
    endingN = n;
  }

  /**
   * Whether a generation that begins at a step goes on in the same places: for the same slices, or
   * fewer of them when a rank is gone, whose slices come along until it is back.
   */
  boolean keepsPlaces(@Nullable SessionKey forSession, long first, List<Coordinate> union) {
    if (forSession == null || !forSession.equals(session) || !coordinates.containsAll(union)) {
      return false;
    }
    for (Item item : ring.items()) {
      if (item.n >= 0) {
        return first >= item.region.step() && nextN - nOf(first) <= descriptorCount;
      }
    }
    return first >= upcomingStep();
  }

  /**
   * Begins the next generation at a step.
   *
   * @param keep whether steps from there on keep their places; else the largest gap is the ring
   * @return the regions that are kept, under their new n
   */
  List<Item> begin(SessionKey forSession, long first, List<Coordinate> union, boolean keep) {
    served = forSession;
    long keptFrom = keep ? nOf(first) : Long.MAX_VALUE;
    if (!keep) {
      ring.restartInLargestGap();
    }
    number++;
    session = forSession;
    coordinates = union;
    nextN = 0;
    nextStep = first;
    ending = Ending.NONE;
    List<Item> kept = new ArrayList<>();
    for (Item item : ring.items()) {
      if (item.n < keptFrom) {
        item.n = -1;
      } else {
        item.n = nextN++;
        nextStep = item.region.nextStep();
        kept.add(item);
      }
    }
    return kept;
  }

  /** Whether this session has had a generation since another one had. */
  boolean hasServed(@Nullable SessionKey asked) {
    return asked != null && asked.equals(served);
  }

  /** Keeps no places any more. */
  void abandon() {
    session = null;
    for (Item item : ring.items()) {
      item.n = -1;
    }
  }

  Lease leaseOf(Id128 reader, Item item) {
    return new Lease(reader, number, item.n, item.region.offset(), item.region.lengthBytes());
  }

  /** Whether an item lies behind FAILED: nobody will ever read it here. */
  boolean isAfterEnding(Item item) {
    return ending == Ending.FAILED && item.region.step() >= endingStep;
  }

  /** Whether the slot of nextN may be rewritten, given the lowest n that a member needs. */
  boolean slotIsFree(long lowest) {
    long floor = lowest;
    for (Item item : ring.items()) {
      for (Lease lease : item.leases) {
        floor = lease.generation() == number ? Math.min(floor, lease.n()) : floor;
      }
    }
    return nextN - descriptorCount < floor;
  }

  private long publishedCount() {
    for (Item item : ring.items()) {
      if (item.n >= 0 && !item.published) {
        return item.n;
      }
    }
    return nextN;
  }

  RingStatus status(long blockedBytes, Id128 blocker, long blockerSteps, String trouble) {
    int unfinished = 0;
    for (Item item : ring.items()) {
      unfinished += item.fetchId >= 0 ? 1 : 0;
    }
    return new RingStatus(
        blockedBytes,
        blockedBytes > 0 ? nextStep : 0,
        blocker,
        blockerSteps,
        publishedCount(),
        nextN,
        ring.usedBytes(),
        unfinished,
        trouble);
  }
}
