package io.batchweave.benchmarks;

import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.function.DoubleBinaryOperator;
import java.util.function.DoubleSupplier;
import java.util.function.DoubleUnaryOperator;
import java.util.function.ToDoubleFunction;

/** Numbers measured one after the other, and what they say together. */
public final class Sample {
  private static final int RESAMPLES = 2_000;
  private static final int LEAST_RESAMPLES = 200;
  private static final int DRAWS = 4_000_000;
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
    return quantileOf(Arrays.copyOf(values, count), share);
  }

  /** The same numbers in another unit. */
  public Sample map(DoubleUnaryOperator change) {
    Sample changed = new Sample();
    for (int i = 0; i < count; i++) {
      changed.add(change.applyAsDouble(values[i]));
    }
    return changed;
  }

  /**
   * Round by round, both taken together.
   *
   * @param other measured in turn with this one; where one has more rounds, those are left out
   */
  public Sample with(Sample other, DoubleBinaryOperator together) {
    Sample joined = new Sample();
    for (int i = 0; i < Math.min(count, other.count); i++) {
      joined.add(together.applyAsDouble(values[i], other.values[i]));
    }
    return joined;
  }

  /**
   * Round by round, how often another one goes into this one.
   *
   * @param other measured in turn with this one
   */
  public Sample over(Sample other) {
    return with(other, (mine, its) -> mine / its);
  }

  /** The bootstrap interval of the median; always the same for the same numbers. */
  public Interval interval() {
    return bootstrap(Sample::medianOf);
  }

  /**
   * The bootstrap interval of a quantile.
   *
   * @param share from 0 to 1
   */
  public Interval interval(double share) {
    return bootstrap(drawn -> quantileOf(drawn, share));
  }

  /**
   * The bootstrap interval of this median over that of others: what either varies by is in it.
   *
   * @param other what it is divided by
   */
  public Interval intervalOver(Sample other) {
    return bootstrapOver(other, Sample::medianOf);
  }

  /**
   * The same for a quantile.
   *
   * @param other what it is divided by
   * @param share from 0 to 1
   */
  public Interval intervalOver(Sample other, double share) {
    return bootstrapOver(other, drawn -> quantileOf(drawn, share));
  }

  private Interval bootstrap(ToDoubleFunction<double[]> figure) {
    SplittableRandom random = new SplittableRandom(SEED);
    return middle(resamples(count), () -> figure.applyAsDouble(drawn(random)));
  }

  private Interval bootstrapOver(Sample other, ToDoubleFunction<double[]> figure) {
    SplittableRandom random = new SplittableRandom(SEED);
    return middle(
        resamples(count + other.count),
        () -> figure.applyAsDouble(drawn(random)) / figure.applyAsDouble(other.drawn(random)));
  }

  private double[] drawn(SplittableRandom random) {
    double[] drawn = new double[count];
    for (int i = 0; i < count; i++) {
      drawn[i] = values[random.nextInt(count)];
    }
    return drawn;
  }

  private static int resamples(int values) {
    return Math.clamp(DRAWS / Math.max(1, values), LEAST_RESAMPLES, RESAMPLES);
  }

  private static Interval middle(int resamples, DoubleSupplier figure) {
    double[] figures = new double[resamples];
    for (int i = 0; i < resamples; i++) {
      figures[i] = figure.getAsDouble();
    }
    Arrays.sort(figures);
    return new Interval(figures[resamples / 40], figures[resamples - resamples / 40 - 1]);
  }

  private static double quantileOf(double[] some, double share) {
    if (some.length == 0) {
      throw new IllegalStateException("nothing was measured");
    }
    Arrays.sort(some);
    return some[Math.clamp((long) Math.ceil(share * some.length) - 1, 0, some.length - 1)];
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
