package io.batchweave.store.s3;

import static io.batchweave.store.Outcomes.await;
import static io.batchweave.store.Outcomes.bytes;
import static io.batchweave.store.Outcomes.failure;
import static io.batchweave.store.Outcomes.payload;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpExchange;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.store.ByteRange;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.PutOutcome;
import io.batchweave.store.StoreException;
import io.batchweave.store.StoreFailure;
import io.batchweave.store.TakingStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a service may answer beside the right thing, and what becomes of it. */
@Timeout(60)
final class StrangeAnswersTest {
  private static final byte GUARD = 0x5A;
  private static final int OFFSET = 100;
  private static final int LENGTH = 200_000;
  private static final int POSITION = 70_000;

  @TempDir Path directory;

  private ScriptedS3 server;
  private ObjectStore store;

  @BeforeEach
  void open() throws IOException {
    server = new ScriptedS3();
    store = server.open("&requestTimeoutMs=2000");
  }

  @AfterEach
  void close() {
    store.close();
    server.close();
  }

  /** A7: only 200 is "created", only 412 is "exists"; everything else is no success. */
  @ParameterizedTest
  @CsvSource({
    "201, UNCLEAR", "202, UNCLEAR", "204, UNCLEAR", "206, UNCLEAR", "304, UNCLEAR",
    "400, CONFIG", "403, ACCESS_DENIED", "404, CONFIG", "405, CONFIG", "409, CONFLICT",
    "429, THROTTLED", "500, UNCLEAR", "501, CONFIG", "502, UNCLEAR", "503, THROTTLED",
    "504, UNCLEAR", "507, FULL", "418, UNCLEAR"
  })
  void shouldNotTakeAnOddStatusForSuccess(int status, StoreFailure expected) {
    server.answer(ScriptedS3.status(status, ""));
    StoreException failure = failure(store.putIfAbsent("v", payload(1, 10)));
    assertEquals(expected, failure.failure(), failure.getMessage());
    assertEquals(status, failure.httpStatus());
    assertEquals(List.of("PUT /bucket/root/v"), server.requests(), "sent once");
  }

  @Test
  void shouldKnowCreatedAndExists() {
    server.answer(ScriptedS3.status(200, ""));
    assertEquals(PutOutcome.CREATED, await(store.putIfAbsent("v", payload(1, 10))));
    server.answer(ScriptedS3.error(412, "PreconditionFailed"));
    assertEquals(PutOutcome.EXISTS, await(store.putIfAbsent("v", payload(1, 10))));
  }

  /** A6: 409 says the same create may be tried again, and then it can win. */
  @Test
  void shouldAnswerConflictWhenAnotherRequestWasInTheWay() {
    server.answer(ScriptedS3.error(409, "ConditionalRequestConflict"));
    StoreException failure = failure(store.putIfAbsent("v", payload(1, 10)));
    assertEquals(StoreFailure.CONFLICT, failure.failure());
    assertEquals(Kind.RETRYABLE, failure.kind());
    server.answer(ScriptedS3.status(200, ""));
    assertEquals(PutOutcome.CREATED, await(store.putIfAbsent("v", payload(1, 10))));
  }

  /**
   * A1: a connection that breaks after the request was sent says nothing, and nothing is repeated.
   */
  @Test
  void shouldSendACreateOnceWhenTheConnectionBreaks() {
    server.answer(exchange -> {
      throw new IOException("the connection breaks");
    });
    StoreException failure = failure(store.putIfAbsent("v", payload(1, 10)));
    assertEquals(StoreFailure.UNCLEAR, failure.failure(), failure.getMessage());
    assertEquals(Kind.UNKNOWN_OUTCOME, failure.kind());
    assertEquals(1, server.requests().size());
  }

  @Test
  void shouldSendACreateOnceWhenNoAnswerComes() throws Exception {
    CountDownLatch done = new CountDownLatch(1);
    server.answer(exchange -> {
      try {
        assertTrue(done.await(30, TimeUnit.SECONDS));
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    });
    StoreException failure = failure(store.putIfAbsent("v", payload(1, 10)));
    done.countDown();
    assertEquals(StoreFailure.UNCLEAR, failure.failure(), failure.getMessage());
    assertTrue(failure.getMessage().contains("requestTimeoutMs=2000"), failure.getMessage());
    assertEquals(1, server.requests().size());
  }

  @Test
  void shouldSayUnreachableWhenNothingWasSent() {
    String url = server.url("");
    server.close();
    try (ObjectStore gone =
        io.batchweave.store.Stores.open(
            url, java.util.Map.of("AWS_ACCESS_KEY_ID", "AK", "AWS_SECRET_ACCESS_KEY", "SK"))) {
      StoreException failure = failure(gone.putIfAbsent("v", payload(1, 10)));
      assertEquals(StoreFailure.UNREACHABLE, failure.failure(), failure.getMessage());
      assertEquals(Kind.RETRYABLE, failure.kind());
    }
  }

  /** A 404 may be about the bucket or the user; then it must not look like an absent object. */
  @ParameterizedTest
  @CsvSource({
    "404, NoSuchKey, NOT_FOUND", "404, NoSuchBucket, CONFIG",
        "404, XAdminUserNotFound, ACCESS_DENIED",
    "404, SomethingElse, CONFIG", "403, AccessDenied, ACCESS_DENIED", "403, QuotaExceeded, FULL",
    "400, ExpiredToken, ACCESS_DENIED", "400, RequestTimeout, UNCLEAR", "416, InvalidRange, RANGE",
    "400, SlowDown, THROTTLED", "301, PermanentRedirect, CONFIG", "500, InternalError, UNCLEAR"
  })
  void shouldReadTheCodeOfAnError(int status, String code, StoreFailure expected)
      throws IOException {
    server.answer(ScriptedS3.error(status, code));
    StoreException get = failure(store.get("key", null, 10));
    assertEquals(expected, get.failure(), get.getMessage());
    assertTrue(get.getMessage().contains("code=" + code), get.getMessage());
    StoreException into = failure(store.getInto("key", new ByteRange(0, 5), target(), 0));
    assertEquals(expected, into.failure(), into.getMessage());
  }

  /** U28, U44: answers to a range that are not the range. */
  enum Strange {
    FULL_200,
    LONGER_THAN_THE_RANGE,
    SHORTER_206,
    SHORTER_200,
    CUT_SHORT,
    ENDLESS,
    WRONG_PLACE,
    NO_CONTENT_RANGE,
    NOT_A_CONTENT_RANGE,
    LONG_BODY_OF_A_SHORT_RANGE
  }

  private void answer(HttpExchange exchange, Strange strange) throws IOException {
    long last = OFFSET + LENGTH - 1;
    switch (strange) {
      case FULL_200 -> send(exchange, 200, "", 2 * LENGTH, 2 * LENGTH);
      case LONGER_THAN_THE_RANGE ->
          send(exchange, 206, range(OFFSET, last), LENGTH + 60_000, LENGTH + 60_000);
      case SHORTER_206 -> send(exchange, 206, range(OFFSET, last), LENGTH - 1, LENGTH - 1);
      case SHORTER_200 -> send(exchange, 200, "", LENGTH - 1, LENGTH - 1);
      case CUT_SHORT -> send(exchange, 206, range(OFFSET, last), LENGTH, LENGTH - 1000);
      case ENDLESS -> send(exchange, 206, range(OFFSET, last), 0, 64 << 20);
      case WRONG_PLACE -> send(exchange, 206, range(0, LENGTH - 1), LENGTH, LENGTH);
      case NO_CONTENT_RANGE -> send(exchange, 206, "", LENGTH, LENGTH);
      case NOT_A_CONTENT_RANGE -> send(exchange, 206, "bytes some of it", LENGTH, LENGTH);
      case LONG_BODY_OF_A_SHORT_RANGE ->
          send(exchange, 206, range(OFFSET, last - 1000), LENGTH, LENGTH);
    }
  }

  private static String range(long first, long last) {
    return "bytes " + first + "-" + last + "/10000000";
  }

  private static void send(
      HttpExchange exchange, int status, String contentRange, long contentLength, int sent)
      throws IOException {
    exchange.getResponseHeaders().set("ETag", "\"an-etag\"");
    if (!contentRange.isEmpty()) {
      exchange.getResponseHeaders().set("Content-Range", contentRange);
    }
    exchange.sendResponseHeaders(status, contentLength);
    byte[] chunk = new byte[64 * 1024];
    for (int at = 0; at < sent; at += chunk.length) {
      exchange.getResponseBody().write(chunk, 0, Math.min(chunk.length, sent - at));
    }
    exchange.getResponseBody().flush();
  }

  /** U28, U44: never a success, and the bytes beside the region stay as they were. */
  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "LONG_BODY_OF_A_SHORT_RANGE")
  void shouldKeepTheNeighboursWhenTheAnswerIsNotTheRange(Strange strange) throws IOException {
    server.answer(exchange -> answer(exchange, strange));
    for (ObjectStore way : List.of(store, new TakingStore(store).store())) {
      Path file = target();
      StoreException failure =
          failure(way.getInto("key", new ByteRange(OFFSET, LENGTH), file, POSITION));
      assertTrue(
          failure.failure() == StoreFailure.BAD_ANSWER || failure.failure() == StoreFailure.UNCLEAR,
          failure.getMessage());
      assertGuards(file, strange);
    }
  }

  /** The client cannot tell this one from the range: the checksum of the slice does. */
  @Test
  void shouldKeepTheNeighboursWhenOnlyTheChecksumCanTell() throws IOException {
    Strange strange = Strange.LONG_BODY_OF_A_SHORT_RANGE;
    server.answer(exchange -> answer(exchange, strange));
    for (ObjectStore way : List.of(store, new TakingStore(store).store())) {
      Path file = target();
      assertEquals(
          LENGTH, await(way.getInto("key", new ByteRange(OFFSET, LENGTH), file, POSITION)));
      assertGuards(file, strange);
    }
  }

  private static void assertGuards(Path file, Strange strange) throws IOException {
    byte[] after = Files.readAllBytes(file);
    assertEquals(2 * LENGTH, after.length);
    for (int i = 0; i < after.length; i++) {
      boolean inside = i >= POSITION && i < POSITION + LENGTH;
      if (!inside && after[i] != GUARD) {
        throw new AssertionError(strange + " touched position " + i);
      }
    }
  }

  /** U28: the same answers to a small ranged read. */
  @ParameterizedTest
  @EnumSource
  void shouldRefuseWhatIsNotTheRange(Strange strange) {
    server.answer(exchange -> answer(exchange, strange));
    StoreException failure = failure(store.get("key", new ByteRange(OFFSET, LENGTH), LENGTH));
    assertTrue(
        failure.failure() == StoreFailure.BAD_ANSWER
            || failure.failure() == StoreFailure.UNCLEAR
            || failure.failure() == StoreFailure.TOO_LONG,
        failure.getMessage());
  }

  /** U28: a body shorter than its own length is no answer. */
  @Test
  void shouldNotTakeACutBodyForTheObject() {
    server.answer(exchange -> send(exchange, 200, "", 1000, 500));
    StoreException failure = failure(store.get("key", null, 10_000));
    assertEquals(StoreFailure.UNCLEAR, failure.failure(), failure.getMessage());
  }

  /** U44: an endless body is given up at the bound, not collected. */
  @Test
  void shouldGiveUpAnEndlessBody() {
    server.answer(exchange -> send(exchange, 200, "", 0, Integer.MAX_VALUE - 100_000));
    StoreException failure = failure(store.get("key", null, 100_000));
    assertEquals(StoreFailure.TOO_LONG, failure.failure(), failure.getMessage());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "not xml",
        "<ListBucketResult>",
        "<Other/>",
        "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
        "<ListBucketResult><Contents><Key>root/a</Key><Size>x</Size></Contents></ListBucketResult>",
        "<!DOCTYPE a [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><ListBucketResult>&e;</ListBucketResult>",
        "<a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a></a></a></a></a></a></a></a></a></a>"
            + "</a></a></a></a></a></a></a></a></a>"
      })
  void shouldRefuseAListThatIsNone(String body) {
    server.answer(ScriptedS3.status(200, body));
    StoreException failure = failure(store.list("", 10));
    assertEquals(StoreFailure.BAD_ANSWER, failure.failure(), failure.getMessage());
  }

  @Test
  void shouldEndAListThatNeverEnds() {
    server.answer(
        ScriptedS3.status(
            200,
            "<ListBucketResult><IsTruncated>true</IsTruncated>"
                + "<NextContinuationToken>again</NextContinuationToken></ListBucketResult>"));
    StoreException failure = failure(store.list("", 10));
    assertEquals(StoreFailure.BAD_ANSWER, failure.failure(), failure.getMessage());
    assertEquals(2, server.requests().size());
  }

  /** F4: nor what does not begin with the prefix, whatever the service thinks. */
  @Test
  void shouldSkipWhatIsNotBelowTheRoot() {
    server.answer(
        ScriptedS3.status(
            200,
            "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
                + "<Contents><Key>root/group/a</Key><Size>7</Size></Contents>"
                + "<Contents><Key>root/group/</Key><Size>0</Size></Contents>"
                + "<Contents><Key>root/group/&#xe4;</Key><Size>0</Size></Contents>"
                + "<Contents><Key>elsewhere/b</Key><Size>1</Size></Contents>"
                + "<Contents><Key>root/groups/c</Key><Size>1</Size></Contents>"
                + "<IsTruncated>false</IsTruncated></ListBucketResult>"));
    assertEquals(
        List.of(new io.batchweave.store.ListedObject("group/a", 7)),
        await(store.list("group/", 10)).objects());
  }

  /** Where a service does not delete many at once, keys are deleted one by one. */
  @Test
  void shouldDeleteSinglyWhenBatchesAreRefused() {
    server.answer(exchange -> {
      boolean batch = exchange.getRequestMethod().equals("POST");
      (batch ? ScriptedS3.error(501, "NotImplemented") : ScriptedS3.status(204, "")).to(exchange);
    });
    assertEquals(List.of(), await(store.delete(List.of("a", "b"))));
    assertEquals(3, server.requests().size());
    server.forget();
    assertEquals(List.of(), await(store.delete(List.of("c"))));
    assertEquals(List.of("DELETE /bucket/root/c"), server.requests());
  }

  @Test
  void shouldNameTheKeysThatCouldNotBeDeleted() {
    server.answer(
        ScriptedS3.status(
            200,
            "<DeleteResult><Error><Key>root/b</Key><Code>AccessDenied</Code></Error>"
                + "<Error><Key>root/c</Key><Code>NoSuchKey</Code></Error></DeleteResult>"));
    assertEquals(List.of("b"), await(store.delete(List.of("a", "b", "c"))));
    server.answer(ScriptedS3.error(403, "AccessDenied"));
    assertEquals(StoreFailure.ACCESS_DENIED, failure(store.delete(List.of("a", "b"))).failure());
  }

  private Path target() throws IOException {
    byte[] guards = new byte[2 * LENGTH];
    Arrays.fill(guards, GUARD);
    return Files.write(directory.resolve("target"), guards);
  }

  /** The good answer, so that the strange ones are seen to differ from it. */
  @Test
  void shouldTakeTheRangeWhenItIsTheRange() throws IOException {
    byte[] object = bytes(3, OFFSET + LENGTH);
    server.answer(exchange -> {
      exchange.getResponseHeaders().set("ETag", "\"an-etag\"");
      exchange.getResponseHeaders().set("Content-Range", range(OFFSET, OFFSET + LENGTH - 1));
      exchange.sendResponseHeaders(206, LENGTH);
      exchange.getResponseBody().write(object, OFFSET, LENGTH);
    });
    Path file = target();
    assertEquals(
        LENGTH, await(store.getInto("key", new ByteRange(OFFSET, LENGTH), file, POSITION)));
    byte[] after = Files.readAllBytes(file);
    assertArrayEquals(
        Arrays.copyOfRange(object, OFFSET, OFFSET + LENGTH),
        Arrays.copyOfRange(after, POSITION, POSITION + LENGTH));
    assertEquals(1, server.requests().size());
    assertEquals(LENGTH, await(store.get("key", new ByteRange(OFFSET, LENGTH), LENGTH)).length());
  }
}
