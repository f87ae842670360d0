package io.batchweave.benchmarks;

import java.util.Locale;

/**
 * What a bar came to.
 *
 * @param name of the bar
 * @param value the figure
 * @param unit of the figure and its ceiling
 * @param ceiling the best that the figure can be here, measured in the same run
 * @param goal what the figure is held to, with its direction; empty where it is only reported
 * @param met whether the goal is met; true where there is none
 */
public record Verdict(
    String name, double value, String unit, double ceiling, String goal, boolean met) {

  /**
   * A figure that is reported, not judged.
   *
   * @param name of the bar
   * @param value the figure
   * @param unit of both
   * @param ceiling the best it can be here
   */
  public static Verdict reported(String name, double value, String unit, double ceiling) {
    return new Verdict(name, value, unit, ceiling, "", true);
  }

  /** One line for machines. */
  public String json() {
    return "{\"name\":\""
        + name
        + "\",\"value\":"
        + number(value)
        + ",\"unit\":\""
        + unit
        + "\",\"ceiling\":"
        + number(ceiling)
        + ",\"goal\":"
        + (goal.isEmpty() ? "null" : "\"" + goal + "\"")
        + ",\"met\":"
        + met
        + "}";
  }

  /** One line for people. */
  public String text() {
    String judged = goal.isEmpty() ? "" : "  goal " + goal + (met ? ": met" : ": NOT MET");
    return String.format(
        Locale.ROOT,
        "%-20s %s %s (ceiling %s)%s",
        name,
        number(value),
        unit,
        number(ceiling),
        judged);
  }

  private static String number(double value) {
    return Math.abs(value) >= 1000
        ? String.format(Locale.ROOT, "%.0f", value)
        : String.format(Locale.ROOT, "%.3f", value);
  }
}
