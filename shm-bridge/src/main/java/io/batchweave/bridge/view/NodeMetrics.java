package io.batchweave.bridge.view;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

/**
 * What a daemon counts, as its metrics endpoint tells it.
 *
 * @param values by name, labels summed up
 */
public record NodeMetrics(Map<String, Double> values) {
  private static final Duration TIMEOUT = Duration.ofSeconds(10);
  private static final String LOOPBACK = "127.0.0.1";

  /** Copies the map. */
  public NodeMetrics {
    values = Map.copyOf(values);
  }

  /** A metric's value; 0 if there is none of that name. */
  public double value(String name) {
    return values.getOrDefault(name, 0.0);
  }

  /**
   * Asks an endpoint.
   *
   * @param url as in {@code daemon.json}; on the loopback address
   * @throws IOException when it does not answer, or not with metrics
   */
  public static NodeMetrics fetch(String url) throws IOException, InterruptedException {
    try (HttpClient client = HttpClient.newBuilder().connectTimeout(TIMEOUT).build()) {
      URI uri = URI.create(url);
      if (!LOOPBACK.equals(uri.getHost())) {
        throw new IOException("metrics are on the loopback address only: url=" + url);
      }
      HttpRequest request = HttpRequest.newBuilder(uri).timeout(TIMEOUT).build();
      return parse(client.send(request, HttpResponse.BodyHandlers.ofString()).body());
    } catch (IllegalArgumentException e) {
      throw new IOException("no metrics: url=" + url + " (" + e.getMessage() + ")", e);
    }
  }

  /**
   * Reads the Prometheus text format.
   *
   * @param text one sample a line
   * @throws NumberFormatException when a value is no number
   */
  public static NodeMetrics parse(String text) {
    Map<String, Double> values = new HashMap<>();
    text.lines()
        .filter(line -> !line.startsWith("#") && line.indexOf(' ') > 0)
        .forEach(line -> {
          int space = line.lastIndexOf(' ');
          int brace = line.indexOf('{');
          String name = line.substring(0, brace < 0 ? space : Math.min(brace, space));
          values.merge(name, Double.valueOf(line.substring(space + 1)), Double::sum);
        });
    return new NodeMetrics(values);
  }
}
