package io.batchweave.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.ObjectMapper;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;

/**
 * What a run came to: a table in Markdown for people, and the same in JSON for programs, both below
 * what it was measured on. Figures are added as they come.
 */
final class Report {
  /** The table's file. */
  static final String TABLE = "results.md";

  /** The other one's. */
  static final String JSON = "results.json";

  private static final ObjectMapper MAPPER =
      JsonMapper.builder().enable(SerializationFeature.INDENT_OUTPUT).build();

  private final Map<String, String> facts;
  private final List<Figure> figures = new ArrayList<>();
  private final Map<String, String> unmeasured = new LinkedHashMap<>();

  /** A figure, the load of the machine before it was measured, and how long that took. */
  private record Figure(Verdict verdict, String load, double seconds) {}

  /**
   * Begins one.
   *
   * @param facts what is measured on, by name
   */
  Report(Map<String, String> facts) {
    this.facts = new LinkedHashMap<>(facts);
  }

  /**
   * Adds a figure.
   *
   * @param verdict the figure
   * @param load of the machine, before
   * @param seconds that it took
   */
  void add(Verdict verdict, String load, double seconds) {
    figures.add(new Figure(verdict, load, seconds));
  }

  /**
   * Says that there is no figure.
   *
   * @param name of the bar
   * @param why in one line
   */
  void addUnmeasured(String name, String why) {
    unmeasured.put(name, why);
  }

  /** Bars so far. */
  int count() {
    return figures.size() + unmeasured.size();
  }

  /** Whether all was measured, and every goal is met. */
  boolean met() {
    return unmeasured.isEmpty() && figures.stream().allMatch(figure -> figure.verdict().met());
  }

  /** A line of JSON for each figure; also for one that is not there, which then has no value. */
  List<String> lines() {
    List<String> lines = new ArrayList<>();
    figures.forEach(figure -> lines.add(figure.verdict().json()));
    unmeasured.keySet().forEach(name -> lines.add(Verdict.unmeasured(name).json()));
    return lines;
  }

  /** The table, below the facts. */
  List<String> table() {
    List<String> lines = new ArrayList<>();
    lines.add("| | |");
    lines.add("|---|---|");
    facts.forEach((name, value) -> lines.add("| " + name + " | " + value + " |"));
    lines.add("");
    lines.add("| name | value | unit | ceiling | goal | met | spread |");
    lines.add("|---|---|---|---|---|---|---|");
    figures.forEach(figure -> lines.add(figure.verdict().row()));
    if (!unmeasured.isEmpty()) {
      lines.add("");
      unmeasured.forEach((name, why) ->
          lines.add("- `" + name + "` could not be measured: " + why.replaceAll("\\s+", " ")));
    }
    return lines;
  }

  /**
   * Writes both files; there they replace those of an earlier run.
   *
   * @param directory exists
   */
  void write(Path directory) throws IOException {
    Files.writeString(directory.resolve(TABLE), String.join("\n", table()) + "\n");
    Map<String, Object> all = new LinkedHashMap<>(facts);
    all.put("figures", figures.stream().map(Report::fields).toList());
    all.put("unmeasured", unmeasured);
    Files.writeString(directory.resolve(JSON), MAPPER.writeValueAsString(all) + "\n");
  }

  private static Map<String, Object> fields(Figure figure) {
    Verdict verdict = figure.verdict();
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("name", verdict.name());
    fields.put("value", verdict.value());
    fields.put("unit", verdict.unit());
    fields.put("ceiling", verdict.ceiling());
    fields.put("goal", verdict.goal());
    fields.put("met", verdict.met());
    Sample.Interval spread = verdict.spread();
    fields.put("spread", spread == null ? List.of() : List.of(spread.low(), spread.high()));
    fields.put("load", figure.load());
    fields.put("seconds", figure.seconds());
    return fields;
  }

  /**
   * A figure out of a file that {@link #write} wrote.
   *
   * @param file in JSON
   * @param name of the bar
   * @throws IOException if it could not be measured: why
   */
  static Verdict read(Path file, String name) throws IOException {
    JsonNode all = MAPPER.readTree(Files.readString(file));
    for (JsonNode figure : all.path("figures")) {
      if (figure.path("name").asString("").equals(name)) {
        Verdict verdict =
            new Verdict(
                name,
                number(figure.path("value")),
                figure.path("unit").asString(""),
                number(figure.path("ceiling")),
                figure.path("goal").asString(""),
                figure.path("met").asBoolean(false));
        JsonNode spread = figure.path("spread");
        return spread.size() < 2
            ? verdict
            : verdict.within(new Sample.Interval(number(spread.path(0)), number(spread.path(1))));
      }
    }
    throw new IOException(all.path("unmeasured").path(name).asString("it has no figure"));
  }

  private static double number(JsonNode node) {
    return node.isNumber() ? node.asDouble() : Double.NaN;
  }
}
