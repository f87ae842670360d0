package io.batchweave.simulate;

import java.util.List;

/**
 * What became of one seed.
 *
 * @param seed the seed
 * @param violations promises that did not hold
 * @param versions in the log at the end
 * @param steps in the log at the end
 * @param requests sent by all processes
 * @param virtualNs how long it lasted in virtual time
 * @param history what happened, a line each; empty unless it was asked for
 */
public record SeedReport(
    long seed,
    List<Violation> violations,
    long versions,
    long steps,
    long requests,
    long virtualNs,
    List<String> history) {
  /** Copies the lists. */
  public SeedReport {
    violations = List.copyOf(violations);
    history = List.copyOf(history);
  }
}
