package io.batchweave.bridge.ring;

import io.batchweave.log.Bits;
import java.util.EnumSet;
import java.util.Set;

/** What a {@link RingWorld} does not decide itself: by chance, or one way after the other. */
interface Choices {
  /** What may happen or not, and how rare it is in a random run. */
  enum Whim {
    /** A request of a daemon that dies writes once more. */
    LATE_WRITE(2),
    /** A step is gone from the store. */
    FAILURE(40),
    /** The daemon looks at a reader file. */
    LOOK(2),
    /** A rank repeats its Hello. */
    REPEAT(8),
    /** A rank releases a step although it could take another. */
    RELEASE(4),
    /** A rank releases another step than its oldest. */
    OUT_OF_ORDER(3),
    /** A rank releases a lease of a former attachment. */
    RELEASE_OLD(16),
    /** A rank asks for the next step although it keeps more than it may. */
    KEEP(2),
    /** The daemon publishes how the ring stands. */
    STATUS(2);

    final int oneIn;

    Whim(int oneIn) {
      this.oneIn = oneIn;
    }
  }

  /** What does not happen where everybody keeps as much as is allowed. */
  Set<Whim> KEPT = EnumSet.of(Whim.RELEASE, Whim.RELEASE_OLD, Whim.OUT_OF_ORDER, Whim.KEEP);

  /** One of so many. */
  long below(long bound);

  /** One of so many that are alike: whoever goes through all ways takes the first. */
  default long anyOf(long bound) {
    return below(bound);
  }

  /** Whether it happens. */
  boolean happens(Whim whim);

  /** At random, but who may keep a step keeps it, and nobody keeps more. */
  static Choices stubborn(long seed) {
    Choices random = random(seed);
    return new Choices() {
      @Override
      public long below(long bound) {
        return random.below(bound);
      }

      @Override
      public boolean happens(Whim whim) {
        return !KEPT.contains(whim) && random.happens(whim);
      }
    };
  }

  /** At random. */
  static Choices random(long seed) {
    Bits bits = new Bits(seed);
    return new Choices() {
      @Override
      public long below(long bound) {
        return bits.nextBelow(bound);
      }

      @Override
      public boolean happens(Whim whim) {
        return bits.nextBelow(whim.oneIn) == 0;
      }
    };
  }
}
