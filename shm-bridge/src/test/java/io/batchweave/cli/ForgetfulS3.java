package io.batchweave.cli;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The least S3 service that can be: puts, gets and deletes, and ignores If-None-Match. */
final class ForgetfulS3 implements AutoCloseable {
  private static final Pattern KEY = Pattern.compile("<Key>([^<]+)</Key>");

  private final HttpServer server;
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final Map<String, byte[]> objects = new ConcurrentHashMap<>();

  ForgetfulS3() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(threads);
    server.createContext("/", this::handle);
    server.start();
  }

  String url() {
    return "s3://bucket/root?region=us-east-1&credentials=anonymous&endpoint=http://127.0.0.1:"
        + server.getAddress().getPort();
  }

  boolean hasStream() {
    return objects.containsKey("root/stream");
  }

  private void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      String body =
          new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.ISO_8859_1);
      String key = exchange.getRequestURI().getPath().replaceFirst("^/bucket/?", "");
      switch (exchange.getRequestMethod()) {
        case "PUT" -> {
          objects.put(key, body.getBytes(StandardCharsets.ISO_8859_1));
          exchange.sendResponseHeaders(200, -1);
        }
        case "POST" -> {
          Matcher names = KEY.matcher(body);
          while (names.find()) {
            objects.remove(names.group(1));
          }
          answer(exchange, 200, "<DeleteResult></DeleteResult>".getBytes(StandardCharsets.UTF_8));
        }
        default -> {
          byte[] found =
              key.isEmpty() ? LISTING.getBytes(StandardCharsets.UTF_8) : objects.get(key);
          if (found == null) {
            exchange.sendResponseHeaders(404, -1);
          } else {
            answer(exchange, 200, found);
          }
        }
      }
    }
  }

  private static final String LISTING = "<ListBucketResult></ListBucketResult>";

  private static void answer(HttpExchange exchange, int status, byte[] body) throws IOException {
    boolean head = exchange.getRequestMethod().equals("HEAD");
    if (head) {
      exchange.getResponseHeaders().set("Content-Length", Integer.toString(body.length));
    }
    exchange.sendResponseHeaders(status, head ? -1 : body.length);
    if (!head) {
      exchange.getResponseBody().write(body);
    }
  }

  @Override
  public void close() {
    server.stop(0);
    threads.shutdownNow();
  }
}
