package io.batchweave.benchmarks;

import java.util.ArrayList;
import java.util.List;

/** By how much steps get quicker, over what preparing one costs in processor time. */
final class SpeedUp {
  /**
   * One cost.
   *
   * @param costMs processor milliseconds of preprocessing per step
   * @param ratio time of a step with colocated workers / with BatchWeave
   */
  record At(double costMs, double ratio) {}

  private final List<At> points;

  /**
   * A curve.
   *
   * @param points by cost, ascending
   */
  SpeedUp(List<At> points) {
    this.points = List.copyOf(points);
  }

  /** As a curve to draw. */
  Plot.Curve curve(String name) {
    List<Plot.Point> drawn = new ArrayList<>();
    points.forEach(point -> drawn.add(new Plot.Point(point.costMs(), point.ratio())));
    return new Plot.Curve(name, drawn);
  }

  /**
   * The cost from which on steps are quicker by more than a ratio, on the straight line between the
   * points around it; infinite where that is nowhere.
   *
   * @param ratio more than 1
   */
  double paysFromMs(double ratio) {
    double from = Double.POSITIVE_INFINITY;
    At after = null;
    for (At point : points.reversed()) {
      if (point.ratio() <= ratio) {
        return after == null
            ? from
            : point.costMs()
                + (after.costMs() - point.costMs())
                    * (ratio - point.ratio())
                    / (after.ratio() - point.ratio());
      }
      after = point;
      from = point.costMs();
    }
    return from;
  }
}
