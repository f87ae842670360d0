package io.batchweave.store;

import static io.batchweave.store.Outcomes.await;
import static io.batchweave.store.Outcomes.bytes;
import static io.batchweave.store.Outcomes.failure;
import static io.batchweave.store.Outcomes.payload;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.Bytes;
import io.batchweave.store.FaultStore.Fault;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * What every {@link ObjectStore} does, whatever is behind it. An implementation extends this and
 * says how to open a root of its own that is empty at first.
 */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
public abstract class ObjectStoreContract {
  private static final int CONTENDERS = 32;
  private static final int ROUNDS = 100;
  private static final byte GUARD = 0x5A;

  @TempDir Path temp;

  /** The store under test. */
  protected ObjectStore store;

  /** Opens the same root again; the first call of a test finds it empty. */
  protected abstract ObjectStore open();

  @BeforeEach
  void openStore() {
    store = open();
  }

  @AfterEach
  void closeStore() {
    store.close();
  }

  /** F1: of 32 concurrent creates exactly one wins, a hundred times, and its bytes are there. */
  @Test
  void shouldCreateForExactlyOneWhenManyRace() {
    try (ObjectStore other = open()) {
      for (int round = 0; round < ROUNDS; round++) {
        String key = "race/" + round;
        List<CompletableFuture<PutOutcome>> creates = new ArrayList<>();
        for (int contender = 0; contender < CONTENDERS; contender++) {
          ObjectStore through = contender % 2 == 0 ? store : other;
          creates.add(through.putIfAbsent(key, payload(contender, 64)));
        }
        List<Integer> winners = new ArrayList<>();
        for (int contender = 0; contender < CONTENDERS; contender++) {
          if (await(creates.get(contender)) == PutOutcome.CREATED) {
            winners.add(contender);
          }
        }
        assertEquals(1, winners.size(), "winners of " + key + ": " + winners);
        assertArrayEquals(
            bytes(winners.getFirst(), 64), await(store.get(key, null, 64)).toByteArray());
      }
    }
  }

  /** F2: a create on an existing key is refused and changes nothing. */
  @Test
  void shouldLeaveTheBodyUnchangedWhenTheKeyExists() {
    assertEquals(PutOutcome.CREATED, await(store.putIfAbsent("a/key", payload(1, 100))));
    assertEquals(PutOutcome.EXISTS, await(store.putIfAbsent("a/key", payload(2, 50))));
    assertArrayEquals(bytes(1, 100), await(store.get("a/key", null, 1000)).toByteArray());
  }

  /** F2: an empty object exists like any other; a tombstone depends on it. */
  @Test
  void shouldTreatAnEmptyObjectAsExisting() {
    assertEquals(PutOutcome.CREATED, await(store.putIfAbsent("empty", payload(1, 0))));
    assertEquals(PutOutcome.EXISTS, await(store.putIfAbsent("empty", payload(2, 5))));
    assertEquals(0, await(store.get("empty", null, 10)).length());
    assertEquals(0, await(store.head("empty")).sizeBytes());
    assertEquals(StoreFailure.RANGE, failure(store.get("empty", new ByteRange(0, 1), 1)).failure());
  }

  @Test
  void shouldCreateAgainWhenTheKeyWasDeleted() {
    await(store.putIfAbsent("key", payload(1, 10)));
    assertEquals(List.of(), await(store.delete(List.of("key"))));
    assertEquals(PutOutcome.CREATED, await(store.putIfAbsent("key", payload(2, 20))));
    assertArrayEquals(bytes(2, 20), await(store.get("key", null, 20)).toByteArray());
  }

  @Test
  void shouldReplaceTheObjectWhenPutTwice() {
    await(store.put("key", payload(1, 1000)));
    ObjectInfo first = await(store.head("key"));
    await(store.put("key", payload(2, 10)));
    ObjectInfo second = await(store.head("key"));
    assertEquals(1000, first.sizeBytes());
    assertEquals(10, second.sizeBytes());
    assertNotEquals(first.etag(), second.etag());
    assertArrayEquals(bytes(2, 10), await(store.get("key", null, 10)).toByteArray());
  }

  @Test
  void shouldOverwriteByAnEmptyObject() {
    await(store.putIfAbsent("version", payload(1, 100)));
    await(store.put("version", payload(1, 0)));
    assertEquals(0, await(store.get("version", null, 100)).length());
    assertEquals(PutOutcome.EXISTS, await(store.putIfAbsent("version", payload(2, 1))));
  }

  @Test
  void shouldGatherBuffersAndFilesIntoOneObject() throws IOException {
    ByteBuffer heap = ByteBuffer.wrap(bytes(1, 300)).position(100).limit(200);
    ByteBuffer direct = ByteBuffer.allocateDirect(50).put(bytes(2, 50)).flip();
    await(store.put("gathered", Payload.of(List.of(heap, ByteBuffer.allocate(0), direct))));
    byte[] expected = Arrays.copyOf(Arrays.copyOfRange(bytes(1, 300), 100, 200), 150);
    System.arraycopy(bytes(2, 50), 0, expected, 100, 50);
    assertArrayEquals(expected, await(store.get("gathered", null, 150)).toByteArray());
    assertEquals(100, heap.position(), "the caller's buffer is left alone");

    Path file = Files.write(temp.resolve("source"), bytes(3, 5000));
    await(store.put("from-file", Payload.ofFile(file, 1000, 3000)));
    assertArrayEquals(
        Arrays.copyOfRange(bytes(3, 5000), 1000, 4000),
        await(store.get("from-file", null, 3000)).toByteArray());
  }

  @Test
  void shouldSayConfigWhenTheFileToUploadIsTooShort() throws IOException {
    Path file = Files.write(temp.resolve("short"), bytes(3, 10));
    StoreException failure = failure(store.put("key", Payload.ofFile(file, 0, 20)));
    assertEquals(StoreFailure.CONFIG, failure.failure(), failure.getMessage());
    assertEquals(StoreFailure.NOT_FOUND, failure(store.head("key")).failure());
  }

  /** Larger than two parts of a multipart upload, so that uploads and downloads are split. */
  @Test
  void shouldKeepALargeObjectWhole() throws IOException {
    byte[] large = bytes(7, 20 * 1024 * 1024 + 123);
    await(store.put("large", Payload.of(List.of(ByteBuffer.wrap(large)))));
    assertEquals(large.length, await(store.head("large")).sizeBytes());
    Path file = target(large.length + 200);
    assertEquals(
        large.length - 77L,
        await(store.getInto("large", new ByteRange(77, large.length - 77), file, 100)));
    byte[] after = Files.readAllBytes(file);
    assertTrue(Arrays.equals(large, 77, large.length, after, 100, 100 + large.length - 77));
    assertGuards(after, 100, large.length - 77);
  }

  @Test
  void shouldSayHowFarAReadIntoAFileHasComeAndNeverTooMuch() throws IOException {
    byte[] large = bytes(7, 20 * 1024 * 1024 + 123);
    await(store.put("large", Payload.of(List.of(ByteBuffer.wrap(large)))));
    Path file = target(large.length);
    List<Long> told = new ArrayList<>();
    List<Long> tooEarly = new ArrayList<>();
    RangeReceiver receiver =
        new RangeReceiver() {
          @Override
          public void onBegin() {
            told.add(0L);
          }

          @Override
          public void onWritten(long written) {
            told.add(written);
            if (!liesThere(large, 5, file, 9, written)) {
              tooEarly.add(written);
            }
          }
        };
    ByteRange range = new ByteRange(5, large.length - 20);
    await(store.getInto("large", range, file, 9, receiver));
    assertEquals(List.of(), tooEarly);
    assertEquals(0, told.getFirst(), "the attempt began before anything was written");
    assertEquals(told.lastIndexOf(0L), told.indexOf(0L), "one attempt");
    assertEquals(told.stream().sorted().toList(), told);
    assertTrue(told.getLast() <= range.lengthBytes(), told.toString());
  }

  /** Looks at the last bytes of those that are said to be there. */
  private static boolean liesThere(
      byte[] object, int offset, Path file, long position, long written) {
    int length = (int) Math.min(written, 1 << 20);
    byte[] found = new byte[length];
    try (FileChannel channel = FileChannel.open(file)) {
      int read = channel.read(ByteBuffer.wrap(found), position + written - length);
      int from = Math.toIntExact(offset + written - length);
      return read == length && Arrays.equals(object, from, from + length, found, 0, length);
    } catch (IOException e) {
      return false;
    }
  }

  @Test
  void shouldAnswerNotFoundWhenTheKeyIsAbsent() throws IOException {
    Path file = target(10);
    for (StoreException failure :
        List.of(
            failure(store.get("none", null, 10)),
            failure(store.get("no/such/folder", new ByteRange(0, 1), 10)),
            failure(store.head("none")),
            failure(store.getInto("none", new ByteRange(0, 1), file, 0)))) {
      assertEquals(StoreFailure.NOT_FOUND, failure.failure(), failure.getMessage());
      assertTrue(failure.getMessage().contains("key=" + failure.key()), failure.getMessage());
    }
    assertGuards(Files.readAllBytes(file), 0, 0);
  }

  @Test
  void shouldNotTakeAFolderForAnObject() {
    await(store.putIfAbsent("folder/key", payload(1, 10)));
    assertEquals(StoreFailure.NOT_FOUND, failure(store.get("folder", null, 10)).failure());
    assertEquals(StoreFailure.NOT_FOUND, failure(store.head("folder")).failure());
    assertEquals(List.of(), await(store.delete(List.of("folder"))));
    assertEquals(10, await(store.head("folder/key")).sizeBytes());
  }

  @Test
  void shouldReadExactlyTheRange() {
    byte[] whole = bytes(1, 1000);
    await(store.put("key", payload(1, 1000)));
    assertRange(whole, new ByteRange(0, 1), 1);
    assertRange(whole, new ByteRange(10, 90), 90);
    assertRange(whole, new ByteRange(999, 1), 1);
    assertRange(whole, new ByteRange(990, 10), 10);
    assertRange(whole, new ByteRange(0, 1000), 1000);
    assertRange(whole, new ByteRange(990, 500), 10);
    StoreException failure = failure(store.get("key", new ByteRange(1000, 1), 10));
    assertEquals(StoreFailure.RANGE, failure.failure(), failure.getMessage());
  }

  private void assertRange(byte[] whole, ByteRange range, int lengthBytes) {
    int from = (int) range.offset();
    assertArrayEquals(
        Arrays.copyOfRange(whole, from, from + lengthBytes),
        await(store.get("key", range, lengthBytes)).toByteArray(),
        range.toString());
  }

  @Test
  void shouldRefuseMoreThanTheCallerAccepts() {
    await(store.put("key", payload(1, 1000)));
    assertEquals(StoreFailure.TOO_LONG, failure(store.get("key", null, 999)).failure());
    assertEquals(
        StoreFailure.TOO_LONG, failure(store.get("key", new ByteRange(0, 500), 499)).failure());
    assertEquals(1000, await(store.get("key", null, 1000)).length());
  }

  @Test
  void shouldWriteTheRangeIntoTheFileAndNothingElse() throws IOException {
    byte[] whole = bytes(1, 100_000);
    await(store.put("key", payload(1, 100_000)));
    Path file = target(200_000);
    assertEquals(60_000L, await(store.getInto("key", new ByteRange(5_000, 60_000), file, 70_001)));
    byte[] after = Files.readAllBytes(file);
    assertTrue(Arrays.equals(whole, 5_000, 65_000, after, 70_001, 130_001));
    assertGuards(after, 70_001, 60_000);
    assertEquals(200_000, after.length, "the file keeps its length");
  }

  @Test
  void shouldAnswerRangeWhenTheObjectEndsEarlier() throws IOException {
    await(store.put("key", payload(1, 1000)));
    Path file = target(3000);
    StoreException over = failure(store.getInto("key", new ByteRange(500, 501), file, 1000));
    assertEquals(StoreFailure.RANGE, over.failure(), over.getMessage());
    StoreException beyond = failure(store.getInto("key", new ByteRange(1000, 5), file, 1000));
    assertEquals(StoreFailure.RANGE, beyond.failure(), beyond.getMessage());
    assertGuards(Files.readAllBytes(file), 1000, 501);
  }

  @Test
  void shouldSayConfigWhenTheTargetFileDoesNotFit() throws IOException {
    await(store.put("key", payload(1, 1000)));
    Path file = target(100);
    assertEquals(
        StoreFailure.CONFIG,
        failure(store.getInto("key", new ByteRange(0, 50), file, 51)).failure());
    assertEquals(
        StoreFailure.CONFIG,
        failure(store.getInto("key", new ByteRange(0, 50), temp.resolve("absent"), 0)).failure());
    assertGuards(Files.readAllBytes(file), 0, 0);
    assertFalse(Files.exists(temp.resolve("absent")));
  }

  /** F4: what was put is listed, what was deleted is not; sizes are right. */
  @Test
  void shouldListWhatIsThereAfterPutAndDelete() {
    await(store.putIfAbsent("group/1/a", payload(1, 1)));
    await(store.put("group/1/b", payload(1, 2)));
    await(store.put("group/2/c", payload(1, 3)));
    await(store.put("other", payload(1, 4)));
    assertEquals(Set.of("group/1/a", "group/1/b", "group/2/c", "other"), listed("", 100));
    assertEquals(Set.of("group/1/a", "group/1/b"), listed("group/1/", 100));
    assertEquals(Set.of("group/1/a", "group/1/b", "group/2/c"), listed("group/", 100));
    assertEquals(Set.of("group/1/b"), listed("group/1/b", 100));
    assertEquals(Set.of(), listed("group/3/", 100));
    for (ListedObject object : await(store.list("group/", 100)).objects()) {
      assertEquals(await(store.head(object.key())).sizeBytes(), object.sizeBytes());
    }
    await(store.delete(List.of("group/1/a", "other")));
    assertEquals(Set.of("group/1/b", "group/2/c"), listed("", 100));
  }

  /** F4: a prefix is text, not a folder. */
  @Test
  void shouldListByTheStartOfTheName() {
    await(store.put("announce/p.alpha.1", payload(1, 1)));
    await(store.put("announce/p.beta.1", payload(1, 1)));
    await(store.put("announce/f.alpha.1", payload(1, 1)));
    await(store.put("announce-not/p.alpha", payload(1, 1)));
    assertEquals(Set.of("announce/p.alpha.1", "announce/p.beta.1"), listed("announce/p.", 100));
    assertEquals(
        Set.of(
            "announce/p.alpha.1",
            "announce/p.beta.1",
            "announce/f.alpha.1",
            "announce-not/p.alpha"),
        listed("ann", 100));
  }

  /** F4: 999, 1,000 and 1,001 keys, limits on both sides of the page, and the truncated flag. */
  @Test
  void shouldListAcrossThePageBoundary() {
    Set<String> expected = new TreeSet<>();
    for (int i = 0; i < 999; i++) {
      expected.add(String.format("page/%05d", i));
    }
    putAll(expected);
    assertEquals(expected, listed("page/", 5000));
    for (String last : List.of("page/00999", "page/01000")) {
      await(store.put(last, payload(1, 1)));
      expected.add(last);
      assertEquals(expected, listed("page/", 5000));
    }
    assertEquals(1001, expected.size());
    assertFalse(await(store.list("page/", 1001)).truncated());
    Listing cut = await(store.list("page/", 1000));
    assertTrue(cut.truncated());
    assertEquals(1000, new HashSet<>(cut.objects()).size());
    Listing few = await(store.list("page/", 7));
    assertTrue(few.truncated());
    assertEquals(7, few.objects().size());
  }

  /** Deletes more keys than fit into one request, absent ones among them. */
  @Test
  void shouldDeleteAnyNumberOfKeys() {
    Set<String> present =
        IntStream.range(0, 600).mapToObj(i -> "doomed/" + i).collect(Collectors.toSet());
    putAll(present);
    await(store.put("kept", payload(1, 1)));
    List<String> keys =
        IntStream.range(0, 1100).mapToObj(i -> "doomed/" + i).collect(Collectors.toList());
    assertEquals(List.of(), await(store.delete(keys)));
    assertEquals(Set.of("kept"), listed("", 10));
    assertEquals(List.of(), await(store.delete(keys)), "an absent key is no error");
    assertEquals(List.of(), await(store.delete(List.of())));
  }

  @Test
  void shouldRefuseWhatIsNotAKey() {
    for (String key :
        List.of(
            "",
            "/",
            "/absolute",
            "a//b",
            "a/",
            "..",
            "a/../b",
            "./a",
            "a/.",
            "a b",
            "a\\b",
            "ä",
            "~tmp/x",
            "a?b",
            "a#b",
            "a%2Fb",
            "a\nb",
            "x".repeat(901),
            "y".repeat(201))) {
      assertThrows(IllegalArgumentException.class, () -> store.putIfAbsent(key, payload(1, 1)));
      assertThrows(IllegalArgumentException.class, () -> store.put(key, payload(1, 1)));
      assertThrows(IllegalArgumentException.class, () -> store.get(key, null, 1));
      assertThrows(IllegalArgumentException.class, () -> store.head(key));
      assertThrows(IllegalArgumentException.class, () -> store.delete(List.of(key)));
      assertThrows(
          IllegalArgumentException.class, () -> store.getInto(key, new ByteRange(0, 1), temp, 0));
    }
    assertThrows(IllegalArgumentException.class, () -> store.list("../", 10));
    assertThrows(IllegalArgumentException.class, () -> store.list("a", 0));
  }

  @Test
  void shouldKeepTheLongestKey() {
    String key = ("k".repeat(200) + "/").repeat(5).substring(0, 899) + "z";
    assertEquals(Keys.MAX_LENGTH, key.length());
    await(store.putIfAbsent(key, payload(1, 5)));
    assertEquals(Set.of(key), listed("", 10));
  }

  /** A1: the create landed, its answer did not: never "created by me", never "lost". */
  @Test
  void shouldSayUnclearWhenTheAnswerOfALandedCreateIsLost() {
    try (FaultStore faults = new FaultStore(open(), 1);
        RetryingStore retrying = new RetryingStore(faults, 1)) {
      faults.script(StoreOperation.PUT_IF_ABSENT, "v1", Fault.ANSWER_LOST);
      StoreException failure = failure(retrying.putIfAbsent("v1", payload(1, 10)));
      assertEquals(StoreFailure.UNCLEAR, failure.failure());
      assertEquals(io.batchweave.BatchWeaveException.Kind.UNKNOWN_OUTCOME, failure.kind());
      assertEquals(1, failure.attempts(), "a conditional create is sent once");
      assertArrayEquals(bytes(1, 10), await(retrying.get("v1", null, 10)).toByteArray());
      assertEquals(
          PutOutcome.EXISTS,
          await(retrying.putIfAbsent("v1", payload(1, 10))),
          "a second create finds it; only the body tells whose it is");
    }
  }

  /** A6: a 409 is not "exists": the key is still free and the same create may be tried again. */
  @Test
  void shouldCreateWhenTriedAgainAfterAConflict() {
    try (FaultStore faults = new FaultStore(open(), 1)) {
      faults.script(StoreOperation.PUT_IF_ABSENT, "v1", Fault.CONFLICT_409);
      StoreException failure = failure(faults.putIfAbsent("v1", payload(1, 10)));
      assertEquals(StoreFailure.CONFLICT, failure.failure());
      assertTrue(failure.failure().retryable());
      assertEquals(StoreFailure.NOT_FOUND, failure(faults.head("v1")).failure());
      assertEquals(PutOutcome.CREATED, await(faults.putIfAbsent("v1", payload(1, 10))));
    }
  }

  @Test
  void shouldComeToRestWhenCancelled() throws IOException {
    byte[] whole = bytes(1, 4 << 20);
    await(store.put("key", payload(1, 4 << 20)));
    Path file = target(5 << 20);
    for (int i = 0; i < 10; i++) {
      CompletableFuture<Long> read =
          store.getInto("key", new ByteRange(0, whole.length), file, 1000);
      read.cancel(true);
      try {
        assertEquals(whole.length, await(read), "it may have been too late to cancel");
      } catch (CancellationException e) {
        assertTrue(read.isCancelled());
      }
      byte[] after = Files.readAllBytes(file);
      assertGuards(after, 1000, whole.length);
      Files.write(file, filled(5 << 20));
      assertArrayEquals(filled(5 << 20), Files.readAllBytes(file));
    }
    assertEquals(
        whole.length, await(store.getInto("key", new ByteRange(0, whole.length), file, 0)));
  }

  @Test
  void shouldFailTypedWhenClosed() throws IOException {
    Path file = target(10);
    ObjectStore closing = open();
    await(closing.put("key", payload(1, 10)));
    closing.close();
    closing.close();
    for (CompletableFuture<?> request :
        List.<CompletableFuture<?>>of(
            closing.putIfAbsent("a", payload(1, 1)),
            closing.put("a", payload(1, 1)),
            closing.get("key", null, 10),
            closing.getInto("key", new ByteRange(0, 1), file, 0),
            closing.head("key"),
            closing.list("", 1),
            closing.delete(List.of("key")))) {
      assertEquals(StoreFailure.CLOSED, failure(request).failure());
    }
    assertEquals(10, await(store.head("key")).sizeBytes(), "nothing was sent");
  }

  @Test
  void shouldEndEveryRequestWhenClosedWhileTheyRun() {
    ObjectStore closing = open();
    List<CompletableFuture<?>> requests = new ArrayList<>();
    for (int i = 0; i < 64; i++) {
      requests.add(closing.put("busy/" + i, payload(i, 64 * 1024)));
    }
    closing.close();
    for (CompletableFuture<?> request : requests) {
      assertTrue(request.isDone());
      if (request.isCompletedExceptionally()) {
        assertEquals(StoreFailure.CLOSED, failure(request).failure());
      }
    }
    for (ListedObject object : await(store.list("busy/", 100)).objects()) {
      // S3Proxy lists the temporary files of writes that are under way, under longer names.
      if (object.key().length() <= "busy/63".length()) {
        assertEquals(64 * 1024, object.sizeBytes(), () -> "a part of an object: " + object);
      }
    }
  }

  @Test
  void shouldCarryOutRequestsThatAreValues() {
    StoreRequests.PayloadSource uploads = handle -> payload(handle, 30);
    Bytes body = Bytes.wrap(bytes(1, 10));
    assertEquals(
        new StoreResponse.Created(), run(new StoreRequest.PutIfAbsent("v/1", body), uploads));
    assertEquals(
        new StoreResponse.Exists(), run(new StoreRequest.PutIfAbsent("v/1", body), uploads));
    assertEquals(
        new StoreResponse.Found(body), run(new StoreRequest.Get("v/1", null, 10), uploads));
    assertEquals(new StoreResponse.NotFound(), run(new StoreRequest.Get("v/2", null, 10), uploads));
    assertEquals(new StoreResponse.Created(), run(new StoreRequest.Upload("data", 9, 30), uploads));
    assertArrayEquals(bytes(9, 30), await(store.get("data", null, 30)).toByteArray());
    assertEquals(
        new StoreResponse.Listed(List.of(new ListedObject("v/1", 10)), false),
        run(new StoreRequest.ListPrefix("v/", 10), uploads));
    assertEquals(
        new StoreResponse.Deleted(List.of()),
        run(new StoreRequest.Delete(List.of("v/1", "data")), uploads));
    StoreResponse refused = run(new StoreRequest.Get("../v", null, 10), uploads);
    assertEquals(StoreFailure.CONFIG, ((StoreResponse.Failed) refused).failure());
    StoreResponse tooLong = run(new StoreRequest.Get("v/1", new ByteRange(0, 5), 2), uploads);
    assertEquals(new StoreResponse.NotFound(), tooLong);
  }

  private StoreResponse run(StoreRequest request, StoreRequests.PayloadSource uploads) {
    return await(StoreRequests.execute(store, request, uploads));
  }

  private Set<String> listed(String prefix, int limit) {
    Listing listing = await(store.list(prefix, limit));
    assertFalse(listing.truncated());
    Set<String> keys =
        listing.objects().stream()
            .map(ListedObject::key)
            .collect(Collectors.toCollection(TreeSet::new));
    assertEquals(listing.objects().size(), keys.size(), "each key once");
    return keys;
  }

  private void putAll(Set<String> keys) {
    Semaphore slots = new Semaphore(64);
    List<CompletableFuture<Void>> puts = new ArrayList<>();
    for (String key : keys) {
      slots.acquireUninterruptibly();
      puts.add(store.put(key, payload(1, 1)).whenComplete((done, thrown) -> slots.release()));
    }
    puts.forEach(Outcomes::await);
  }

  /** A file full of guard bytes. */
  private Path target(int lengthBytes) throws IOException {
    return Files.write(temp.resolve("target"), filled(lengthBytes));
  }

  private static byte[] filled(int lengthBytes) {
    byte[] bytes = new byte[lengthBytes];
    Arrays.fill(bytes, GUARD);
    return bytes;
  }

  private static void assertGuards(byte[] after, int from, int lengthBytes) {
    for (int i = 0; i < after.length; i++) {
      if (i == from) {
        i += lengthBytes;
        if (i >= after.length) {
          return;
        }
      }
      if (after[i] != GUARD) {
        throw new AssertionError("a byte outside the range was touched: position=" + i);
      }
    }
  }
}
