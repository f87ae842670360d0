package io.batchweave.bridge.daemon;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.function.Supplier;

/** Serves the metrics on the loopback address, one request at a time, on a thread of its own. */
final class MetricsEndpoint implements AutoCloseable {
  private static final int BACKLOG = 8;
  private static final int OK = 200;
  private static final int NOT_FOUND = 404;
  private static final int METHOD_NOT_ALLOWED = 405;

  private final HttpServer server;

  /**
   * Binds.
   *
   * @param port 0 for a free one
   * @param metrics writes the metrics; called on the endpoint's thread
   */
  MetricsEndpoint(int port, Supplier<String> metrics) {
    try {
      server =
          HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), BACKLOG);
    } catch (IOException e) {
      throw new BatchWeaveException(
          Kind.CONFIG,
          "the metrics port cannot be used: --metrics-port="
              + port
              + " ("
              + e.getMessage()
              + "); choose another, or 0 for a free one",
          e);
    }
    server.createContext("/", exchange -> answer(exchange, metrics));
    server.start();
  }

  /** Where it listens. */
  String url() {
    return "http://127.0.0.1:" + server.getAddress().getPort() + "/metrics";
  }

  private static void answer(HttpExchange exchange, Supplier<String> metrics) throws IOException {
    try (exchange) {
      if (!exchange.getRequestURI().getPath().equals("/metrics")) {
        exchange.sendResponseHeaders(NOT_FOUND, -1);
      } else if (!exchange.getRequestMethod().equals("GET")) {
        exchange.sendResponseHeaders(METHOD_NOT_ALLOWED, -1);
      } else {
        byte[] body = metrics.get().getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", PrometheusText.CONTENT_TYPE);
        exchange.sendResponseHeaders(OK, body.length);
        exchange.getResponseBody().write(body);
      }
    }
  }

  @Override
  public void close() {
    server.stop(0);
  }
}
