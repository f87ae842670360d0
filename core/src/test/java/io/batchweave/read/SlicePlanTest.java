package io.batchweave.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.DataObject;
import io.batchweave.format.Grid;
import io.batchweave.format.TgbEntry;
import io.batchweave.produce.TgbBuilder;
import io.batchweave.read.SlicePlan.PlannedSlice;
import io.batchweave.read.SlicePlan.Range;
import io.batchweave.store.ByteRange;
import java.util.List;
import org.junit.jupiter.api.Test;

class SlicePlanTest {
  private static final Grid CUT = new Grid(4, 2);

  /** Slices of 100 bytes at 0, 128, 256, … */
  private static TgbEntry entry() {
    TgbBuilder builder = new TgbBuilder(CUT);
    for (int i = 0; i < CUT.sliceCount(); i++) {
      builder.slice(i / 2, i % 2, Bytes.wrap(new byte[100]), 1, 1, i);
    }
    return builder.build().entry(new DataObject("p", 1, 1, 1, 1), 1);
  }

  private static List<ByteRange> ranges(Grid ranks, Coordinate... places) {
    return SlicePlan.of(entry(), CUT, ranks, List.of(places)).ranges().stream()
        .map(Range::bytes)
        .toList();
  }

  @Test
  void shouldMergeAdjacentSlicesIntoOneRange() {
    assertEquals(
        List.of(new ByteRange(0, 484)),
        ranges(
            CUT,
            new Coordinate(1, 1),
            new Coordinate(0, 0),
            new Coordinate(1, 0),
            new Coordinate(0, 1)));
  }

  @Test
  void shouldNeedOneRangeWhenTheStepIsOneOfSeveralInItsObject() {
    TgbBuilder builder = new TgbBuilder(CUT);
    for (int i = 0; i < CUT.sliceCount(); i++) {
      builder.slice(i / 2, i % 2, Bytes.wrap(new byte[100]), 1, 1, i);
    }
    TgbEntry packed = builder.build().entry(new DataObject("p", 1, 1, 9, 1), 4, 6_400);
    SlicePlan plan =
        SlicePlan.of(packed, CUT, CUT, List.of(new Coordinate(1, 0), new Coordinate(1, 1)));
    assertEquals(
        List.of(new ByteRange(6_400 + 256, 228)),
        plan.ranges().stream().map(Range::bytes).toList());
  }

  @Test
  void shouldKeepRangesApartWhenASliceBetweenIsNotWanted() {
    assertEquals(
        List.of(new ByteRange(0, 100), new ByteRange(256, 228)),
        ranges(CUT, new Coordinate(0, 0), new Coordinate(1, 0), new Coordinate(1, 1)));
  }

  @Test
  void shouldFetchASliceOnceWhenRanksShareIt() {
    assertEquals(
        List.of(new ByteRange(384, 100)), ranges(CUT, new Coordinate(1, 1), new Coordinate(1, 1)));
  }

  @Test
  void shouldTakeConsecutiveSlicesWhenThereAreFewerRanks() {
    Grid ranks = new Grid(2, 2);
    assertEquals(
        List.of(new Coordinate(2, 1), new Coordinate(3, 1)),
        SlicePlan.slicesOf(CUT, ranks, new Coordinate(1, 1)));
    SlicePlan plan = SlicePlan.of(entry(), CUT, ranks, List.of(new Coordinate(1, 1)));
    assertEquals(
        List.of(new ByteRange(640, 100), new ByteRange(896, 100)),
        plan.ranges().stream().map(Range::bytes).toList());
    assertEquals(
        List.of(new ByteRange(512, 484)),
        ranges(ranks, new Coordinate(1, 0), new Coordinate(1, 1)));
  }

  @Test
  void shouldSayWhereEachSliceLiesInItsRange() {
    SlicePlan plan =
        SlicePlan.of(entry(), CUT, CUT, List.of(new Coordinate(1, 1), new Coordinate(2, 0)));
    List<PlannedSlice> slices = plan.ranges().getFirst().slices();
    assertEquals(2, slices.size());
    assertEquals(0, slices.get(0).offsetInRange());
    assertEquals(128, slices.get(1).offsetInRange());
    assertEquals(4, slices.get(1).entry().tokens());
    assertEquals(2, slices.get(1).dp());
  }

  @Test
  void shouldRefuseGridsThatDoNotFit() {
    for (Grid ranks : List.of(new Grid(3, 2), new Grid(8, 2), new Grid(4, 1))) {
      BatchWeaveException e =
          assertThrows(BatchWeaveException.class, () -> SlicePlan.requireReadable(CUT, ranks));
      assertEquals(Kind.CONFIG, e.kind());
    }
  }

  @Test
  void shouldSayCorruptWhenTheTableIsOfAnotherGrid() {
    Grid other = new Grid(8, 2);
    BatchWeaveException e =
        assertThrows(
            BatchWeaveException.class,
            () -> SlicePlan.of(entry(), other, other, List.of(new Coordinate(0, 0))));
    assertEquals(Kind.CORRUPT, e.kind());
  }
}
