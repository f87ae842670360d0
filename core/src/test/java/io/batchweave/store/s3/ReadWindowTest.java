package io.batchweave.store.s3;

import static io.batchweave.store.Outcomes.await;
import static io.batchweave.store.Outcomes.bytes;
import static io.batchweave.store.Outcomes.failure;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpExchange;
import io.batchweave.store.ByteRange;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.StoreException;
import io.batchweave.store.StoreFailure;
import io.batchweave.store.TakingStore;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Ranges that are larger than what may be under way of one, by file and lent. */
@ParameterizedClass(name = "lent={0}")
@ValueSource(booleans = {false, true})
@Timeout(120)
final class ReadWindowTest {
  private static final long MIB = 1L << 20;

  /** With parts of 5 MiB at least, those of a large range have 20 MiB. */
  private static final long PART_BYTES = 20 * MIB;

  private static final int OFFSET = 77;
  private static final int POSITION = 11;
  private static final long LENGTH = 9 * PART_BYTES + 1000;

  /** What objects consist of, again and again. */
  private static final byte[] PATTERN = bytes(1, 999_983);

  @TempDir Path directory;

  @Parameter boolean lent;
  private Path file;
  private ScriptedS3 server;
  private ObjectStore store;

  /** Where the parts begin that were asked for, from the start of the range. */
  private final ConcurrentSkipListSet<Long> asked = new ConcurrentSkipListSet<>();

  private final CountDownLatch held = new CountDownLatch(1);

  @BeforeEach
  void open() throws IOException {
    file = directory.resolve("ring");
    try (FileChannel ring =
        FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      ring.write(ByteBuffer.allocate(1), POSITION + LENGTH + POSITION - 1);
    }
    server = new ScriptedS3();
    store = server.open("&partSizeBytes=" + 5 * MIB);
    if (lent) {
      store = new TakingStore(store).store();
    }
  }

  @AfterEach
  void close() {
    held.countDown();
    store.close();
    server.close();
  }

  private CompletableFuture<Long> begin() {
    return store.getInto("o", new ByteRange(OFFSET, LENGTH), file, POSITION);
  }

  /** While the second part does not come, those that fit into the window are asked for. */
  @Test
  void shouldAskForNoMoreThanFitsIntoTheWindow() throws Exception {
    AtomicBoolean refused = new AtomicBoolean();
    server.answer(exchange -> {
      long first = firstAsked(exchange);
      if (first == PART_BYTES) {
        hold();
      }
      if (first == 3 * PART_BYTES && !refused.getAndSet(true)) {
        ScriptedS3.error(500, "InternalError").to(exchange);
      } else {
        answer(exchange, Long.MAX_VALUE);
      }
    });
    CompletableFuture<Long> range = begin();
    // The first is written; of what follows, a part begins where any of it fits into 64 MiB. Of
    // what
    // is lent, as many are under way as have room there, which is three.
    long last = lastOfWindow();
    awaitAsked(last);
    for (int i = 0; i < 20; i++) {
      assertEquals(10, await(store.getInto("o", new ByteRange(OFFSET, 10), file, 0)));
    }
    assertEquals(last, asked.last());
    held.countDown();
    assertEquals(LENGTH, await(range));
    assertTrue(refused.get(), "a part came again");
    requireArrived();
  }

  @Test
  void shouldGiveUpWhileTheWindowIsFull() throws Exception {
    server.answer(exchange -> {
      if (firstAsked(exchange) == PART_BYTES) {
        hold();
      }
      answer(exchange, Long.MAX_VALUE);
    });
    CompletableFuture<Long> range = begin();
    awaitAsked(lastOfWindow());
    range.cancel(false);
    assertThrows(CancellationException.class, () -> range.get(60, TimeUnit.SECONDS));
  }

  /** U28: the client takes an empty part for a success, and would wait for what it lacks. */
  @ParameterizedTest
  @ValueSource(longs = {0, 1})
  void shouldNotWaitForBytesThatPartsLack(long bodyBytes) {
    server.answer(exchange -> answer(exchange, firstAsked(exchange) == 0 ? LENGTH : bodyBytes));
    StoreException failure = failure(begin());
    assertEquals(StoreFailure.BAD_ANSWER, failure.failure(), failure.getMessage());
  }

  /** U43: a part that never comes is passing trouble, whatever else is there: no wrong bytes. */
  @Test
  void shouldSayWhatKeptAPartAwayThoughALaterOneArrived() {
    server.answer(exchange -> {
      if (firstAsked(exchange) == 5 * MIB) {
        exchange.getResponseHeaders().set("ETag", "\"e\"");
        exchange.sendResponseHeaders(206, 5 * MIB);
        throw new IOException("cut");
      }
      answer(exchange, Long.MAX_VALUE);
    });
    ByteRange range = new ByteRange(OFFSET, 15 * MIB + 1000);
    StoreException failure = failure(store.getInto("o", range, file, POSITION));
    assertTrue(failure.failure().retryable(), failure.getMessage());
  }

  private long lastOfWindow() {
    return (lent ? 3 : 4) * PART_BYTES;
  }

  private void hold() {
    try {
      assertTrue(held.await(100, TimeUnit.SECONDS));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void awaitAsked(long first) {
    long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (asked.isEmpty() || asked.last() < first) {
      assertTrue(System.nanoTime() - deadlineNs < 0, "asked=" + asked);
      LockSupport.parkNanos(1_000_000);
    }
  }

  private static long[] rangeAsked(HttpExchange exchange) {
    String range = exchange.getRequestHeaders().getFirst("Range").substring("bytes=".length());
    return Arrays.stream(range.split("-", 2)).mapToLong(Long::parseLong).toArray();
  }

  private long firstAsked(HttpExchange exchange) {
    long first = rangeAsked(exchange)[0] - OFFSET;
    asked.add(first);
    return first;
  }

  /** Answers what was asked, with so many bytes at most. */
  private static void answer(HttpExchange exchange, long mostBytes) throws IOException {
    long[] range = rangeAsked(exchange);
    exchange.getResponseHeaders().set("ETag", "\"e\"");
    exchange
        .getResponseHeaders()
        .set("Content-Range", "bytes " + range[0] + "-" + range[1] + "/" + (OFFSET + LENGTH));
    long length = Math.min(mostBytes, range[1] - range[0] + 1);
    exchange.sendResponseHeaders(206, length == 0 ? -1 : length);
    OutputStream body = exchange.getResponseBody();
    long end = range[0] + length;
    for (long at = range[0]; at < end; ) {
      int from = (int) (at % PATTERN.length);
      int some = (int) Math.min(PATTERN.length - from, end - at);
      body.write(PATTERN, from, some);
      at += some;
    }
  }

  private void requireArrived() throws IOException {
    byte[] chunk = new byte[PATTERN.length];
    try (var in = Files.newInputStream(file)) {
      in.skipNBytes(POSITION);
      int from = OFFSET;
      for (long left = LENGTH; left > 0; ) {
        int some = (int) Math.min(left, PATTERN.length - from);
        assertEquals(some, in.readNBytes(chunk, 0, some));
        assertTrue(Arrays.equals(PATTERN, from, from + some, chunk, 0, some), "left=" + left);
        left -= some;
        from = 0;
      }
      assertEquals(POSITION, in.readAllBytes().length);
    }
  }
}
