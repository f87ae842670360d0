package io.batchweave.store.s3;

import static io.batchweave.store.Outcomes.await;
import static io.batchweave.store.Outcomes.bytes;
import static io.batchweave.store.Outcomes.failure;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpExchange;
import io.batchweave.store.ByteRange;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.RangeReceiver;
import io.batchweave.store.StoreFailure;
import io.batchweave.store.StoreSettings;
import io.batchweave.store.StoreUrl;
import io.batchweave.store.TakingStore;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import software.amazon.awssdk.crt.CrtResource;
import software.amazon.awssdk.crt.s3.S3Client;

/** To whom bytes are lent, what becomes of who does not take them, and what has no room. */
@Timeout(120)
final class LentDownloadTest {
  private static final int LENGTH = 3000;
  private static final byte[] OBJECT = bytes(5, LENGTH);

  /** So many ranges of one part fit into what is lent. */
  private static final int ROOM = 8;

  @TempDir Path directory;

  private ScriptedS3 server;
  private ObjectStore store;
  private TakingStore taking;
  private final CountDownLatch held = new CountDownLatch(1);

  @BeforeEach
  void open() throws IOException {
    server = new ScriptedS3();
    server.answer(LentDownloadTest::answer);
    store = server.open("");
    taking = new TakingStore(store);
  }

  @AfterEach
  void close() {
    held.countDown();
    store.close();
    server.close();
  }

  private static void answer(HttpExchange exchange) throws IOException {
    exchange.getResponseHeaders().set("ETag", "\"e\"");
    exchange.getResponseHeaders().set("Content-Range", "bytes 0-" + (LENGTH - 1) + "/" + LENGTH);
    exchange.sendResponseHeaders(206, LENGTH);
    exchange.getResponseBody().write(OBJECT);
  }

  private void answerWhenReleased(HttpExchange exchange) throws IOException {
    try {
      assertTrue(held.await(100, TimeUnit.SECONDS));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    answer(exchange);
  }

  private CompletableFuture<Long> read(Path file) {
    return taking.store().getInto("o", new ByteRange(0, LENGTH), file, 10);
  }

  private Path target(int number) throws IOException {
    return Files.write(directory.resolve("ring-" + number), new byte[LENGTH + 10]);
  }

  private static void assertArrived(Path file) throws IOException {
    byte[] expected = new byte[LENGTH + 10];
    System.arraycopy(OBJECT, 0, expected, 10, LENGTH);
    assertArrayEquals(expected, Files.readAllBytes(file));
  }

  /** And what it took of the room for lent bytes is there for those that follow. */
  @Test
  void shouldFailWithWhatTheReceiverThrew() throws Exception {
    InternalError cut = new InternalError("the file was cut short");
    RangeReceiver refusing =
        new RangeReceiver() {
          @Override
          public boolean takesBytes() {
            return true;
          }

          @Override
          public void onBytes(long offset, ByteBuffer bytes) {
            throw cut;
          }

          @Override
          public void onWritten(long writtenBytes) {}
        };
    Path file = target(0);
    for (int i = 0; i < 2 * ROOM; i++) {
      CompletableFuture<Long> refused =
          store.getInto("o", new ByteRange(0, LENGTH), file, 10, refusing);
      ExecutionException failure =
          assertThrows(ExecutionException.class, () -> refused.get(60, TimeUnit.SECONDS));
      assertSame(cut, failure.getCause());
    }
    assertArrayEquals(new byte[LENGTH + 10], Files.readAllBytes(file), "nobody wrote");
    assertEquals(LENGTH, await(read(file)));
    assertEquals(LENGTH, taking.lentBytes.get());
    assertArrived(file);
  }

  /** What finds no room is not kept waiting: it comes by file. */
  @Test
  void shouldWriteByItselfWhatFindsNoRoom() throws IOException {
    assertEquals(LENGTH, await(read(target(0))));
    taking.lentBytes.set(0);
    server.answer(this::answerWhenReleased);
    List<Path> files = new ArrayList<>();
    List<CompletableFuture<Long>> ranges = new ArrayList<>();
    for (int i = 0; i < ROOM + 3; i++) {
      files.add(target(i));
      ranges.add(read(files.getLast()));
    }
    held.countDown();
    for (int i = 0; i < ranges.size(); i++) {
      assertEquals(LENGTH, await(ranges.get(i)));
      assertArrived(files.get(i));
    }
    assertEquals(ROOM * LENGTH, taking.lentBytes.get());
    assertEquals(LENGTH, await(read(files.getFirst())));
    assertEquals((ROOM + 1) * LENGTH, taking.lentBytes.get(), "there is room again");
  }

  /** Ranges that take all of the room, one after the other. */
  @Test
  void shouldHaveRoomAgainForWhoeverHearsOfTheEnd() throws IOException {
    server.answer(this::answerWhenReleased);
    Path file = target(0);
    ByteRange range = new ByteRange(0, LENGTH);
    try (ObjectStore large = server.open("&partSizeBytes=" + CrtResources.LENT_BYTES)) {
      TakingStore takes = new TakingStore(large);
      CompletableFuture<Long> both =
          takes
              .store()
              .getInto("o", range, file, 10)
              .thenCompose(read -> takes.store().getInto("o", range, file, 10));
      held.countDown();
      assertEquals(LENGTH, await(both));
      assertEquals(2 * LENGTH, takes.lentBytes.get());
    }
    assertArrived(file);
  }

  /** Opens clients that lend when it is told to, or never. */
  private final class Opening extends CrtResources {
    private final CountDownLatch begun = new CountDownLatch(1);
    private final AtomicInteger begins = new AtomicInteger();
    private final AtomicInteger lookups = new AtomicInteger();
    private final boolean refuses;

    Opening(boolean refuses) {
      super(settings());
      this.refuses = refuses;
    }

    @Override
    S3Client openLendingS3Client(long partSizeBytes) {
      begins.incrementAndGet();
      begun.countDown();
      try {
        assertTrue(held.await(30, TimeUnit.SECONDS), "nobody waits for this");
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
      if (refuses) {
        throw new OutOfMemoryError("no direct memory");
      }
      return super.openLendingS3Client(partSizeBytes);
    }

    @Override
    @Nullable LendingClient tryLend(long partSizeBytes, long bytes) {
      lookups.incrementAndGet();
      return super.tryLend(partSizeBytes, bytes);
    }
  }

  private S3Settings settings() {
    StoreUrl url = StoreUrl.parse(server.url(""));
    Map<String, String> keys = Map.of("AWS_ACCESS_KEY_ID", "AK", "AWS_SECRET_ACCESS_KEY", "SK");
    return S3Settings.of(url, StoreSettings.resolve(url, keys));
  }

  /** Neither who asks for a range waits, nor any range that nobody takes. */
  @Test
  void shouldReturnWhileTheClientThatLendsIsBeingOpened() throws Exception {
    Opening resources = new Opening(false);
    try (ObjectStore opening = new S3ObjectStore(settings(), resources)) {
      TakingStore takes = new TakingStore(opening);
      List<Path> files = List.of(target(0), target(1), target(2));
      ByteRange range = new ByteRange(0, LENGTH);
      List<CompletableFuture<Long>> waiting = new ArrayList<>();
      for (Path file : files.subList(0, 2)) {
        waiting.add(takes.store().getInto("o", range, file, 10));
      }
      resources.begun.await();
      assertEquals(LENGTH, await(opening.getInto("o", range, files.getLast(), 10)));
      assertFalse(waiting.getFirst().isDone());
      held.countDown();
      for (CompletableFuture<Long> one : waiting) {
        assertEquals(LENGTH, await(one));
      }
      for (Path file : files) {
        assertArrived(file);
      }
      assertEquals(2 * LENGTH, takes.lentBytes.get());
      assertEquals(1, resources.begins.get());
    }
  }

  @Test
  void shouldNotSendWhatWasCancelledWhileTheClientWasBeingOpened() throws Exception {
    Opening resources = new Opening(false);
    try (ObjectStore opening = new S3ObjectStore(settings(), resources)) {
      CompletableFuture<Long> range =
          new TakingStore(opening).store().getInto("o", new ByteRange(0, LENGTH), target(0), 10);
      resources.begun.await();
      range.cancel(false);
      held.countDown();
      assertThrows(CancellationException.class, () -> range.get(60, TimeUnit.SECONDS));
    }
    assertEquals(0, resources.lookups.get());
  }

  @Test
  void shouldNotAskAgainForDirectMemoryThatWasRefused() throws Exception {
    held.countDown();
    try (Opening resources = new Opening(true)) {
      for (int part = 1; part <= 3; part++) {
        long partSizeBytes = part * (8L << 20);
        CompletableFuture<Boolean> lent = new CompletableFuture<>();
        resources.onceKnownWhetherLent(
            partSizeBytes,
            () -> lent.complete(resources.tryLend(partSizeBytes, partSizeBytes) != null));
        assertFalse(await(lent));
      }
      assertEquals(1, resources.begins.get());
    }
  }

  @Test
  void shouldCloseWhileTheClientThatLendsIsBeingOpened() throws Exception {
    Opening resources = new Opening(false);
    S3ObjectStore opening = new S3ObjectStore(settings(), resources);
    CompletableFuture<Long> range =
        new TakingStore(opening).store().getInto("o", new ByteRange(0, LENGTH), target(0), 10);
    requireCloses(resources, opening::close);
    assertEquals(StoreFailure.CLOSED, failure(range).failure());
  }

  @Test
  void shouldReleaseAClientThatWasBeingOpenedWhenItClosed() throws Exception {
    Opening resources = new Opening(false);
    resources.onceKnownWhetherLent(8 << 20, () -> {});
    requireCloses(resources, resources::close);
  }

  /** Waits for what is being opened, and leaves nothing. */
  private void requireCloses(Opening resources, Runnable close) throws InterruptedException {
    store.close();
    resources.begun.await();
    Thread closing = Thread.ofPlatform().start(close);
    boolean ended = closing.join(Duration.ofMillis(300));
    assertFalse(ended, "it waits for the client, which needs what it closes");
    held.countDown();
    closing.join();
    List<String> left = new ArrayList<>();
    CrtResource.collectNativeResource(resource -> left.add(resource.canonicalName));
    assertEquals(List.of(), left);
  }

  @Test
  void shouldWriteByItselfWhereTheJvmHasNoDirectMemory() throws Exception {
    Path file = target(0);
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:MaxDirectMemorySize=32m",
                "-cp",
                System.getProperty("java.class.path"),
                Little.class.getName(),
                server.url(""),
                file.toString())
            .redirectErrorStream(true)
            .start();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), said);
    assertTrue(said.endsWith("read=" + LENGTH + " lent=0\n"), said);
    assertArrived(file);
  }

  /** A process with little direct memory. */
  static final class Little {
    private Little() {}

    /**
     * Reads the range.
     *
     * @param arguments the store's address and the file
     */
    public static void main(String[] arguments) {
      try (ObjectStore store = ScriptedS3.connect(arguments[0])) {
        TakingStore taking = new TakingStore(store);
        long read =
            await(taking.store().getInto("o", new ByteRange(0, LENGTH), Path.of(arguments[1]), 10));
        System.out.println("read=" + read + " lent=" + taking.lentBytes.get());
      }
    }
  }
}
