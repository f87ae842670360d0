package io.batchweave.store;

import io.batchweave.BatchWeaveException;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** The settings of one store: from its URL, else from the environment, else the defaults. */
public final class StoreSettings {
  private final Map<StoreSetting, String> values = new EnumMap<>(StoreSetting.class);
  private final Map<String, String> environment;

  private StoreSettings(Map<String, String> environment) {
    this.environment = Map.copyOf(environment);
  }

  /**
   * Resolves the settings of a store.
   *
   * @param url the URL; its query wins
   * @param environment variables
   * @throws BatchWeaveException of kind CONFIG if the query has a name that is no setting
   */
  public static StoreSettings resolve(StoreUrl url, Map<String, String> environment) {
    List<StoreSetting> known = ofScheme(url.scheme());
    for (String name : url.query().keySet()) {
      if (known.stream().noneMatch(setting -> setting.label().equals(name))) {
        throw config(
            "unknown setting in the store's URL: name="
                + name
                + "; known are "
                + known.stream().map(StoreSetting::label).collect(Collectors.joining(", ")));
      }
    }
    StoreSettings settings = new StoreSettings(environment);
    for (StoreSetting setting : known) {
      String value = url.query().getOrDefault(setting.label(), "");
      if (value.isEmpty()) {
        value = environment.getOrDefault(setting.variable(), "");
      }
      settings.values.put(setting, value.isEmpty() ? setting.defaultValue() : value);
    }
    return settings;
  }

  private static List<StoreSetting> ofScheme(String scheme) {
    return Arrays.stream(StoreSetting.values())
        .filter(setting -> setting.scheme().equals(scheme))
        .toList();
  }

  /** All settings of all stores for {@code --help}: name, variable, default, example, meaning. */
  public static String describe() {
    StringBuilder text = new StringBuilder(2048);
    for (StoreSetting setting : StoreSetting.values()) {
      String value = setting.defaultValue().isEmpty() ? "unset" : setting.defaultValue();
      text.append(setting.scheme()).append(": ?").append(setting.label()).append('=');
      text.append(setting.example()).append("  or ").append(setting.variable());
      text.append("  (default ").append(value).append(")\n    ");
      text.append(setting.description()).append('\n');
    }
    return text.toString();
  }

  /**
   * A value as it was given; empty if unset and without default.
   *
   * @param setting which
   */
  public String text(StoreSetting setting) {
    return values.getOrDefault(setting, setting.defaultValue());
  }

  /**
   * A whole number.
   *
   * @param setting which
   * @param min the least that is allowed
   * @param max the most that is allowed
   * @throws BatchWeaveException of kind CONFIG if it is not one
   */
  public long number(StoreSetting setting, long min, long max) {
    String value = text(setting);
    try {
      long number = Long.parseLong(value);
      if (number >= min && number <= max) {
        return number;
      }
    } catch (NumberFormatException e) {
      // Refused below, with everything out of range.
    }
    throw refused(setting, "a number from " + min + " to " + max);
  }

  /**
   * A yes or no.
   *
   * @param setting which
   * @param whenUnset the value if it is not given
   * @throws BatchWeaveException of kind CONFIG if it is neither true nor false
   */
  public boolean flag(StoreSetting setting, boolean whenUnset) {
    return switch (text(setting)) {
      case "" -> whenUnset;
      case "true" -> true;
      case "false" -> false;
      default -> throw refused(setting, "true or false");
    };
  }

  /**
   * One of several words.
   *
   * @param setting which
   * @param choices the words
   * @throws BatchWeaveException of kind CONFIG if it is another
   */
  public String choice(StoreSetting setting, List<String> choices) {
    String value = text(setting);
    if (!choices.contains(value)) {
      throw refused(setting, "one of " + String.join(", ", choices));
    }
    return value;
  }

  /**
   * The first of the variables that is set.
   *
   * @param names variables that are not ours
   * @return its value; empty if none is set
   */
  public String variable(String... names) {
    for (String name : names) {
      String value = environment.getOrDefault(name, "");
      if (!value.isEmpty()) {
        return value;
      }
    }
    return "";
  }

  /**
   * The error for a value that cannot be.
   *
   * @param setting which
   * @param expected what it should be
   */
  public BatchWeaveException refused(StoreSetting setting, String expected) {
    return config(
        "a setting of the store is wrong: "
            + setting.label()
            + "="
            + text(setting)
            + "; expected "
            + expected
            + ", for example "
            + setting.example()
            + " (in the URL or "
            + setting.variable()
            + ")");
  }

  private static BatchWeaveException config(String message) {
    return new BatchWeaveException(BatchWeaveException.Kind.CONFIG, message);
  }
}
