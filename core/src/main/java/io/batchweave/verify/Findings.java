package io.batchweave.verify;

import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
import org.agrona.collections.LongArrayList;

/** Collects findings and notes from several threads, up to a bound; the rest is counted. */
final class Findings {
  /** Findings, and notes, that are kept. */
  static final int KEPT = 1_000;

  /** A finding that is void if its step has been reclaimed meanwhile. */
  private record Kept(Finding finding, long step) {}

  private static final long NO_STEP = Long.MAX_VALUE;

  private final List<Kept> kept = new ArrayList<>();
  private final List<String> notes = new ArrayList<>();

  /** The steps of those that are not kept. */
  private final LongArrayList unkept = new LongArrayList();

  synchronized void add(String object, String problem) {
    add(object, problem, NO_STEP);
  }

  /** Something about a step, which a collector may have deleted since. */
  synchronized void addOfStep(long step, String object, String problem) {
    add(object, problem + " (step=" + step + ")", step);
  }

  private void add(String object, String problem, long step) {
    if (kept.size() < KEPT) {
      kept.add(new Kept(new Finding(object, problem), step));
    } else {
      unkept.addLong(step);
    }
  }

  synchronized void note(String text) {
    if (notes.size() < KEPT) {
      notes.add(text);
    }
  }

  /** Forgets what concerns steps that are below the horizon by now. */
  synchronized void excuse(LongSupplier currentHorizon) {
    boolean anyOfSteps =
        kept.stream().anyMatch(one -> one.step() != NO_STEP)
            || unkept.longStream().anyMatch(step -> step != NO_STEP);
    if (anyOfSteps) {
      long horizon = currentHorizon.getAsLong();
      kept.removeIf(one -> one.step() < horizon);
      unkept.removeIfLong(step -> step < horizon);
    }
  }

  synchronized long count() {
    return kept.size() + (long) unkept.size();
  }

  synchronized List<Finding> all() {
    return kept.stream().map(Kept::finding).toList();
  }

  synchronized List<String> notes() {
    return List.copyOf(notes);
  }
}
