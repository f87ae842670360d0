package io.batchweave.store.probe;

import java.util.Locale;

/**
 * How much a probe does.
 *
 * @param rounds of the create race, at least 1
 * @param connections that race, 2 to 64
 * @param scope which checks
 */
public record ProbePlan(int rounds, int connections, Scope scope) {
  /** Which checks run. */
  public enum Scope {
    /** All. */
    EVERYTHING,
    /** The create race, create on existing, and what the store tells about itself. */
    CREATION
  }

  /** Shows a store that breaks the race once in 200 rounds with 99 %. */
  public static final ProbePlan FULL = new ProbePlan(920, 16, Scope.EVERYTHING);

  /** For a first look. */
  public static final ProbePlan QUICK = new ProbePlan(100, 16, Scope.EVERYTHING);

  /** Before a stream is made: finds a store that does not do conditional creates at all. */
  public static final ProbePlan CREATION = new ProbePlan(20, 8, Scope.CREATION);

  private static final double CERTAINTY = 0.99;
  private static final double RARE = 1.0 / 200;

  /** Checks the ranges. */
  public ProbePlan {
    if (rounds < 1 || rounds > 1_000_000 || connections < 2 || connections > 64) {
      throw new IllegalArgumentException(
          "plan out of range: rounds="
              + rounds
              + " connections="
              + connections
              + "; rounds are 1 to 1000000, connections 2 to 64");
    }
  }

  /**
   * What so many rounds say, in words.
   *
   * @param rounds without a fault
   */
  static String certainty(int rounds) {
    double shown = 1 - Math.pow(1 - CERTAINTY, 1.0 / Math.max(1, rounds));
    double missed = Math.pow(1 - RARE, rounds);
    return String.format(
        Locale.ROOT,
        "a fault in one of %.0f rounds would have shown with 99 %%, one in 200 was missed with"
            + " %.0f %%",
        Math.floor(1 / shown),
        Math.ceil(100 * missed));
  }
}
