package io.batchweave.bridge.ring;

import java.util.List;

/** One rank of the session that a ring serves, as the machine knows it. */
final class RingMember {
  /** Where a rank stands. */
  enum Stage {
    /** Said Hello; its answer waits for a generation, or for its step to be allocated. */
    PENDING,
    /** Was told its n; takes and acks in its own time. */
    WELCOMED,
    /**
     * Was attached to a former generation and has not come back yet: counted, not waited for. Its
     * steps are kept until it comes or its lock goes.
     */
    EXPECTED
  }

  /** No n yet: its step is not allocated, so it holds nothing. */
  static final long NO_N = Long.MAX_VALUE;

  final Id128 reader;
  final List<Coordinate> coordinates;
  final int localReaders;
  final long regionBytes;
  Stage stage = Stage.PENDING;
  long nextStep;

  /** n of its first step in the current generation, or NO_N. */
  long firstN = NO_N;

  /** Lowest n that it has not released, or NO_N. */
  long lowest = NO_N;

  /** n + 1 of the last step it took. */
  long taken;

  /** The generation that its file is attached to while it is EXPECTED, else 0. */
  long generation;

  RingMember(ReaderHello hello) {
    this.reader = hello.reader();
    this.coordinates = hello.coordinates();
    this.localReaders = hello.localReaders();
    this.regionBytes = hello.regionBytes();
    this.nextStep = hello.nextStep();
  }

  /**
   * One that was attached to a generation of the daemon before, and has not come back yet. Which
   * slices it reads is not known: all that its session's last generation had.
   */
  RingMember(FoundClaim claim, FoundRing.Generation last) {
    this.reader = claim.reader().id();
    this.coordinates = last.coordinates();
    this.localReaders = last.localReaders();
    this.regionBytes = 0;
    this.nextStep = claim.nextStep();
    this.stage = Stage.EXPECTED;
    this.generation = claim.generation().number();
  }

  private RingMember(RingMember other) {
    reader = other.reader;
    coordinates = other.coordinates;
    localReaders = other.localReaders;
    regionBytes = other.regionBytes;
    stage = other.stage;
    nextStep = other.nextStep;
    firstN = other.firstN;
    lowest = other.lowest;
    taken = other.taken;
    generation = other.generation;
  }

  RingMember copy() {
    return new RingMember(this);
  }

  /** Begins at n. */
  void placeAt(long n) {
    firstN = n;
    lowest = n;
    taken = n;
  }

  void hash(StateHash hash) {
    hash.reader(reader).add(stage.name().hashCode()).beginning(this).add(lowest);
    hash.addWhere(stage == Stage.WELCOMED, taken).add(regionBytes);
    hash.coordinates(coordinates).generation(generation);
  }
}
