package io.batchweave.bridge.daemon;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.bridge.memory.FileAccess;
import io.batchweave.bridge.memory.Mapping;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.memory.Protection;
import io.batchweave.bridge.memory.SharedFile;
import io.batchweave.format.SliceEntry;
import io.batchweave.read.SlicePlan;
import io.batchweave.store.ByteRange;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is called checked, whatever the store says while it writes. */
@Timeout(60)
final class RangeCheckTest {
  private static final int POSITION = 4096 + 64;
  private static final int MIB = 1 << 20;

  private final CheckingThreads threads = new CheckingThreads();
  private final BlockingQueue<String> verdicts = new LinkedBlockingQueue<>();
  private final SplittableRandom random = new SplittableRandom(7);
  private Path file;
  private Mapping mapping;

  private final RangeCheck.Listener listener =
      new RangeCheck.Listener() {
        @Override
        public void onChecked(String wrong) {
          verdicts.add(wrong);
        }

        @Override
        public void onUnreadable(Throwable thrown) {
          verdicts.add("unreadable: " + thrown);
        }
      };

  @BeforeEach
  void map() throws IOException {
    file = Files.createTempFile(Path.of("/dev/shm"), "bw-check-", "");
    try (SharedFile opened = NativeMemory.system().open(file, FileAccess.READ_WRITE)) {
      opened.allocate(0, 40L * MIB);
      mapping = opened.map(40L * MIB, Protection.READ_WRITE);
    }
  }

  @AfterEach
  void unmap() throws IOException {
    threads.close();
    mapping.close();
    Files.deleteIfExists(file);
  }

  private byte[] bytes(int length) {
    byte[] bytes = new byte[length];
    random.nextBytes(bytes);
    return bytes;
  }

  private RangeCheck check(byte[] object, int slices) {
    List<SlicePlan.PlannedSlice> planned = new ArrayList<>();
    for (int i = 0; i < slices; i++) {
      // Nothing looks at the bytes between slices.
      int from = (int) ((long) object.length * i / slices) + (i == 0 ? 0 : 3);
      int to = (int) ((long) object.length * (i + 1) / slices);
      planned.add(slice(object, i, from, to));
    }
    return check(object, planned);
  }

  private static SlicePlan.PlannedSlice slice(byte[] object, int dp, int from, int to) {
    CRC32C crc = new CRC32C();
    crc.update(object, from, to - from);
    SliceEntry entry = new SliceEntry(from, to - from, (int) crc.getValue(), 1, 1, 1);
    return new SlicePlan.PlannedSlice(dp, 0, from, entry);
  }

  private RangeCheck check(byte[] object, List<SlicePlan.PlannedSlice> planned) {
    SlicePlan.Range range = new SlicePlan.Range(new ByteRange(0, object.length), planned);
    return new RangeCheck(
        new RegionPlan.Part(range, 64),
        new RegionFetch.Target(file, mapping, POSITION - 64),
        threads,
        listener);
  }

  private void write(byte[] object, int from, int to) {
    MemorySegment.copy(
        MemorySegment.ofArray(object), from, mapping.segment(), POSITION + (long) from, to - from);
  }

  private static void lend(RangeCheck check, byte[] object, int from, int to) {
    // As the client does: a part somewhere in a larger block.
    ByteBuffer block = ByteBuffer.allocateDirect(to - from + 20);
    check.onBytes(from, block.put(7, object, from, to - from).position(7).limit(7 + to - from));
  }

  private String verdict() throws InterruptedException {
    String verdict = verdicts.poll(30, TimeUnit.SECONDS);
    assertTrue(verdict != null, "no verdict");
    return verdict;
  }

  @ParameterizedTest
  @CsvSource({"8, 64", "8, 3000000", "1, 30000001", "3, 20000000", "64, 9000000", "100, 2000000"})
  void shouldAcceptWhatArrivesInAnyStrides(int slices, int length) throws InterruptedException {
    byte[] object = bytes(length);
    for (int stride : new int[] {length, length / 2 + 1, length / 7 + 1}) {
      mapping.segment().fill((byte) 0);
      RangeCheck check = check(object, slices);
      for (int from = 0; from < length; from += stride) {
        int to = Math.min(length, from + stride);
        write(object, from, to);
        check.onWritten(to);
      }
      assertNull(verdicts.poll(), "a verdict before the request has come to rest");
      check.onAtRest();
      assertEquals("", verdict());
    }
    assertTrue(verdicts.isEmpty());
  }

  @ParameterizedTest
  @CsvSource({"8, 64", "8, 3000000", "1, 30000001", "3, 20000000", "64, 9000000", "100, 2000000"})
  void shouldPutInPlaceAndAcceptWhatIsLentInAnyStrides(int slices, int length)
      throws InterruptedException {
    byte[] object = bytes(length);
    for (int stride : new int[] {length, length / 2 + 1, length / 7 + 1}) {
      mapping.segment().fill((byte) 0);
      RangeCheck check = check(object, slices);
      for (int from = 0; from < length; from += stride) {
        lend(check, object, from, Math.min(length, from + stride));
      }
      assertNull(verdicts.poll(), "a verdict before the request has come to rest");
      check.onAtRest();
      assertEquals("", verdict());
      MemorySegment place = mapping.segment().asSlice(POSITION, length);
      assertEquals(-1, place.mismatch(MemorySegment.ofArray(object)));
      assertEquals(0, mapping.segment().get(ValueLayout.JAVA_BYTE, POSITION - 1L));
      assertEquals(0, mapping.segment().get(ValueLayout.JAVA_BYTE, POSITION + (long) length));
    }
    assertTrue(verdicts.isEmpty());
  }

  @ParameterizedTest
  @CsvSource({"8, 4000000", "1, 20000000", "8, 6400"})
  void shouldNameTheSliceWithAWrongByteInWhatIsLent(int slices, int length)
      throws InterruptedException {
    byte[] object = bytes(length);
    for (int round = 0; round < 20; round++) {
      int at = round == 0 ? length - 1 : round == 1 ? 3 : random.nextInt(length);
      if (slices > 1 && at % (length / slices) < 3) {
        at += 3;
      }
      RangeCheck check = check(object, slices);
      byte[] wrong = object.clone();
      wrong[at] ^= 1;
      lend(check, wrong, 0, length / 3);
      lend(check, wrong, length / 3, length);
      check.onAtRest();
      String said = verdict();
      int slice = (int) ((long) at * slices / length);
      assertTrue(said.startsWith("slice dp=" + slice + " cp=0 crc32c="), said + " at=" + at);
    }
  }

  /** Whatever a store does: bytes beside the range stay as they are. */
  @Test
  void shouldRefuseBytesOutOfPlace() {
    byte[] object = bytes(1000);
    mapping.segment().fill((byte) 7);
    RangeCheck check = check(object, 8);
    lend(check, object, 0, 300);
    for (int from : new int[] {299, 301, 0}) {
      assertThrows(IllegalStateException.class, () -> lend(check, object, from, from + 10));
    }
    byte[] longer = bytes(1001);
    assertThrows(IllegalStateException.class, () -> lend(check, longer, 300, 1001));
    MemorySegment behind = mapping.segment().asSlice(POSITION + 300);
    for (long i = 0; i < 2000; i++) {
      assertEquals(7, behind.get(ValueLayout.JAVA_BYTE, i));
    }
  }

  /** What a store brought of a range before it gave up is not all of it. */
  @Test
  void shouldReadWhatWasNotLent() throws InterruptedException {
    byte[] object = bytes(3 * MIB);
    RangeCheck check = check(object, 8);
    lend(check, object, 0, MIB);
    check.onAtRest();
    assertTrue(verdict().startsWith("slice dp="), "the rest is not there");
  }

  @Test
  void shouldThrowWhenTheFileOfTheRingWasCutShort() throws IOException {
    byte[] object = bytes(4 * MIB);
    RangeCheck check = check(object, 8);
    Files.write(file, new byte[0]);
    assertThrows(InternalError.class, () -> lend(check, object, 0, object.length));
  }

  @ParameterizedTest
  @CsvSource({"8, 4000000", "1, 20000000", "8, 6400"})
  void shouldNameTheSliceWithAWrongByteWhereverItIs(int slices, int length)
      throws InterruptedException {
    byte[] object = bytes(length);
    for (int round = 0; round < 20; round++) {
      int at = round == 0 ? length - 1 : round == 1 ? 0 : random.nextInt(length);
      RangeCheck check = check(object, slices);
      write(object, 0, length);
      if (slices > 1 && at % (length / slices) < 3) {
        at += 3;
      }
      mapping.segment().asSlice(POSITION + (long) at, 1).fill((byte) (object[at] ^ 1));
      check.onWritten(length / 3);
      check.onWritten(length);
      check.onAtRest();
      String wrong = verdict();
      int slice = (int) ((long) at * slices / length);
      assertTrue(wrong.startsWith("slice dp=" + slice + " cp=0 crc32c="), wrong + " at=" + at);
    }
  }

  @Test
  void shouldJudgeWhatLiesThereAtRestThoughTheStoreSpokeTooEarly() throws InterruptedException {
    byte[] object = bytes(3 * MIB);
    RangeCheck check = check(object, 8);
    check.onWritten(2 * MIB);
    write(object, 0, object.length);
    check.onAtRest();
    assertEquals("", verdict());
  }

  /** What it would read there takes so long that the request would come to rest later. */
  @Test
  void shouldNotHoldUpWhoeverWrites() throws InterruptedException {
    byte[] object = bytes(10 * MIB);
    RangeCheck check = check(object, 8);
    threads.close(); // Nobody else reads, and nobody could read again.
    check.onWritten(10 * MIB - 65_536);
    write(object, 0, object.length);
    check.onAtRest();
    assertEquals("", verdict());
  }

  @Test
  void shouldAcceptSlicesWithoutBytesWhereverTheyAre() throws InterruptedException {
    byte[] object = bytes(1000);
    List<SlicePlan.PlannedSlice> planned =
        List.of(
            slice(object, 0, 0, 0),
            slice(object, 1, 64, 64),
            slice(object, 2, 64, 500),
            slice(object, 3, 512, 512),
            slice(object, 4, 512, 512),
            slice(object, 5, 512, 900),
            slice(object, 6, 1000, 1000));
    write(object, 0, object.length);
    for (int stride : new int[] {1, 64, 100, 1000}) {
      RangeCheck check = check(object, planned);
      for (int written = stride; written < object.length; written += stride) {
        check.onWritten(written);
      }
      check.onAtRest();
      assertEquals("", verdict());
      RangeCheck lent = check(object, planned);
      for (int from = 0; from < object.length; from += stride) {
        lend(lent, object, from, Math.min(object.length, from + stride));
      }
      lent.onAtRest();
      assertEquals("", verdict());
    }
  }

  @Test
  void shouldNeedNoWordFromTheStore() throws InterruptedException {
    byte[] object = bytes(10 * MIB);
    write(object, 0, object.length);
    check(object, 8).onAtRest();
    assertEquals("", verdict());
  }

  @Test
  void shouldAcceptARangeWithoutSlices() throws InterruptedException {
    check(new byte[1], 0).onAtRest();
    assertEquals("", verdict());
  }

  @Test
  void shouldSayThatTheMappingCannotBeReadWhenItsFileWasCutShort()
      throws InterruptedException, IOException {
    byte[] object = bytes(4 * MIB);
    RangeCheck check = check(object, 8);
    Files.write(file, new byte[0]);
    check.onAtRest();
    String verdict = verdict();
    assertTrue(verdict.startsWith("unreadable: java.lang.InternalError"), verdict);
  }
}
