package io.batchweave.cli;

import io.batchweave.simulate.SeedReport;
import io.batchweave.simulate.Violation;
import java.util.ArrayList;
import java.util.List;

/** Adds up the reports of many seeds. */
final class SeedTotals {
  private static final int KEPT_VIOLATIONS = 1_000;

  private final List<Violation> violations = new ArrayList<>();
  private final List<Long> seeds = new ArrayList<>();
  private long violationCount;
  private long versions;
  private long requests;

  void add(SeedReport report) {
    versions += report.versions();
    requests += report.requests();
    violationCount += report.violations().size();
    if (!report.violations().isEmpty()) {
      seeds.add(report.seed());
      int room = KEPT_VIOLATIONS - violations.size();
      violations.addAll(report.violations().stream().limit(Math.max(0, room)).toList());
    }
  }

  /** The first violations, in the order of seeds. */
  List<Violation> violations() {
    return violations;
  }

  /** The seeds that show a violation, in order. */
  List<Long> seeds() {
    return seeds;
  }

  long violationCount() {
    return violationCount;
  }

  long versions() {
    return versions;
  }

  long requests() {
    return requests;
  }

  String describe() {
    return versions
        + " versions, "
        + requests
        + " requests, "
        + violationCount
        + (violationCount == 1 ? " violation" : " violations")
        + " in "
        + seeds.size()
        + (seeds.size() == 1 ? " seed" : " seeds");
  }
}
