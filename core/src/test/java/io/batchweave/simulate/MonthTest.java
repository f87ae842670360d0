package io.batchweave.simulate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * A hundred producers, 64 nodes of two jobs, checkpoints every 500 steps, restarts and rollbacks,
 * collectors always on: P1 to P6 hold, and what is stored is what is registered for.
 */
class MonthTest {
  private static final double MOST_STORED = 1.1;
  private static final double MOST_GROWTH = 1.25;

  @Test
  @Timeout(600)
  void shouldKeepEveryPromiseForTenThousandSteps() {
    Month.Report report = Month.run(3, 10_000);
    check(report, 10_000);
  }

  @Tag("full")
  @Test
  @Timeout(6 * 3_600)
  void shouldKeepEveryPromiseForAMillionSteps() {
    Month.Report report = Month.run(4, 1_000_000);
    check(report, 1_000_000);
    Month.Growth requests = report.requestsPerStep();
    assertTrue(requests.late() <= MOST_GROWTH * requests.early(), report::toString);
  }

  private static void check(Month.Report report, long steps) {
    assertEquals(List.of(), report.violations(), report::toString);
    assertEquals(steps, report.steps());
    assertTrue(report.checkpoints() >= 2 * (steps / MonthJob.CHECKPOINT_STEPS - 1));
    assertTrue(report.horizon() >= steps - 5 * MonthJob.CHECKPOINT_STEPS, report::toString);
    assertTrue(report.launches() > 2 && report.restarts() > 0, report::toString);
    assertTrue(report.stored().worst() <= MOST_STORED, report::toString);
    assertTrue(report.stored().meanLive() <= MOST_STORED, report::toString);
  }
}
