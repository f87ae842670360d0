package io.batchweave.log;

import java.util.List;

/**
 * Steps that sessions pass over.
 *
 * @param from first step
 * @param to exclusive
 * @param version the version that said so; it holds for sessions whose view is this or later
 */
public record SkipState(long from, long to, long version) {
  /**
   * The first step at or after one that none of some skips covers for a view.
   *
   * @param skips in any order; they may overlap
   * @param view version that registered the session
   * @param step where to begin
   */
  public static long firstBeyond(List<SkipState> skips, long view, long step) {
    long candidate = step;
    for (boolean moved = true; moved; ) {
      moved = false;
      for (SkipState skip : skips) {
        if (skip.version() <= view && skip.from() <= candidate && candidate < skip.to()) {
          candidate = skip.to();
          moved = true;
        }
      }
    }
    return candidate;
  }
}
