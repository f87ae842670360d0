package io.batchweave.bridge.daemon;

import java.util.Collection;
import java.util.Locale;
import java.util.stream.Collectors;

/** Writes the little JSON that {@code daemon.json} needs. */
final class DaemonJson {
  private final StringBuilder out = new StringBuilder("{");

  /** A field that is text. */
  DaemonJson text(String name, String value) {
    return raw(name, quote(value));
  }

  /** A field that is a number. */
  DaemonJson number(String name, long value) {
    return raw(name, Long.toString(value));
  }

  /** A field that is a list of objects or texts, already JSON. */
  DaemonJson list(String name, Collection<String> values) {
    return raw(name, values.stream().collect(Collectors.joining(", ", "[", "]")));
  }

  private DaemonJson raw(String name, String json) {
    out.append(out.length() == 1 ? "" : ", ").append(quote(name)).append(": ").append(json);
    return this;
  }

  /** The object. */
  String end() {
    return out + "}";
  }

  static String quote(String value) {
    StringBuilder quoted = new StringBuilder(value.length() + 2).append('"');
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if (c == '"' || c == '\\') {
        quoted.append('\\').append(c);
      } else if (c < ' ') {
        quoted.append(String.format(Locale.ROOT, "\\u%04x", (int) c));
      } else {
        quoted.append(c);
      }
    }
    return quoted.append('"').toString();
  }
}
