package io.batchweave.verify;

import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;

/** Collects findings and notes from several threads, up to a bound; the rest is counted. */
final class Findings {
  /** Findings, and notes, that are kept. */
  static final int KEPT = 1_000;

  /** A finding that is void if its step has been reclaimed meanwhile. */
  private record Kept(Finding finding, long step) {}

  private static final long NO_STEP = Long.MAX_VALUE;

  private final List<Kept> kept = new ArrayList<>();
  private final List<String> notes = new ArrayList<>();
  private long count;
  private boolean ofSteps;

  synchronized void add(String object, String problem) {
    add(object, problem, NO_STEP);
  }

  /** Something about a step, which a collector may have deleted since. */
  synchronized void addOfStep(long step, String object, String problem) {
    add(object, problem + " (step=" + step + ")", step);
    ofSteps = true;
  }

  private void add(String object, String problem, long step) {
    count++;
    if (kept.size() < KEPT) {
      kept.add(new Kept(new Finding(object, problem), step));
    }
  }

  synchronized void note(String text) {
    if (notes.size() < KEPT) {
      notes.add(text);
    }
  }

  /** Forgets what concerns steps that are below the horizon by now. */
  synchronized void excuse(LongSupplier currentHorizon) {
    if (ofSteps) {
      long horizon = currentHorizon.getAsLong();
      int before = kept.size();
      kept.removeIf(one -> one.step() < horizon);
      count -= before - kept.size();
    }
  }

  synchronized long count() {
    return count;
  }

  synchronized List<Finding> all() {
    return kept.stream().map(Kept::finding).toList();
  }

  synchronized List<String> notes() {
    return List.copyOf(notes);
  }
}
