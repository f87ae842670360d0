package io.batchweave.bridge.daemon;

import java.util.Locale;

/**
 * Writes the Prometheus text format 0.0.4: HELP and TYPE once per family, then its samples. Not
 * thread-safe.
 */
final class PrometheusText {
  static final String CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

  private final StringBuilder out = new StringBuilder(8_192);

  /** Begins a family. */
  PrometheusText family(String name, MetricType type, String help) {
    out.append("# HELP ").append(name).append(' ').append(escape(help, false)).append('\n');
    out.append("# TYPE ").append(name).append(' ');
    out.append(type.name().toLowerCase(Locale.ROOT)).append('\n');
    return this;
  }

  /** A sample; labels are name, value, name, value, … */
  PrometheusText sample(String name, double value, String... labels) {
    out.append(name);
    for (int i = 0; i < labels.length; i += 2) {
      out.append(i == 0 ? '{' : ',').append(labels[i]);
      out.append("=\"").append(escape(labels[i + 1], true)).append('"');
    }
    out.append(labels.length == 0 ? " " : "} ");
    if (value == Math.rint(value) && Math.abs(value) < 1e15) {
      out.append((long) value);
    } else {
      out.append(value);
    }
    out.append('\n');
    return this;
  }

  /** A family of one sample without labels. */
  PrometheusText single(String name, MetricType type, String help, double value) {
    return family(name, type, help).sample(name, value);
  }

  private static String escape(String text, boolean label) {
    String escaped = text.replace("\\", "\\\\").replace("\n", "\\n");
    return label ? escaped.replace("\"", "\\\"") : escaped;
  }

  @Override
  public String toString() {
    return out.toString();
  }
}
