package io.batchweave.store.s3;

import static io.batchweave.store.Outcomes.await;
import static io.batchweave.store.Outcomes.bytes;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpExchange;
import io.batchweave.store.ByteRange;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.RangeReceiver;
import io.batchweave.store.TakingStore;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

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
