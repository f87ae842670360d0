package io.batchweave.benchmarks;

import java.util.Arrays;
import java.util.SplittableRandom;

/** Numbers measured one after the other, and what they say together. */
public final class Sample {
  private static final int RESAMPLES = 2_000;
  private static final long SEED = 42;

  private double[] values = new double[64];
  private int count;

  /**
   * A 95 % interval.
   *
   * @param low lower end
   * @param high upper end
   */
  public record Interval(double low, double high) {}

  /**
   * Adds a number.
   *
   * @param value finite
   */
  public void add(double value) {
    if (count == values.length) {
      values = Arrays.copyOf(values, 2 * count);
    }
    values[count++] = value;
  }

  /** How many there are. */
  public int count() {
    return count;
  }

  /**
   * The one that was added as the i-th.
   *
   * @param index from 0
   */
  public double value(int index) {
    return values[index];
  }

  /** The median. */
  public double median() {
    return medianOf(Arrays.copyOf(values, count));
  }

  /**
   * The smallest number that at least this share of all are not above.
   *
   * @param share from 0 to 1
   */
  public double quantile(double share) {
    if (count == 0) {
      throw new IllegalStateException("nothing was measured");
    }
    double[] sorted = Arrays.copyOf(values, count);
    Arrays.sort(sorted);
    return sorted[Math.clamp((long) Math.ceil(share * count) - 1, 0, count - 1)];
  }

  /** The bootstrap interval of the median; always the same for the same numbers. */
  public Interval interval() {
    SplittableRandom random = new SplittableRandom(SEED);
    double[] medians = new double[RESAMPLES];
    double[] drawn = new double[count];
    for (int i = 0; i < RESAMPLES; i++) {
      for (int j = 0; j < count; j++) {
        drawn[j] = values[random.nextInt(count)];
      }
      medians[i] = medianOf(drawn);
    }
    Arrays.sort(medians);
    return new Interval(medians[RESAMPLES / 40], medians[RESAMPLES - RESAMPLES / 40 - 1]);
  }

  private static double medianOf(double[] some) {
    if (some.length == 0) {
      throw new IllegalStateException("nothing was measured");
    }
    Arrays.sort(some);
    int middle = some.length / 2;
    return some.length % 2 == 1 ? some[middle] : (some[middle - 1] + some[middle]) / 2;
  }
}
