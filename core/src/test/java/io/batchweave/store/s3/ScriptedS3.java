package io.batchweave.store.s3;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Stores;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** An HTTP server that answers what the test says, and remembers what it was asked. */
final class ScriptedS3 implements AutoCloseable {
  /** Answers one request; the body has been read. */
  interface Answer {
    void to(HttpExchange exchange) throws IOException;
  }

  /** Answers one request with its body. */
  interface BodyAnswer {
    void to(HttpExchange exchange, byte[] body) throws IOException;
  }

  private final HttpServer server;
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final List<String> requests = new ArrayList<>();
  private volatile BodyAnswer answer = (exchange, body) -> exchange.sendResponseHeaders(500, -1);

  ScriptedS3() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(threads);
    server.createContext("/", this::handle);
    server.start();
  }

  private void handle(HttpExchange exchange) throws IOException {
    synchronized (this) {
      requests.add(exchange.getRequestMethod() + " " + exchange.getRequestURI());
    }
    byte[] body = exchange.getRequestBody().readAllBytes();
    try (exchange) {
      answer.to(exchange, body);
    }
  }

  /** What is answered from now on. */
  void answer(Answer next) {
    answer = (exchange, body) -> next.to(exchange);
  }

  /** What is answered from now on, given what was sent. */
  void readAnswer(BodyAnswer next) {
    answer = next;
  }

  /** A status, headers as pairs, and a body. */
  static Answer status(int status, String body, String... headers) {
    return exchange -> {
      byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
      for (int i = 0; i < headers.length; i += 2) {
        exchange.getResponseHeaders().set(headers[i], headers[i + 1]);
      }
      boolean empty = bytes.length == 0 || exchange.getRequestMethod().equals("HEAD");
      exchange.sendResponseHeaders(status, empty ? -1 : bytes.length);
      if (!empty) {
        exchange.getResponseBody().write(bytes);
      }
    };
  }

  /** An error as S3 words it. */
  static Answer error(int status, String code) {
    return status(
        status, "<Error><Code>" + code + "</Code><Message>says the test</Message></Error>");
  }

  /** Method and URI of the requests so far. */
  synchronized List<String> requests() {
    return List.copyOf(requests);
  }

  synchronized void forget() {
    requests.clear();
  }

  /** The URL of a root here, with further settings. */
  String url(String settings) {
    return "s3://bucket/root?endpoint=http://127.0.0.1:"
        + server.getAddress().getPort()
        + "&region=us-east-1"
        + settings;
  }

  /** Opens a store on it. */
  ObjectStore open(String settings) {
    return connect(url(settings));
  }

  /** Opens a store at a URL of one. */
  static ObjectStore connect(String url) {
    return Stores.open(url, Map.of("AWS_ACCESS_KEY_ID", "AK", "AWS_SECRET_ACCESS_KEY", "SK"));
  }

  @Override
  public void close() {
    server.stop(0);
    threads.shutdownNow();
  }
}
