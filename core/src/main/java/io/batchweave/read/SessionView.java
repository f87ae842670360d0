package io.batchweave.read;

import io.batchweave.log.SkipState;
import io.batchweave.log.State;
import java.util.List;

/**
 * The order of {@link StepOrder} for one session, as a value: for whoever cannot keep a state. The
 * same on every reader, whatever else it knows of the log.
 *
 * @param version the version that registered the session; 0 for a reader outside of any session,
 *     which passes over nothing
 * @param skips those of this version and before; what lies below the horizon may be missing
 */
public record SessionView(long version, List<SkipState> skips) {
  /** Copies the list. */
  public SessionView {
    skips = List.copyOf(skips);
  }

  /**
   * The view of a session.
   *
   * @param state of the version that registered it, or of any later one
   * @param version that version
   */
  public static SessionView of(State state, long version) {
    return new SessionView(
        version, state.skips().stream().filter(skip -> skip.version() <= version).toList());
  }

  /**
   * The first step at or after one that the session does not pass over. The step after n is {@code
   * next(n + 1)}.
   *
   * @param step where to begin
   */
  public long next(long step) {
    return SkipState.firstBeyond(skips, version, step);
  }

  /**
   * How many steps the session is served of a range.
   *
   * @param from first step
   * @param to exclusive
   */
  public long count(long from, long to) {
    long count = 0;
    for (long step = next(from); step < to; ) {
      long end = to;
      for (SkipState skip : skips) {
        if (skip.from() > step) {
          end = Math.min(end, skip.from());
        }
      }
      count += end - step;
      step = next(end);
    }
    return count;
  }
}
