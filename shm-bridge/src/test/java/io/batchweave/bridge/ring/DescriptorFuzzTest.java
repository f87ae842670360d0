package io.batchweave.bridge.ring;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Every shared structure, damaged at random: a decoder answers, or refuses with an error of its
 * own; never an index out of bounds, and never a place outside of the region.
 */
class DescriptorFuzzTest {
  private static final long REGION_BYTES = 8192;
  private static final long[] AWKWARD = {
    0, 1, -1, 63, 64, 4096, REGION_BYTES, Integer.MAX_VALUE, 1L << 31, Long.MAX_VALUE, -64, -4096
  };

  private int refused;
  private int read;

  @Test
  void shouldAnswerOrRefuseWhateverTheBytesAre() {
    fuzz(20260701, 40_000);
  }

  @Test
  @Tag("full")
  void shouldAnswerOrRefuseWhateverTheBytesAreForLong() {
    for (int seed = 1; seed <= 20; seed++) {
      fuzz(seed, 400_000);
    }
  }

  private void fuzz(long seed, int rounds) {
    SplittableRandom random = new SplittableRandom(seed);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment control = arena.allocate(ControlDescriptor.fileLength(8, 3), 4096);
      MemorySegment reader = arena.allocate(ReaderDescriptor.LENGTH, 4096);
      MemorySegment region = arena.allocate(REGION_BYTES, 4096);
      MemorySegment doorbell = arena.allocate(DoorbellDescriptor.LENGTH, 4096);
      for (int round = 0; round < rounds; round++) {
        switch (round % 4) {
          case 0 -> control(random, control);
          case 1 -> reader(random, reader);
          case 2 -> table(random, region);
          default -> doorbell(random, doorbell);
        }
      }
    }
    assertTrue(refused > rounds / 8 && read > rounds / 8, "refused=" + refused + " read=" + read);
  }

  private static void damage(SplittableRandom random, MemorySegment segment, long below) {
    for (int i = random.nextInt(4); i >= 0; i--) {
      long value =
          random.nextBoolean() ? AWKWARD[random.nextInt(AWKWARD.length)] : random.nextLong();
      long at = random.nextLong(below / 4) * 4;
      if (random.nextBoolean() && at % 8 == 0) {
        segment.set(ValueLayout.JAVA_LONG, at, value);
      } else {
        segment.set(ValueLayout.JAVA_INT, at, (int) value);
      }
    }
  }

  private void take(Runnable decoding) {
    try {
      decoding.run();
      read++;
    } catch (BatchWeaveException e) {
      refused++;
    }
  }

  private void control(SplittableRandom random, MemorySegment control) {
    control.fill((byte) 0);
    ControlDescriptor.writeHeader(control, DescriptorTest.HEADER);
    ControlDescriptor.storeFailure(control, "an object that is gone");
    damage(random, control, random.nextBoolean() ? 384 : control.byteSize());
    long length = random.nextInt(8) == 0 ? random.nextLong(control.byteSize()) : control.byteSize();
    MemorySegment seen = control.asSlice(0, length);
    take(() -> {
      GenerationHeader header = ControlDescriptor.readHeader("ctl", seen);
      long end =
          ControlDescriptor.descriptorOffset(random.nextLong() >>> 1, header.descriptorCount())
              + 128;
      assertTrue(end <= seen.byteSize(), "a descriptor behind the file");
      assertTrue(ControlDescriptor.loadStatus(seen).trouble().length() <= RingAbi.TEXT_BYTES);
      assertTrue(ControlDescriptor.loadFailure(seen).length() <= RingAbi.TEXT_BYTES);
    });
  }

  private void reader(SplittableRandom random, MemorySegment reader) {
    reader.fill((byte) 0);
    ReaderDescriptor.writeHeader(
        reader,
        new ReaderHeader(new Id128(1, 2), Id128.NONE, 4711, 3, new Coordinate(1, 0), 4, 2, 8));
    damage(random, reader, random.nextBoolean() ? 128 : reader.byteSize());
    take(() -> {
      ReaderHeader header = ReaderDescriptor.readHeader("reader", reader);
      assertTrue(header.coordinate().dp() < header.dpSize());
      var _ = ReaderDescriptor.attachmentLoadAcquire(reader);
      var _ = ReaderDescriptor.isAckedLoadAcquire(reader, random.nextLong() >>> 1, 1024);
    });
  }

  private void table(SplittableRandom random, MemorySegment region) {
    region.fill((byte) 0);
    TableDescriptor.write(
        region,
        7,
        List.of(
            new TableEntry(new Coordinate(0, 0), 256, 1000, 1, 1, 2, 3),
            new TableEntry(new Coordinate(1, 0), 1280, 500, 2, 1, 2, 3)));
    damage(random, region, random.nextBoolean() ? 64 : 192);
    take(() -> {
      int entries = TableDescriptor.check("data", region, 0, REGION_BYTES, 7);
      for (int i = 0; i < entries; i++) {
        long entry = TableDescriptor.entryOffset(i);
        long from = TableDescriptor.sliceOffset(region, entry);
        long length = TableDescriptor.sliceLength(region, entry);
        assertTrue(from >= 0 && length >= 0 && length <= REGION_BYTES - from, "outside");
      }
    });
  }

  private void doorbell(SplittableRandom random, MemorySegment doorbell) {
    doorbell.fill((byte) 0);
    DoorbellDescriptor.writeHeader(doorbell);
    damage(random, doorbell, random.nextBoolean() ? 32 : doorbell.byteSize());
    take(() -> DoorbellDescriptor.checkHeader(doorbell));
  }
}
