package io.batchweave.benchmarks;

/** One named figure. */
public interface Bar {
  /** Its name on the command line. */
  String name();

  /** What it asks, in one line. */
  String question();

  /**
   * Measures.
   *
   * @param run how long, and where progress goes
   * @throws Exception when it cannot be measured here; the message says why
   */
  Verdict measure(BenchRun run) throws Exception;
}
