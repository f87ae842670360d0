package io.batchweave.store.s3;

import static io.batchweave.store.Outcomes.await;
import static io.batchweave.store.Outcomes.bytes;
import static io.batchweave.store.Outcomes.failure;
import static io.batchweave.store.Outcomes.payload;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpExchange;
import io.batchweave.store.ByteRange;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.PutOutcome;
import io.batchweave.store.StoreException;
import io.batchweave.store.StoreFailure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * I1: a service that answers 501 to every {@code x-amz-checksum} header, trailer and multipart
 * request. The whole cycle works with {@code checksums=off}.
 */
@Timeout(60)
final class PlainServiceTest {
  private static final int LARGE = 17 << 20;

  @TempDir Path directory;

  private final Map<String, byte[]> objects = new TreeMap<>();

  @Test
  void shouldDoTheWholeCycleWithoutChecksums() throws IOException {
    try (ScriptedS3 server = new ScriptedS3()) {
      server.readAnswer(this::serve);
      try (ObjectStore store = server.open("&checksums=off")) {
        assertEquals(PutOutcome.CREATED, await(store.putIfAbsent("v/1", payload(1, 100))));
        assertEquals(PutOutcome.EXISTS, await(store.putIfAbsent("v/1", payload(2, 100))));
        await(store.put("data/large", payload(3, LARGE)));
        assertArrayEquals(bytes(1, 100), await(store.get("v/1", null, 100)).toByteArray());
        assertEquals(LARGE, await(store.head("data/large")).sizeBytes());
        Path file = Files.write(directory.resolve("target"), new byte[LARGE]);
        assertEquals(
            LARGE - 5L, await(store.getInto("data/large", new ByteRange(5, LARGE - 5), file, 0)));
        assertArrayEquals(
            Arrays.copyOfRange(bytes(3, LARGE), 5, LARGE),
            Arrays.copyOf(Files.readAllBytes(file), LARGE - 5));
        assertEquals(2, await(store.list("", 10)).objects().size());
        assertEquals(List.of(), await(store.delete(List.of("v/1", "data/large"))));
        assertEquals(0, await(store.list("", 10)).objects().size());
      }
    }
  }

  @Test
  void shouldNameTheSwitchWhenTheServiceRefuses() throws IOException {
    try (ScriptedS3 server = new ScriptedS3()) {
      server.readAnswer(this::serve);
      try (ObjectStore store = server.open("&checksums=crc32c")) {
        StoreException small = failure(store.putIfAbsent("v/1", payload(1, 100)));
        assertEquals(StoreFailure.CONFIG, small.failure());
        assertTrue(small.getMessage().contains("checksums=off"), small.getMessage());
      }
      try (ObjectStore store = server.open("")) {
        assertEquals(PutOutcome.CREATED, await(store.putIfAbsent("v/1", payload(1, 100))));
        StoreException large = failure(store.put("data/large", payload(3, LARGE)));
        assertEquals(StoreFailure.CONFIG, large.failure(), large.getMessage());
        assertTrue(large.getMessage().contains("checksums=off"), large.getMessage());
      }
    }
  }

  @Test
  void shouldSplitNoUploadThatIsNotLongerThanTwoParts() throws IOException {
    int parts = 10 << 20;
    try (ScriptedS3 server = new ScriptedS3();
        ObjectStore store = server.open("&partSizeBytes=" + parts / 2)) {
      server.readAnswer(this::serve);
      await(store.put("data/two", payload(3, parts)));
      assertEquals(List.of("PUT /bucket/root/data/two"), server.requests());
      assertEquals(parts, await(store.head("data/two")).sizeBytes());
      StoreException split = failure(store.put("data/more", payload(3, parts + 1)));
      assertEquals(StoreFailure.CONFIG, split.failure(), split.getMessage());
    }
  }

  /** A small, strict S3: just enough, and 501 for all the rest. */
  private synchronized void serve(HttpExchange exchange, byte[] body) throws IOException {
    String query = String.valueOf(exchange.getRequestURI().getRawQuery());
    boolean refused =
        query.contains("upload")
            || exchange.getRequestHeaders().containsKey("x-amz-trailer")
            || exchange.getRequestHeaders().keySet().stream()
                .anyMatch(name -> name.toLowerCase(Locale.ROOT).startsWith("x-amz-checksum"));
    String key = exchange.getRequestURI().getPath().replaceFirst("^/bucket/?", "");
    if (refused) {
      ScriptedS3.error(501, "NotImplemented").to(exchange);
    } else if (exchange.getRequestMethod().equals("POST")) {
      ScriptedS3.error(501, "NotImplemented").to(exchange);
    } else if (exchange.getRequestMethod().equals("PUT")) {
      boolean create = exchange.getRequestHeaders().containsKey("If-None-Match");
      boolean exists = create && objects.containsKey(key);
      if (!exists) {
        objects.put(key, body);
      }
      ScriptedS3.status(exists ? 412 : 200, "").to(exchange);
    } else if (exchange.getRequestMethod().equals("DELETE")) {
      objects.remove(key);
      ScriptedS3.status(204, "").to(exchange);
    } else if (query.startsWith("list-type")) {
      ScriptedS3.status(200, listing()).to(exchange);
    } else {
      read(exchange, key);
    }
  }

  private String listing() {
    StringBuilder text = new StringBuilder("<ListBucketResult>");
    objects.forEach((key, bytes) ->
        text.append("<Contents><Key>")
            .append(key)
            .append("</Key><Size>")
            .append(bytes.length)
            .append("</Size></Contents>"));
    return text.append("<IsTruncated>false</IsTruncated></ListBucketResult>").toString();
  }

  private void read(HttpExchange exchange, String key) throws IOException {
    byte[] object = objects.get(key);
    if (object == null) {
      ScriptedS3.error(404, "NoSuchKey").to(exchange);
      return;
    }
    String range = exchange.getRequestHeaders().getFirst("Range");
    int from = 0;
    int to = object.length;
    exchange.getResponseHeaders().set("ETag", "\"" + Arrays.hashCode(object) + "\"");
    if (range != null) {
      String[] ends = range.substring("bytes=".length()).split("-", -1);
      from = Integer.parseInt(ends[0]);
      to = Math.min(object.length, Integer.parseInt(ends[1]) + 1);
      exchange
          .getResponseHeaders()
          .set("Content-Range", "bytes " + from + "-" + (to - 1) + "/" + object.length);
    }
    int status = range == null ? 200 : 206;
    if (exchange.getRequestMethod().equals("HEAD")) {
      exchange.getResponseHeaders().set("Content-Length", Integer.toString(to - from));
      exchange.sendResponseHeaders(status, -1);
    } else {
      exchange.sendResponseHeaders(status, to - from);
      exchange.getResponseBody().write(object, from, to - from);
    }
  }
}
