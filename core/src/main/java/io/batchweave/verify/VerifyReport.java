package io.batchweave.verify;

import java.util.List;
import java.util.UUID;

/**
 * What a verification found.
 *
 * @param streamId the stream
 * @param firstVersion where the fold began: 1, or the version after the snapshot it began with
 * @param headVersion the last version that was judged
 * @param horizon first step not reclaimed, at the last version that was folded
 * @param nextStep steps, at the last version that was folded
 * @param findings what is wrong, at most {@link Findings#KEPT}
 * @param findingCount how much is wrong
 * @param notes what is worth knowing
 * @param snapshots snapshots compared
 * @param segments segments compared or read
 * @param dataObjects data and state objects looked at
 * @param dataBytes bytes of them that were read
 * @param orphans objects under {@code data/} that nothing names
 * @param orphanBytes their length together
 */
public record VerifyReport(
    UUID streamId,
    long firstVersion,
    long headVersion,
    long horizon,
    long nextStep,
    List<Finding> findings,
    long findingCount,
    List<String> notes,
    long snapshots,
    long segments,
    long dataObjects,
    long dataBytes,
    long orphans,
    long orphanBytes) {
  /** Copies the lists. */
  public VerifyReport {
    findings = List.copyOf(findings);
    notes = List.copyOf(notes);
  }

  /** Whether nothing is wrong. */
  public boolean sound() {
    return findingCount == 0;
  }
}
