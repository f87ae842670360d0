package io.batchweave.read;

/**
 * A place in the grid of ranks.
 *
 * @param dp data-parallel index, from 0
 * @param cp context-parallel index, from 0
 */
public record Coordinate(int dp, int cp) {
  /** Checks the bounds that need no grid. */
  public Coordinate {
    if (dp < 0 || cp < 0) {
      throw new IllegalArgumentException("not a coordinate: dp=" + dp + " cp=" + cp);
    }
  }
}
