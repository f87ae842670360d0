package io.batchweave.bridge.ring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.List;
import java.util.function.LongFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a descriptor writes is what it reads, and every way to be wrong is told. */
class DescriptorTest {
  static final GenerationHeader HEADER =
      new GenerationHeader(
          new GenerationHeader.RingFile(3, 1L << 20, 77, 4096),
          9,
          new Id128(0x1122, 0x3344),
          41,
          8,
          1,
          new GenerationHeader.SessionHeader(
              new Id128(5, 6), "job", "run-".concat("x".repeat(60)), 12, 4, 2, 3),
          List.of(new Coordinate(0, 0), new Coordinate(0, 1), new Coordinate(2, 1)));

  private Arena arena = Arena.global();
  private MemorySegment control = MemorySegment.NULL;
  private MemorySegment reader = MemorySegment.NULL;

  // Closed by tearDown.
  @SuppressWarnings("MustBeClosedChecker")
  @BeforeEach
  void setUp() {
    arena = Arena.ofConfined();
    control = arena.allocate(ControlDescriptor.fileLength(8, 3), 4096);
    reader = arena.allocate(ReaderDescriptor.LENGTH, 4096);
  }

  @AfterEach
  void tearDown() {
    arena.close();
  }

  private static void assertRefused(Kind kind, String part, Runnable decoding) {
    BatchWeaveException thrown = assertThrows(BatchWeaveException.class, decoding::run);
    assertEquals(kind, thrown.kind(), thrown::getMessage);
    assertTrue(String.valueOf(thrown.getMessage()).contains(part), thrown::getMessage);
  }

  @Test
  void shouldReadTheHeaderItWrote() {
    ControlDescriptor.writeHeader(control, HEADER);
    assertEquals(HEADER, ControlDescriptor.readHeader("ctl", control));
    assertEquals(ControlDescriptor.STATE_NEW, ControlDescriptor.stateLoadAcquire(control));
  }

  @Test
  void shouldTellNotReadyFromWrongVersionAndTooShort() {
    assertRefused(Kind.RETRYABLE, "not ready", () -> ControlDescriptor.readHeader("ctl", control));
    assertRefused(
        Kind.CORRUPT,
        "too short",
        () -> ControlDescriptor.readHeader("ctl", control.asSlice(0, 4095)));
    ControlDescriptor.writeHeader(control, HEADER);
    assertRefused(
        Kind.CORRUPT,
        "file length",
        () -> ControlDescriptor.readHeader("ctl", control.asSlice(0, control.byteSize() - 8)));
    control.set(ValueLayout.JAVA_INT, ControlDescriptor.ABI_VERSION_OFFSET, 2);
    assertRefused(Kind.TOO_NEW, "abi=2", () -> ControlDescriptor.readHeader("ctl", control));
    control.set(ValueLayout.JAVA_LONG, ControlDescriptor.MAGIC_OFFSET, 99);
    assertRefused(Kind.CORRUPT, "magic", () -> ControlDescriptor.readHeader("ctl", control));
  }

  @Test
  void shouldRefuseEveryHeaderFieldOutOfRange() {
    LongFunction<Runnable> with =
        offset ->
            () -> {
              int before = control.get(ValueLayout.JAVA_INT, offset);
              control.set(ValueLayout.JAVA_INT, offset, -1);
              try {
                ControlDescriptor.readHeader("ctl", control);
              } finally {
                control.set(ValueLayout.JAVA_INT, offset, before);
              }
            };
    ControlDescriptor.writeHeader(control, HEADER);
    assertRefused(Kind.CORRUPT, "page size", with.apply(ControlDescriptor.PAGE_SIZE_OFFSET));
    assertRefused(
        Kind.CORRUPT, "descriptor count", with.apply(ControlDescriptor.DESCRIPTOR_COUNT_OFFSET));
    assertRefused(Kind.CORRUPT, "hold", with.apply(ControlDescriptor.HOLD_OFFSET));
    assertRefused(
        Kind.CORRUPT, "coordinate count", with.apply(ControlDescriptor.COORDINATE_COUNT_OFFSET));
    assertRefused(Kind.CORRUPT, "ring length", with.apply(ControlDescriptor.RING_LENGTH_OFFSET));
    assertRefused(
        Kind.CORRUPT, "file length", with.apply(ControlDescriptor.FILE_LENGTH_OFFSET + 4));
    assertRefused(Kind.CORRUPT, "first step", with.apply(ControlDescriptor.FIRST_STEP_OFFSET + 4));
    assertRefused(Kind.CORRUPT, "dp size", with.apply(ControlDescriptor.DP_SIZE_OFFSET));
    assertRefused(Kind.CORRUPT, "cp size", with.apply(ControlDescriptor.CP_SIZE_OFFSET));
    assertEquals(HEADER, ControlDescriptor.readHeader("ctl", control));
  }

  @Test
  void shouldPublishADescriptorInTheOrderOfTheProtocol() {
    long descriptor = ControlDescriptor.descriptorOffset(11, 8);
    assertEquals(4096 + 3 * 128, descriptor);
    ControlDescriptor.allocate(control, descriptor, 11, new StepRegion(50, 52, 8192, 4096));
    assertEquals(23, ControlDescriptor.seqLoadAcquire(control, descriptor));
    ControlDescriptor.publishRelease(control, descriptor, 11, ControlDescriptor.KIND_READY, 0);
    assertEquals(24, ControlDescriptor.seqLoadAcquire(control, descriptor));
    assertEquals(50, ControlDescriptor.stepLoadPlain(control, descriptor));
    assertEquals(52, ControlDescriptor.nextStepLoadPlain(control, descriptor));
    assertEquals(8192, ControlDescriptor.regionOffsetLoadPlain(control, descriptor));
    assertEquals(4096, ControlDescriptor.regionLengthLoadPlain(control, descriptor));
    assertEquals(1, ControlDescriptor.kindLoadPlain(control, descriptor));
  }

  @Test
  void shouldKeepStatusAndTexts() {
    RingStatus status = new RingStatus(1, 2, new Id128(3, 4), 5, 6, 7, 8, 9, "503 from the store");
    ControlDescriptor.storeStatus(control, status);
    assertEquals(status, ControlDescriptor.loadStatus(control));
    ControlDescriptor.storeFailure(control, "é".repeat(600));
    assertEquals("é".repeat(512), ControlDescriptor.loadFailure(control));
    control.set(ValueLayout.JAVA_INT, ControlDescriptor.FAILURE_LENGTH_OFFSET, -5);
    assertEquals("", ControlDescriptor.loadFailure(control));
    control.set(ValueLayout.JAVA_INT, ControlDescriptor.STATUS_SEQ_OFFSET, 7); // died in between
    assertEquals(RingStatus.IDLE, ControlDescriptor.loadStatus(control));
  }

  @Test
  void shouldCarryStateAndReasonInOneWord() {
    ControlDescriptor.stateStoreRelease(
        control, ControlDescriptor.closedWord(CloseReason.NEW_SESSION));
    int word = ControlDescriptor.stateLoadAcquire(control);
    assertEquals(ControlDescriptor.STATE_CLOSED, ControlDescriptor.stateOf(word));
    assertEquals(CloseReason.NEW_SESSION, ControlDescriptor.reasonOf(word));
    assertEquals(CloseReason.DAEMON_RESTART, CloseReason.of(200));
    assertEquals(FailReason.CORRUPT, FailReason.of(200));
  }

  @Test
  void shouldReadTheReaderFileItWrote() {
    ReaderHeader header =
        new ReaderHeader(new Id128(1, 2), new Id128(3, 4), 123, -1, new Coordinate(3, 1), 4, 2, 8);
    assertRefused(Kind.RETRYABLE, "not ready", () -> ReaderDescriptor.readHeader("r", reader));
    ReaderDescriptor.writeHeader(reader, header);
    assertEquals(header, ReaderDescriptor.readHeader("r", reader));
    assertNull(ReaderDescriptor.attachmentLoadAcquire(reader));
    Attachment attachment = new Attachment(2, 17, new Id128(8, 9), 5);
    ReaderDescriptor.attachRelease(reader, attachment);
    assertEquals(attachment, ReaderDescriptor.attachmentLoadAcquire(reader));
    assertEquals(5, ReaderDescriptor.takenLoadAcquire(reader));
    assertFalse(ReaderDescriptor.isAckedLoadAcquire(reader, 5, 8));
    ReaderDescriptor.ackStoreRelease(reader, 5, 8);
    assertTrue(ReaderDescriptor.isAckedLoadAcquire(reader, 5, 8));
    assertFalse(ReaderDescriptor.isAckedLoadAcquire(reader, 13, 8));
  }

  @Test
  void shouldRefuseEveryMalformationOfAReaderFile() {
    ReaderHeader good =
        new ReaderHeader(new Id128(1, 2), Id128.NONE, 1, 0, new Coordinate(0, 0), 4, 2, 8);
    assertRefused(
        Kind.CORRUPT, "too short", () -> ReaderDescriptor.readHeader("r", reader.asSlice(0, 8703)));
    long[] fields = {
      ReaderDescriptor.FILE_LENGTH_OFFSET,
      ReaderDescriptor.ACK_CAPACITY_OFFSET,
      ReaderDescriptor.DP_SIZE_OFFSET,
      ReaderDescriptor.CP_SIZE_OFFSET,
      ReaderDescriptor.DP_OFFSET,
      ReaderDescriptor.CP_OFFSET,
      ReaderDescriptor.LOCAL_READERS_OFFSET,
      ReaderDescriptor.MAGIC_OFFSET,
    };
    for (long field : fields) {
      ReaderDescriptor.writeHeader(reader, good);
      reader.set(ValueLayout.JAVA_INT, field, -1);
      assertRefused(Kind.CORRUPT, "r", () -> ReaderDescriptor.readHeader("r", reader));
    }
    ReaderDescriptor.writeHeader(reader, good);
    reader.set(ValueLayout.JAVA_INT, ReaderDescriptor.ABI_VERSION_OFFSET, 5);
    assertRefused(Kind.TOO_NEW, "abi=5", () -> ReaderDescriptor.readHeader("r", reader));
  }

  @Test
  void shouldRefuseEveryMalformationOfATable() {
    MemorySegment data = arena.allocate(16384, 4096);
    List<TableEntry> entries =
        List.of(
            new TableEntry(new Coordinate(0, 0), 192, 100, 7, 1, 2, 3),
            new TableEntry(new Coordinate(0, 1), 320, 0, 8, 1, 2, 3));
    TableDescriptor.write(data.asSlice(4096, 8192), 6, entries);
    assertEquals(2, TableDescriptor.check("data", data, 4096, 8192, 6));
    long second = 4096 + TableDescriptor.entryOffset(1);
    assertEquals(320, TableDescriptor.sliceOffset(data, second));
    assertEquals(1, TableDescriptor.cp(data, second));
    assertRefused(
        Kind.CORRUPT, "table step", () -> TableDescriptor.check("data", data, 4096, 8192, 7));
    assertRefused(
        Kind.CORRUPT, "region length", () -> TableDescriptor.check("data", data, 4096, 4096, 6));
    assertRefused(
        Kind.CORRUPT, "table magic", () -> TableDescriptor.check("data", data, 0, 8192, 6));
    assertRefused(
        Kind.CORRUPT, "region length", () -> TableDescriptor.check("data", data, 4096, 63, 6));
    spoil(data, 4096 + TableDescriptor.ENTRY_COUNT_OFFSET, 1 << 30, "entry count");
    spoil(data, 4096 + TableDescriptor.ENTRY_COUNT_OFFSET, 3, "table length");
    spoil(data, 4096 + TableDescriptor.TABLE_LENGTH_OFFSET, 64, "table length");
    spoil(data, second + TableDescriptor.SLICE_OFFSET_OFFSET, 64, "slice offset");
    spoil(data, second + TableDescriptor.SLICE_OFFSET_OFFSET, 8256, "slice offset");
    spoil(data, second + TableDescriptor.SLICE_OFFSET_OFFSET, 321, "slice offset");
    spoil(data, second + TableDescriptor.SLICE_LENGTH_OFFSET, 8000, "slice length");
    spoil(data, second + TableDescriptor.SLICE_LENGTH_OFFSET + 4, -1, "slice length");
    spoil(data, second + TableDescriptor.SLICE_LENGTH_OFFSET + 4, 0x7fffffff, "slice length");
  }

  private static void spoil(MemorySegment data, long offset, int value, String part) {
    int before = data.get(ValueLayout.JAVA_INT, offset);
    data.set(ValueLayout.JAVA_INT, offset, value);
    assertRefused(Kind.CORRUPT, part, () -> TableDescriptor.check("data", data, 4096, 8192, 6));
    data.set(ValueLayout.JAVA_INT, offset, before);
  }

  @Test
  void shouldCheckTheDoorbell() {
    MemorySegment bell = arena.allocate(DoorbellDescriptor.LENGTH, 128);
    assertRefused(Kind.CORRUPT, "magic", () -> DoorbellDescriptor.checkHeader(bell));
    DoorbellDescriptor.writeHeader(bell);
    DoorbellDescriptor.checkHeader(bell);
    DoorbellDescriptor.ringRelease(bell);
    assertEquals(1, DoorbellDescriptor.wordLoadAcquire(bell));
    assertRefused(
        Kind.CORRUPT, "too short", () -> DoorbellDescriptor.checkHeader(bell.asSlice(0, 255)));
    bell.set(ValueLayout.JAVA_INT, DoorbellDescriptor.ABI_VERSION_OFFSET, 3);
    assertRefused(Kind.TOO_NEW, "abi=3", () -> DoorbellDescriptor.checkHeader(bell));
  }

  @Test
  void shouldBuildAndParseNames() {
    Id128 id = new Id128(0x0123456789abcdefL, 0xfedcba9876543210L);
    assertEquals("0123456789abcdeffedcba9876543210.reader", RingAbi.readerName(id));
    assertEquals(id, RingAbi.readerOfName(Path.of("/x", RingAbi.readerName(id))));
    assertEquals("ring-2.17.ctl", RingAbi.controlName(2, 17));
    assertEquals(2, RingAbi.ringOfControlName(Path.of("/x/ring-2.17.ctl")));
    assertEquals(17, RingAbi.generationOfControlName(Path.of("/x/ring-2.17.ctl")));
    assertEquals(5, RingAbi.ringOfDataName(Path.of(RingAbi.dataName(5))));
    assertEquals(-1, RingAbi.ringOfDataName(Path.of("ring-99999999999.data")));
    assertEquals(-1, RingAbi.generationOfControlName(Path.of("ring-1.ctl")));
    assertNull(RingAbi.readerOfName(Path.of("0123.reader")));
  }
}
