package io.batchweave.produce;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.DataObject;
import io.batchweave.format.Grid;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SliceEntry;
import io.batchweave.format.TgbEntry;
import io.batchweave.format.TgbFooter;
import io.batchweave.format.TgbLayout;
import io.batchweave.store.ByteRange;
import io.batchweave.store.Payload;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TgbBuilderTest {
  private static final Grid GRID = new Grid(4, 2);

  private static Bytes bytes(int index) {
    byte[] value = new byte[100 + 37 * index];
    Arrays.fill(value, (byte) (index + 1));
    return Bytes.wrap(value);
  }

  private static TgbBuilder all(int except) {
    TgbBuilder builder = new TgbBuilder(GRID);
    for (int i = 0; i < GRID.sliceCount(); i++) {
      if (i != except) {
        builder.slice(i / 2, i % 2, bytes(i), 4, 10, 100 + i);
      }
    }
    return builder;
  }

  private static Kind refusal(org.junit.jupiter.api.function.Executable action) {
    return assertThrows(BatchWeaveException.class, action).kind();
  }

  private static byte[] read(Payload payload, int chunkBytes) throws IOException {
    ByteBuffer whole = ByteBuffer.allocate((int) payload.lengthBytes());
    try (Payload.Reader reader = payload.open()) {
      boolean done = false;
      while (!done) {
        whole.limit(Math.min(whole.capacity(), whole.position() + chunkBytes));
        done = reader.read(whole);
      }
    }
    assertEquals(payload.lengthBytes(), whole.position());
    return whole.array();
  }

  @Test
  void shouldLaySlicesOutInGridOrderWhenComplete() throws IOException {
    Tgb tgb = all(-1).origin("here").build();
    DataObject object = new DataObject("p", 1, 5, 5, 7);
    TgbEntry entry = tgb.entry(object, 5);
    for (int chunkBytes : new int[] {13, 1 << 20}) {
      byte[] whole = read(tgb.payload(), chunkBytes);
      assertEquals(tgb.lengthBytes(), whole.length);
      assertEquals(entry.lengthBytes(), whole.length);
      for (int i = 0; i < GRID.sliceCount(); i++) {
        SliceEntry slice = entry.slices().get(i);
        assertEquals(0, slice.offset() % TgbLayout.ALIGNMENT);
        byte[] part =
            Arrays.copyOfRange(
                whole, (int) slice.offset(), (int) (slice.offset() + slice.lengthBytes()));
        assertEquals(bytes(i), Bytes.wrap(part));
        CRC32C crc = new CRC32C();
        crc.update(part);
        assertEquals((int) crc.getValue(), slice.crc32c());
        assertEquals(100 + i, slice.tokens());
      }
      ByteRange range = TgbLayout.footerRange(entry);
      byte[] footer =
          Arrays.copyOfRange(
              whole, (int) range.offset(), (int) (range.offset() + range.lengthBytes()));
      TgbFooter decoded =
          TgbLayout.decodeFooter(ObjectNames.data(object), entry, Bytes.wrap(footer));
      assertEquals("here", decoded.origin());
      assertEquals(entry.slices(), decoded.slices());
    }
  }

  @Test
  void shouldTakeSlicesFromFiles(@TempDir Path directory) throws IOException {
    Path file = Files.write(directory.resolve("slices"), bytes(5).toByteArray());
    Tgb tgb =
        new TgbBuilder(new Grid(2, 1))
            .slice(0, 0, Payload.ofFile(file, 0, 100), 1, 1, 1)
            .slice(1, 0, Payload.ofFile(file, 100, 80), 1, 1, 1)
            .build();
    byte[] whole = read(tgb.payload(), 7);
    assertEquals(
        Bytes.wrap(Arrays.copyOf(bytes(5).toByteArray(), 80)),
        Bytes.wrap(Arrays.copyOfRange(whole, 128, 208)));
  }

  /** H4. */
  @Test
  void shouldRefuseWhenASliceIsMissing() {
    BatchWeaveException e = assertThrows(BatchWeaveException.class, () -> all(6).build());
    assertEquals(Kind.CONFIG, e.kind());
    assertTrue(String.valueOf(e.getMessage()).contains("dp=3 cp=0"), e.getMessage());
  }

  /** H4: 4, 4, 4, 5 micro-batches. */
  @Test
  void shouldRefuseWhenMicroBatchesDiffer() {
    TgbBuilder builder = all(7).slice(3, 1, bytes(7), 5, 10, 1);
    BatchWeaveException e = assertThrows(BatchWeaveException.class, builder::build);
    assertEquals(Kind.CONFIG, e.kind());
    assertTrue(String.valueOf(e.getMessage()).contains("microBatches=5"), e.getMessage());
  }

  @Test
  void shouldRefuseASliceWhenItDoesNotFit() {
    TgbBuilder builder = new TgbBuilder(GRID).slice(0, 0, bytes(0), 1, 1, 1);
    assertEquals(Kind.CONFIG, refusal(() -> builder.slice(0, 0, bytes(0), 1, 1, 1)));
    assertEquals(Kind.CONFIG, refusal(() -> builder.slice(4, 0, bytes(0), 1, 1, 1)));
    assertEquals(Kind.CONFIG, refusal(() -> builder.slice(0, -1, bytes(0), 1, 1, 1)));
    assertEquals(Kind.CONFIG, refusal(() -> builder.slice(0, 1, Bytes.EMPTY, 1, 1, 1)));
    assertEquals(Kind.CONFIG, refusal(() -> builder.slice(0, 1, bytes(0), 0, 1, 1)));
    assertEquals(Kind.CONFIG, refusal(() -> builder.slice(0, 1, bytes(0), 1, -1, 1)));
    assertEquals(Kind.LIMIT, refusal(() -> builder.slice(0, 1, bytes(0), 1, 1, 1L << 32)));
    assertEquals(Kind.LIMIT, refusal(() -> builder.origin("ä".repeat(129))));
    Payload gone = Payload.ofFile(Path.of("/no/such/file"), 0, 1);
    assertEquals(Kind.CONFIG, refusal(() -> builder.slice(0, 1, gone, 1, 1, 1)));
  }
}
