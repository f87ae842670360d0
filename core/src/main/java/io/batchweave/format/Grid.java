package io.batchweave.format;

/**
 * The shape a stream's TGBs are cut for, fixed when the stream is created. Grid order: the slice of
 * coordinate (dp, cp) has index {@code dp * cpSize + cp}, so the ranks of a node lie side by side.
 *
 * @param dp data-parallel size, at least 1
 * @param cp context-parallel size, at least 1; {@code dp * cp} is at most {@link Limits#SLICES}
 */
public record Grid(int dp, int cp) {
  /** Checks the limits. */
  public Grid {
    if (dp < 1 || cp < 1 || (long) dp * cp > Limits.SLICES) {
      throw new IllegalArgumentException(
          "grid out of range: dp="
              + dp
              + " cp="
              + cp
              + " slices="
              + (long) dp * cp
              + "; both are at least 1 and dp*cp is at most "
              + Limits.SLICES);
    }
  }

  /** Number of slices of a TGB. */
  public int sliceCount() {
    return dp * cp;
  }

  /**
   * The slice of a coordinate.
   *
   * @param dpIndex in [0, dp)
   * @param cpIndex in [0, cp)
   */
  public int sliceIndex(int dpIndex, int cpIndex) {
    if (dpIndex < 0 || dpIndex >= dp || cpIndex < 0 || cpIndex >= cp) {
      throw new IllegalArgumentException(
          "coordinate outside the grid: dpIndex="
              + dpIndex
              + " cpIndex="
              + cpIndex
              + " grid="
              + dp
              + "x"
              + cp);
    }
    return dpIndex * cp + cpIndex;
  }
}
