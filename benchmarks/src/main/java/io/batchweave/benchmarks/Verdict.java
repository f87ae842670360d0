package io.batchweave.benchmarks;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * What a bar came to.
 *
 * @param name of the bar
 * @param value the figure
 * @param unit of the figure and its ceiling
 * @param ceiling the best that the figure can be here, measured in the same run
 * @param goal what the figure is held to, with its direction; empty where it is only reported
 * @param met whether the goal is met; true where there is none
 * @param spread the 95 % interval of the figure; null where it is counted or in virtual time
 */
public record Verdict(
    String name,
    double value,
    String unit,
    double ceiling,
    String goal,
    boolean met,
    Sample.@Nullable Interval spread) {

  /**
   * A figure without spread.
   *
   * @param name of the bar
   * @param value the figure
   * @param unit of both
   * @param ceiling the best it can be here
   * @param goal what it is held to
   * @param met whether it is met
   */
  public Verdict(String name, double value, String unit, double ceiling, String goal, boolean met) {
    this(name, value, unit, ceiling, goal, met, null);
  }

  /**
   * A figure that is reported, not judged: the median of a sample.
   *
   * @param name of the bar
   * @param values the figure
   * @param unit of both
   * @param ceiling the best it can be here
   */
  public static Verdict reported(String name, Sample values, String unit, Sample ceiling) {
    return new Verdict(name, values.median(), unit, ceiling.median(), "", true)
        .within(values.interval());
  }

  /**
   * In place of a figure that could not be measured.
   *
   * @param name of the bar
   */
  static Verdict unmeasured(String name) {
    return new Verdict(name, Double.NaN, "", Double.NaN, "", false);
  }

  /**
   * The same with its spread.
   *
   * @param interval of the figure
   */
  public Verdict within(Sample.Interval interval) {
    return new Verdict(name, value, unit, ceiling, goal, met, interval);
  }

  /** One line for machines. */
  public String json() {
    return "{\"name\":\""
        + name
        + "\",\"value\":"
        + jsonNumber(value)
        + ",\"unit\":\""
        + unit
        + "\",\"ceiling\":"
        + jsonNumber(ceiling)
        + ",\"goal\":"
        + (goal.isEmpty() ? "null" : "\"" + goal + "\"")
        + ",\"met\":"
        + met
        + "}";
  }

  /** What became of the goal, in words. */
  String outcome() {
    return goal.isEmpty() ? "reported" : met ? "met" : "NOT MET";
  }

  /** A row of a table in Markdown: name, value, unit, ceiling, goal, met, spread. */
  public String row() {
    return "| "
        + String.join(
            " | ",
            "`" + name + "`",
            number(value),
            unit,
            number(ceiling),
            goal,
            goal.isEmpty() ? "" : met ? "yes" : "**no**",
            spread == null ? "" : "[" + number(spread.low()) + ", " + number(spread.high()) + "]")
        + " |";
  }

  /** JSON has no number for what is none. */
  private static String jsonNumber(double value) {
    return Double.isFinite(value) ? number(value) : "null";
  }

  private static String number(double value) {
    return Math.abs(value) >= 1000
        ? String.format(Locale.ROOT, "%.0f", value)
        : String.format(Locale.ROOT, "%.3f", value);
  }
}
