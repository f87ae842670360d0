package io.batchweave.bridge.ring;

/**
 * A place in a grid.
 *
 * @param dp data-parallel coordinate, from 0
 * @param cp context-parallel coordinate, from 0
 */
public record Coordinate(int dp, int cp) implements Comparable<Coordinate> {
  @Override
  public int compareTo(Coordinate other) {
    return dp != other.dp ? Integer.compare(dp, other.dp) : Integer.compare(cp, other.cp);
  }
}
