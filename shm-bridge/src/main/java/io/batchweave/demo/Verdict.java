package io.batchweave.demo;

import java.util.List;

/**
 * What the demo found.
 *
 * @param figures rows of the closing table
 * @param checks what was checked, each with its outcome
 */
public record Verdict(List<Figure> figures, List<Check> checks) {
  /**
   * One row of the table.
   *
   * @param name what was measured
   * @param value with its unit
   */
  public record Figure(String name, String value) {}

  /**
   * One thing that was checked.
   *
   * @param promise what must hold
   * @param problem the first deviation; empty if it holds
   */
  public record Check(String promise, String problem) {
    /** Whether it holds. */
    public boolean holds() {
      return problem.isEmpty();
    }
  }

  /** Copies the lists. */
  public Verdict {
    figures = List.copyOf(figures);
    checks = List.copyOf(checks);
  }

  /** Whether everything holds. */
  public boolean holds() {
    return checks.stream().allMatch(Check::holds);
  }
}
