package io.batchweave.store.s3;

import static io.batchweave.store.Outcomes.await;
import static io.batchweave.store.Outcomes.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpExchange;
import io.batchweave.store.ByteRange;
import io.batchweave.store.ObjectStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class PartSizesTest {
  private static final long MIB = 1L << 20;

  @ParameterizedTest
  @CsvSource({
    "1, 8",
    "8, 8",
    "17, 8",
    "32, 8",
    "33, 16",
    "64, 16",
    "65, 32",
    "128, 32",
    "129, 32",
    "4096, 32"
  })
  void shouldAskForLargerRangesInLargerParts(long rangeMib, long partMib) {
    assertEquals(partMib * MIB, new PartSizes(8 * MIB, 1024 * MIB).of(rangeMib * MIB));
  }

  @ParameterizedTest
  @CsvSource({"9, 16", "16, 16"})
  void shouldAskForOnePartWhereTwoWouldComeOneAfterTheOther(long rangeMib, long partMib) {
    assertEquals(partMib * MIB, new PartSizes(8 * MIB, 1024 * MIB).of(rangeMib * MIB));
  }

  @Test
  void shouldGrowNoFurtherThanHalfTheWindow() {
    assertEquals(20 * MIB, new PartSizes(5 * MIB, 1024 * MIB).of(4096 * MIB));
    assertEquals(100 * MIB, new PartSizes(100 * MIB, 8192 * MIB).of(4096 * MIB));
    assertEquals(40 * MIB, new PartSizes(40 * MIB, 1024 * MIB).of(80 * MIB));
  }

  @ParameterizedTest
  @CsvSource({"5, 64", "32, 64", "40, 80", "1024, 2048"})
  void shouldLetTwoPartsAtLeastBeUnderWay(long partMib, long windowMib) {
    assertEquals(windowMib * MIB, new PartSizes(5 * MIB, 1024 * MIB).windowBytes(partMib * MIB));
  }

  @Test
  void shouldGiveTheClientRoomForABlockOfParts() {
    PartSizes sizes = new PartSizes(8 * MIB, 1024 * MIB);
    assertEquals(1024 * MIB, sizes.memoryLimitBytes(8 * MIB));
    assertEquals(1152 * MIB, sizes.memoryLimitBytes(64 * MIB));
    assertEquals(8192 * MIB, new PartSizes(8 * MIB, 8192 * MIB).memoryLimitBytes(64 * MIB));
  }

  /** A range of more than four small parts comes whole, and in four parts at most. */
  @Test
  @Timeout(60)
  void shouldBringALargeRangeInFewParts(@TempDir Path directory) throws IOException {
    byte[] object = bytes(1, Math.toIntExact(27 * MIB));
    Path file = Files.write(directory.resolve("ring"), new byte[object.length]);
    try (ScriptedS3 server = new ScriptedS3();
        ObjectStore store = server.open("&partSizeBytes=" + 5 * MIB)) {
      server.answer(exchange -> answerRange(exchange, object));
      ByteRange range = new ByteRange(77, object.length - 100);
      assertEquals(range.lengthBytes(), await(store.getInto("o", range, file, 11)));
      byte[] arrived = Files.readAllBytes(file);
      assertTrue(
          Arrays.equals(object, 77, object.length - 23, arrived, 11, object.length - 89),
          "the bytes of the range");
      int parts = server.requests().size();
      assertTrue(parts <= 4, "parts=" + parts);
    }
  }

  private static void answerRange(HttpExchange exchange, byte[] object) throws IOException {
    String[] asked =
        exchange.getRequestHeaders().getFirst("Range").substring("bytes=".length()).split("-", 2);
    int first = Integer.parseInt(asked[0]);
    int last = Integer.parseInt(asked[1]);
    exchange.getResponseHeaders().set("ETag", "\"e\"");
    exchange
        .getResponseHeaders()
        .set("Content-Range", "bytes " + first + "-" + last + "/" + object.length);
    exchange.sendResponseHeaders(206, last - first + 1L);
    exchange.getResponseBody().write(object, first, last - first + 1);
  }
}
