package io.batchweave.store.s3;

import static io.batchweave.store.Outcomes.failure;
import static io.batchweave.store.Outcomes.payload;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.store.ByteRange;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.StoreException;
import io.batchweave.store.StoreFailure;
import io.batchweave.store.TakingStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** U28: whatever an endpoint does or leaves undone, every request ends, with a typed error. */
@Timeout(300)
final class NothingHangsTest {
  private static final String HEAD =
      "HTTP/1.1 200 OK\r\nETag: \"e\"\r\nContent-Length: 100000\r\n\r\n";

  @TempDir Path directory;

  /** What an endpoint does with a connection. */
  enum Endpoint {
    ACCEPTS_AND_IS_SILENT {
      @Override
      void with(RawServer.Connection connection) throws IOException {
        connection.readOn();
      }
    },
    NEVER_READS {
      @Override
      void with(RawServer.Connection connection) {
        LockSupport.parkNanos(TimeUnit.SECONDS.toNanos(60));
      }
    },
    CLOSES_AT_ONCE {
      @Override
      void with(RawServer.Connection connection) {}
    },
    READS_AND_CLOSES {
      @Override
      void with(RawServer.Connection connection) throws IOException {
        connection.readHead();
      }
    },
    READS_AND_RESETS {
      @Override
      void with(RawServer.Connection connection) throws IOException {
        connection.readHead();
        connection.reset();
      }
    },
    SENDS_HALF_A_HEAD {
      @Override
      void with(RawServer.Connection connection) throws IOException {
        connection.readHead();
        connection.send(HEAD.substring(0, 30));
        connection.readOn();
      }
    },
    STOPS_IN_THE_BODY {
      @Override
      void with(RawServer.Connection connection) throws IOException {
        connection.readHead();
        connection.send(HEAD + "x");
        connection.readOn();
      }
    },
    DRIPS_THE_HEAD {
      @Override
      void with(RawServer.Connection connection) throws IOException {
        connection.readHead();
        connection.send("HTTP/1.1 200 OK\r\nX-Drip: ");
        drip(connection);
      }
    },
    DRIPS_THE_BODY {
      @Override
      void with(RawServer.Connection connection) throws IOException {
        connection.readHead();
        connection.send(HEAD);
        drip(connection);
      }
    };

    abstract void with(RawServer.Connection connection) throws IOException;

    private static void drip(RawServer.Connection connection) throws IOException {
      while (true) {
        connection.send("x");
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(100));
      }
    }
  }

  @Test
  void shouldEndEveryRequestWithATypedError() throws IOException {
    List<AutoCloseable> opened = new ArrayList<>();
    Map<String, CompletableFuture<?>> all = new LinkedHashMap<>();
    try {
      for (Endpoint endpoint : Endpoint.values()) {
        RawServer server = new RawServer(endpoint::with);
        opened.addFirst(server);
        ObjectStore store = server.open("&requestTimeoutMs=1000&connectTimeoutMs=1000");
        opened.addFirst(store);
        all(store, endpoint).forEach((what, request) -> all.put(endpoint + " " + what, request));
      }
      all.forEach(NothingHangsTest::requireTypedEnd);
    } finally {
      for (AutoCloseable resource : opened) {
        assertDoesNotThrow(resource::close);
      }
    }
  }

  private Map<String, CompletableFuture<?>> all(ObjectStore store, Endpoint endpoint)
      throws IOException {
    Map<String, CompletableFuture<?>> all = all(store);
    if (endpoint == Endpoint.STOPS_IN_THE_BODY || endpoint == Endpoint.DRIPS_THE_BODY) {
      all.remove("head"); // That has no body.
    }
    if (endpoint == Endpoint.DRIPS_THE_HEAD || endpoint == Endpoint.DRIPS_THE_BODY) {
      // Taken whole, and so worth a longer wait.
      all.keySet().removeAll(List.of("putIfAbsent of much", "put in parts"));
    }
    return all;
  }

  /** Closing a store does not wait longer for its requests than they may take. */
  @Test
  void shouldCloseWhileRequestsAreUnanswered() throws IOException {
    try (RawServer server = new RawServer(RawServer.Connection::readOn)) {
      Map<String, CompletableFuture<?>> all;
      try (ObjectStore store = server.open("")) {
        all = all(store);
      }
      all.forEach((what, request) -> assertTrue(request.isDone(), what));
    }
  }

  private Map<String, CompletableFuture<?>> all(ObjectStore store) throws IOException {
    Path file = Files.write(directory.resolve("target"), new byte[4096]);
    Map<String, CompletableFuture<?>> all = new LinkedHashMap<>();
    all.put("putIfAbsent", store.putIfAbsent("a", payload(1, 10)));
    all.put("putIfAbsent of much", store.putIfAbsent("b", payload(1, 6 << 20)));
    all.put("put", store.put("c", payload(1, 10)));
    all.put("put in parts", store.put("d", payload(1, 20 << 20)));
    all.put("get", store.get("e", null, 100_000));
    all.put("get of a range", store.get("f", new ByteRange(0, 10), 10));
    all.put("getInto", store.getInto("g", new ByteRange(0, 4096), file, 0));
    ObjectStore lending = new TakingStore(store).store();
    all.put("getInto, lent", lending.getInto("g", new ByteRange(0, 4096), file, 0));
    all.put("list", store.list("", 10));
    all.put("delete of one", store.delete(List.of("h")));
    all.put("delete of many", store.delete(List.of("i", "j")));
    all.put("head", store.head("k"));
    return all;
  }

  private static void requireTypedEnd(String what, CompletableFuture<?> request) {
    StoreException failure;
    try {
      failure = failure(request);
    } catch (AssertionError e) {
      throw new AssertionError(what, e);
    }
    StoreFailure kind = failure.failure();
    boolean repeatable = kind.retryable() || kind == StoreFailure.UNCLEAR;
    assertTrue(
        repeatable || kind == StoreFailure.BAD_ANSWER || kind == StoreFailure.TOO_LONG,
        () -> what + ": " + failure);
  }
}
