package io.batchweave.store.probe;

import io.batchweave.store.StoreTraits;
import io.batchweave.store.probe.ProbeCheck.Verdict;
import java.util.List;
import java.util.stream.Collectors;

/**
 * What a probe found.
 *
 * @param url the store
 * @param checks in the order in which they ran
 * @param traits what the store told about itself
 */
public record ProbeReport(String url, List<ProbeCheck> checks, StoreTraits traits) {
  /** Copies the list. */
  public ProbeReport {
    checks = List.copyOf(checks);
  }

  /** Whether no check failed. */
  public boolean sound() {
    return checks.stream().noneMatch(check -> check.verdict() == Verdict.FAIL);
  }

  /** The checks that failed, in one line; empty if none did. */
  public String failures() {
    return checks.stream()
        .filter(check -> check.verdict() == Verdict.FAIL)
        .map(check -> check.name() + ": " + check.detail())
        .collect(Collectors.joining("; "));
  }
}
