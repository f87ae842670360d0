package io.batchweave.store.probe;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Stores;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** An S3 service in memory with the flaws a test asks for; checks no signatures. */
public final class FlawedS3 implements AutoCloseable {
  /** What it does wrong. */
  public enum Flaw {
    /** Takes a conditional create for a plain put. */
    IGNORES_CONDITION,
    /** Lets two of those that create a key win, now and then. */
    RACY_NOW_AND_THEN,
    /** Refuses what it took for existing, but replaces it all the same. */
    REFUSES_AND_REPLACES,
    /** Answers 501 to If-None-Match. */
    NO_CONDITIONS,
    /** Answers a ranged GET with all of the object. */
    IGNORES_RANGE,
    /** Does not list what was written last. */
    LISTS_LATE,
    /** Loses the object at the boundary of two pages. */
    LOSES_AT_PAGE,
    /** Serves the object before the last put. */
    READS_LATE,
    /** Keeps what is deleted. */
    NEVER_DELETES,
    /** Takes no x-amz-checksum header. */
    NO_CHECKSUMS,
    /** Has versioning and a lifecycle rule. */
    VERSIONED
  }

  private static final Pattern KEY = Pattern.compile("<Key>([^<]+)</Key>");
  private static final Pattern RANGE = Pattern.compile("bytes=(\\d+)-(\\d+)");
  private static final int PAGE_KEYS = 1000;

  private final HttpServer server;
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final Set<Flaw> flaws;
  private final NavigableMap<String, byte[]> objects = new ConcurrentSkipListMap<>();
  private final Map<String, byte[]> before = new HashMap<>();
  private final Map<String, Integer> creates = new HashMap<>();
  private volatile String newest = "";
  private volatile Function<HttpExchange, String> refusal = exchange -> "";

  /** Starts one. */
  public FlawedS3(Flaw... flaws) throws IOException {
    this.flaws = flaws.length == 0 ? Set.of() : EnumSet.copyOf(Arrays.asList(flaws));
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(threads);
    server.createContext("/", this::handle);
    server.start();
  }

  /**
   * Refuses requests with 403 from now on.
   *
   * @param newRefusal answers the code of the error, empty for none
   */
  public void refuse(Function<HttpExchange, String> newRefusal) {
    refusal = newRefusal;
  }

  /** The keys it holds. */
  public Set<String> keys() {
    return Set.copyOf(objects.keySet());
  }

  /** Opens a store on it. */
  public ObjectStore open() {
    return Stores.open(url(), Map.of("AWS_ACCESS_KEY_ID", "AK", "AWS_SECRET_ACCESS_KEY", "SK"));
  }

  /** The URL of a root on it. */
  public String url() {
    return "s3://bucket/root?region=us-east-1&endpoint=http://127.0.0.1:"
        + server.getAddress().getPort();
  }

  private void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      byte[] body = exchange.getRequestBody().readAllBytes();
      String refused = refusal.apply(exchange);
      if (!refused.isEmpty()) {
        answer(exchange, 403, error(refused));
        return;
      }
      String path = exchange.getRequestURI().getPath();
      String query = String.valueOf(exchange.getRequestURI().getRawQuery());
      String key = path.replaceFirst("^/bucket/?", "");
      switch (exchange.getRequestMethod()) {
        case "PUT" -> put(exchange, key, query, body);
        case "GET", "HEAD" -> {
          if (key.isEmpty()) {
            bucket(exchange, query);
          } else {
            get(exchange, key);
          }
        }
        case "POST" -> post(exchange, key, query, body);
        default -> answer(exchange, 405, "");
      }
    }
  }

  private void put(HttpExchange exchange, String key, String query, byte[] body)
      throws IOException {
    boolean condition = exchange.getRequestHeaders().containsKey("If-None-Match");
    if (query.contains("uploadId")) {
      part(exchange, key, query, body);
    } else if (flaws.contains(Flaw.NO_CHECKSUMS)
        && exchange.getRequestHeaders().containsKey("x-amz-checksum-crc32c")) {
      answer(exchange, 501, error("NotImplemented"));
    } else if (condition && flaws.contains(Flaw.NO_CONDITIONS)) {
      answer(exchange, 501, error("NotImplemented"));
    } else if (condition && !flaws.contains(Flaw.IGNORES_CONDITION)) {
      boolean created = create(key, body);
      answer(exchange, created ? 200 : 412, created ? "" : error("PreconditionFailed"));
    } else {
      store(key, body);
      answer(exchange, 200, "");
    }
  }

  private boolean create(String key, byte[] body) {
    if (flaws.contains(Flaw.RACY_NOW_AND_THEN) && key.endsWith("17")) {
      synchronized (this) {
        if (creates.merge(key, 1, Integer::sum) <= 2) {
          store(key, body);
          return true;
        }
      }
    }
    byte[] there = objects.putIfAbsent(key, body);
    if (there != null && flaws.contains(Flaw.REFUSES_AND_REPLACES)) {
      objects.put(key, body);
    }
    newest = there == null ? key : newest;
    return there == null;
  }

  private synchronized void store(String key, byte[] body) {
    byte[] old = objects.put(key, body);
    if (old != null) {
      before.put(key, old);
    }
    newest = key;
  }

  private void get(HttpExchange exchange, String key) throws IOException {
    byte[] body;
    synchronized (this) {
      body = objects.get(key);
      byte[] old = before.remove(key);
      body = flaws.contains(Flaw.READS_LATE) && old != null && body != null ? old : body;
    }
    if (body == null) {
      answer(exchange, 404, error("NoSuchKey"));
      return;
    }
    String range = exchange.getRequestHeaders().getFirst("Range");
    exchange.getResponseHeaders().set("ETag", "\"" + Arrays.hashCode(body) + "\"");
    Matcher matcher = RANGE.matcher(String.valueOf(range));
    if (!matcher.matches() || flaws.contains(Flaw.IGNORES_RANGE)) {
      answer(exchange, 200, body);
      return;
    }
    int first = Integer.parseInt(matcher.group(1));
    int last = (int) Math.min(Long.parseLong(matcher.group(2)), body.length - 1L);
    if (first > last) {
      answer(exchange, 416, error("InvalidRange"));
      return;
    }
    exchange
        .getResponseHeaders()
        .set("Content-Range", "bytes " + first + "-" + last + "/" + body.length);
    answer(exchange, 206, Arrays.copyOfRange(body, first, last + 1));
  }

  private void bucket(HttpExchange exchange, String query) throws IOException {
    boolean versioned = flaws.contains(Flaw.VERSIONED);
    switch (query) {
      case "versioning" ->
          answer(
              exchange,
              200,
              "<VersioningConfiguration>"
                  + (versioned ? "<Status>Enabled</Status>" : "")
                  + "</VersioningConfiguration>");
      case "lifecycle" -> {
        String rule = "<Rule><ID>a</ID><Status>Enabled</Status></Rule>";
        answer(
            exchange,
            versioned ? 200 : 404,
            versioned
                ? "<LifecycleConfiguration>" + rule + "</LifecycleConfiguration>"
                : error("NoSuchLifecycleConfiguration"));
      }
      default -> list(exchange, query);
    }
  }

  private void list(HttpExchange exchange, String query) throws IOException {
    Map<String, String> parameters = new HashMap<>();
    for (String pair : query.split("&", -1)) {
      int equals = pair.indexOf('=');
      parameters.put(
          pair.substring(0, equals),
          URLDecoder.decode(pair.substring(equals + 1), StandardCharsets.UTF_8));
    }
    String prefix = parameters.getOrDefault("prefix", "");
    String after = parameters.getOrDefault("continuation-token", "");
    int max = Math.min(PAGE_KEYS, Integer.parseInt(parameters.getOrDefault("max-keys", "1000")));
    List<String> rest =
        objects.tailMap(after, false).keySet().stream()
            .filter(key -> key.startsWith(prefix))
            .filter(key -> !flaws.contains(Flaw.LISTS_LATE) || !key.equals(newest))
            .skip(flaws.contains(Flaw.LOSES_AT_PAGE) && !after.isEmpty() ? 1 : 0)
            .toList();
    List<String> page = rest.subList(0, Math.min(max, rest.size()));
    boolean truncated = page.size() < rest.size();
    StringBuilder xml = new StringBuilder("<ListBucketResult>");
    xml.append("<IsTruncated>").append(truncated).append("</IsTruncated>");
    if (truncated) {
      xml.append("<NextContinuationToken>").append(page.getLast());
      xml.append("</NextContinuationToken>");
    }
    for (String key : page) {
      byte[] body = objects.getOrDefault(key, new byte[0]);
      xml.append("<Contents><Key>").append(key).append("</Key><Size>");
      xml.append(body.length).append("</Size></Contents>");
    }
    answer(exchange, 200, xml.append("</ListBucketResult>").toString());
  }

  private void post(HttpExchange exchange, String key, String query, byte[] body)
      throws IOException {
    if (query.startsWith("delete")) {
      Matcher names = KEY.matcher(new String(body, StandardCharsets.UTF_8));
      while (names.find() && !flaws.contains(Flaw.NEVER_DELETES)) {
        objects.remove(names.group(1));
      }
      answer(exchange, 200, "<DeleteResult></DeleteResult>");
    } else if (query.startsWith("uploads")) {
      answer(
          exchange,
          200,
          "<InitiateMultipartUploadResult><Bucket>bucket</Bucket><Key>"
              + key
              + "</Key><UploadId>u1</UploadId></InitiateMultipartUploadResult>");
    } else {
      complete(exchange, key);
    }
  }

  private void part(HttpExchange exchange, String key, String query, byte[] body)
      throws IOException {
    Matcher number = Pattern.compile("partNumber=(\\d+)").matcher(query);
    String part = number.find() ? number.group(1) : "0";
    synchronized (this) {
      before.put(key + "#" + part, body);
    }
    exchange.getResponseHeaders().set("ETag", "\"part" + part + "\"");
    answer(exchange, 200, "");
  }

  private void complete(HttpExchange exchange, String key) throws IOException {
    java.io.ByteArrayOutputStream whole = new java.io.ByteArrayOutputStream();
    synchronized (this) {
      for (int part = 1; ; part++) {
        byte[] bytes = before.remove(key + "#" + part);
        if (bytes == null) {
          break;
        }
        whole.writeBytes(bytes);
      }
    }
    store(key, whole.toByteArray());
    answer(
        exchange,
        200,
        "<CompleteMultipartUploadResult><ETag>\"whole\"</ETag></CompleteMultipartUploadResult>");
  }

  private static String error(String code) {
    return "<Error><Code>" + code + "</Code><Message>says the test</Message></Error>";
  }

  private static void answer(HttpExchange exchange, int status, String body) throws IOException {
    answer(exchange, status, body.getBytes(StandardCharsets.UTF_8));
  }

  private static void answer(HttpExchange exchange, int status, byte[] body) throws IOException {
    if (exchange.getRequestMethod().equals("HEAD")) {
      exchange.getResponseHeaders().set("Content-Length", Integer.toString(body.length));
      exchange.sendResponseHeaders(status, -1);
      return;
    }
    exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
    if (body.length > 0) {
      exchange.getResponseBody().write(body);
    }
  }

  @Override
  public void close() {
    server.stop(0);
    threads.shutdownNow();
  }
}
