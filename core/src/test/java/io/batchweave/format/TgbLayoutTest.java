package io.batchweave.format;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.store.ByteRange;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class TgbLayoutTest {
  private static final Grid GRID = new Grid(3, 2);

  @Test
  void shouldPlaceSlicesAtMultiplesOf64() {
    List<SliceEntry> placed = TgbLayout.place(128, Samples.slices(3));
    assertEquals(List.of(128L, 256L, 384L), placed.stream().map(SliceEntry::offset).toList());
    assertEquals(0, TgbLayout.paddingAfter(0));
    assertEquals(63, TgbLayout.paddingAfter(1));
    assertEquals(0, TgbLayout.paddingAfter(64));
    assertEquals(63, TgbLayout.paddingAfter((1L << 40) + 1));
  }

  @Test
  void shouldEndATgbAtAMultipleOf64WithTheTrailerLast() {
    TgbLayout.Tail tail = TgbLayout.tail(GRID, Samples.slices(6), "a.txt:0-5");
    assertEquals(0, tail.lengthBytes() % 64);
    List<SliceEntry> placed = TgbLayout.place(0, Samples.slices(6));
    long slicesEnd = placed.getLast().offset() + placed.getLast().lengthBytes();
    assertEquals(tail.lengthBytes(), slicesEnd + tail.bytes().length());
    byte[] bytes = tail.bytes().toByteArray();
    byte[] trailer = Arrays.copyOfRange(bytes, bytes.length - 16, bytes.length);
    assertEquals(
        new TgbLayout.Trailer(tail.footerLengthBytes(), tail.footerCrc32c()),
        TgbLayout.decodeTrailer("o", 0, Bytes.wrap(trailer)));
  }

  @Test
  void shouldReadTheFooterAtItsRangeWhereverTheTgbLies() {
    Random random = new Random(3);
    for (int round = 0; round < 200; round++) {
      Grid grid = new Grid(1 + random.nextInt(40), 1 + random.nextInt(10));
      List<SliceEntry> slices = new ArrayList<>();
      for (int i = 0; i < grid.sliceCount(); i++) {
        slices.add(
            new SliceEntry(0, random.nextInt(5000), random.nextInt(), 3, i, 0xFFFF_FFFEL - i));
      }
      String origin = "ü".repeat(random.nextInt(128));
      long offset = 64L * random.nextInt(1000);
      TgbLayout.Tail tail = TgbLayout.tail(grid, slices, origin);
      TgbEntry entry = TgbLayout.entry(Samples.OBJECT, 11, offset, slices, tail);
      assertEquals(grid.sliceCount() > 256, entry.slices().isEmpty());
      TgbFooter footer = TgbLayout.decodeFooter("o", entry, footerOf(entry, tail));
      assertEquals(grid, footer.grid());
      assertEquals(origin, footer.origin());
      assertEquals(TgbLayout.place(offset, slices), footer.slices());
      assertEquals(tail.lengthBytes(), footer.lengthBytes());
    }
  }

  @Test
  void shouldHoldTheLargestGrid() {
    Grid grid = new Grid(Limits.SLICES, 1);
    List<SliceEntry> slices = Samples.slices(Limits.SLICES);
    TgbLayout.Tail tail = TgbLayout.tail(grid, slices, "x".repeat(Limits.ORIGIN_BYTES));
    assertTrue(tail.footerLengthBytes() <= Limits.FOOTER_BYTES);
    TgbEntry entry = TgbLayout.entry(Samples.OBJECT, 11, 0, slices, tail);
    TgbFooter footer = TgbLayout.decodeFooter("o", entry, footerOf(entry, tail));
    assertEquals(TgbLayout.place(0, slices), footer.slices());
  }

  @Test
  void shouldRefuseToWriteWhatNoReaderWouldAccept() {
    assertRefused(GRID, Samples.slices(5), "");
    List<SliceEntry> differing = new ArrayList<>(Samples.slices(6));
    differing.set(4, new SliceEntry(0, 10, 0, 5, 1, 1));
    assertRefused(GRID, differing, "");
    List<SliceEntry> tooLong = new ArrayList<>(Samples.slices(6));
    tooLong.set(0, new SliceEntry(0, Limits.SLICE_BYTES + 1, 0, 4, 1, 1));
    assertRefused(GRID, tooLong, "");
    List<SliceEntry> tooMany = new ArrayList<>(Samples.slices(6));
    tooMany.set(0, new SliceEntry(0, 1, 0, 4, 1, Limits.SLICE_COUNT + 1));
    assertRefused(GRID, tooMany, "");
    assertRefused(GRID, Samples.slices(6), "x".repeat(Limits.ORIGIN_BYTES + 1));
  }

  /** A flipped bit or a cut anywhere in a footer or trailer (E8). */
  @Test
  void shouldReportCorruptAtEveryFlipAndTruncation() {
    TgbLayout.Tail tail = TgbLayout.tail(GRID, Samples.slices(6), "a.txt:0-5");
    TgbEntry entry = TgbLayout.entry(Samples.OBJECT, 11, 64, Samples.slices(6), tail);
    byte[] footer = footerOf(entry, tail).toByteArray();
    for (int at = 0; at < footer.length; at++) {
      for (int bit = 0; bit < 8; bit++) {
        byte[] flipped = footer.clone();
        flipped[at] ^= (byte) (1 << bit);
        assertCorrupt(() -> TgbLayout.decodeFooter("some/object", entry, Bytes.wrap(flipped)));
      }
      byte[] cut = Arrays.copyOf(footer, at);
      assertCorrupt(() -> TgbLayout.decodeFooter("some/object", entry, Bytes.wrap(cut)));
    }
    byte[] all = tail.bytes().toByteArray();
    byte[] trailer = Arrays.copyOfRange(all, all.length - 16, all.length);
    for (int length = 0; length < 16; length++) {
      byte[] cut = Arrays.copyOf(trailer, length);
      assertCorrupt(() -> TgbLayout.decodeTrailer("some/object", 64, Bytes.wrap(cut)));
    }
    for (int at = 8; at < 16; at++) {
      byte[] flipped = trailer.clone();
      flipped[at] ^= 1;
      assertCorrupt(() -> TgbLayout.decodeTrailer("some/object", 64, Bytes.wrap(flipped)));
    }
    byte[] huge = trailer.clone();
    huge[3] = 0x7F;
    assertCorrupt(() -> TgbLayout.decodeTrailer("some/object", 64, Bytes.wrap(huge)));
    byte[] none = trailer.clone();
    Arrays.fill(none, 0, 4, (byte) 0);
    assertCorrupt(() -> TgbLayout.decodeTrailer("some/object", 64, Bytes.wrap(none)));
  }

  @Test
  void shouldRefuseOrReadExactlyWhenTheChecksumIsGood() {
    TgbLayout.Tail tail = TgbLayout.tail(GRID, Samples.slices(6), "a.txt:0-5");
    TgbEntry entry = TgbLayout.entry(Samples.OBJECT, 11, 64, Samples.slices(6), tail);
    byte[] footer = footerOf(entry, tail).toByteArray();
    Random random = new Random(5);
    for (int round = 0; round < 20_000; round++) {
      byte[] bytes = footer.clone();
      bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
      CRC32C crc = new CRC32C();
      crc.update(bytes);
      TgbEntry changed =
          new TgbEntry(
              entry.object(),
              entry.seq(),
              entry.offset(),
              entry.lengthBytes(),
              bytes.length,
              (int) crc.getValue(),
              List.of());
      try {
        TgbFooter read = TgbLayout.decodeFooter("some/object", changed, Bytes.wrap(bytes));
        TgbLayout.Tail again = TgbLayout.tail(read.grid(), read.slices(), read.origin());
        assertEquals(Bytes.wrap(bytes), footerOf(changed, again));
      } catch (BatchWeaveException e) {
        assertTrue(e.kind() == Kind.CORRUPT || e.kind() == Kind.TOO_NEW, e.toString());
        assertTrue(e.toString().contains("object=some/object"), e.toString());
        assertTrue(e.toString().contains("offset="), e.toString());
      }
    }
  }

  @Test
  void shouldReportCorruptWhenTheManifestSaysOtherwise() {
    TgbLayout.Tail tail = TgbLayout.tail(GRID, Samples.slices(6), "a.txt:0-5");
    TgbEntry entry = TgbLayout.entry(Samples.OBJECT, 11, 64, Samples.slices(6), tail);
    Bytes footer = footerOf(entry, tail);
    List<SliceEntry> other = new ArrayList<>(entry.slices());
    other.set(0, new SliceEntry(64, 100, 1, 4, 8, 512));
    assertCorrupt(() ->
        TgbLayout.decodeFooter("some/object", with(entry, entry.lengthBytes(), other), footer));
    assertCorrupt(() ->
        TgbLayout.decodeFooter(
            "some/object", with(entry, entry.lengthBytes() + 64, List.of()), footer));
  }

  private static TgbEntry with(TgbEntry entry, long lengthBytes, List<SliceEntry> slices) {
    return new TgbEntry(
        entry.object(),
        entry.seq(),
        entry.offset(),
        lengthBytes,
        entry.footerLengthBytes(),
        entry.footerCrc32c(),
        slices);
  }

  private static Bytes footerOf(TgbEntry entry, TgbLayout.Tail tail) {
    ByteRange range = TgbLayout.footerRange(entry);
    byte[] bytes = tail.bytes().toByteArray();
    int start = (int) (range.offset() - entry.offset() - (entry.lengthBytes() - bytes.length));
    return Bytes.wrap(Arrays.copyOfRange(bytes, start, start + (int) range.lengthBytes()));
  }

  private static void assertRefused(Grid grid, List<SliceEntry> slices, String origin) {
    BatchWeaveException e =
        assertThrows(BatchWeaveException.class, () -> TgbLayout.tail(grid, slices, origin));
    assertEquals(Kind.CONFIG, e.kind());
  }

  private static void assertCorrupt(Runnable decode) {
    BatchWeaveException e = assertThrows(BatchWeaveException.class, decode::run);
    assertEquals(Kind.CORRUPT, e.kind(), e.toString());
    assertTrue(e.toString().contains("object=some/object"), e.toString());
    assertTrue(e.toString().contains("offset="), e.toString());
  }
}
