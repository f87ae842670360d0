package io.batchweave.bridge.ring;

import static io.batchweave.bridge.ring.SharedFields.loadAcquireInt;
import static io.batchweave.bridge.ring.SharedFields.loadAcquireLong;
import static io.batchweave.bridge.ring.SharedFields.loadPlainInt;
import static io.batchweave.bridge.ring.SharedFields.loadPlainLong;
import static io.batchweave.bridge.ring.SharedFields.storePlainInt;
import static io.batchweave.bridge.ring.SharedFields.storePlainLong;
import static io.batchweave.bridge.ring.SharedFields.storeReleaseInt;
import static io.batchweave.bridge.ring.SharedFields.storeReleaseLong;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The control file of one generation of one ring, {@code ring-<n>.<generation>.ctl}: written by the
 * daemon only, mapped read-only by ranks.
 *
 * <pre>
 *      0  magic 8 | abi 4 | page size 4 | file length 8 | ring length 8 | ring inode 8
 *     40  generation 8 | generation id 16 | first step 8
 *     72  ring number 4 | descriptor count 4 | hold 4 | local readers 4
 *     88  stream id 16 | session version 8 | dp size 4 | cp size 4 | coordinate count 4 | 0
 *    128  group 64 | session 64                          constant after OPEN, down to here
 *    256  state word 4: state, reason
 *    384  wake 4: futex word
 *    512  status seq 4 | trouble length 4 | blocked bytes 8 | blocked step 8 | blocked reader 16
 *    552  its steps 8 | published count 8 | allocated count 8 | used bytes 8 | unfinished 4
 *    588  failure length 4
 *    640  trouble text 1024
 *   1664  failure text 1024
 *   4096  descriptors, 128 bytes each:
 *           0 seq 8 | 8 step 8 | 16 next step 8 | 24 offset 8 | 32 length 8 | 40 kind 4 | 44 reason 4
 *   4096 + 128 N  coordinates, 8 bytes each: dp 4 | cp 4
 * </pre>
 *
 * <p>Everything that decodes checks: a rank does not trust the daemon's file, nor a daemon the one
 * of the daemon before it.
 */
public final class ControlDescriptor {
  static final long MAGIC_OFFSET = 0;
  static final long ABI_VERSION_OFFSET = 8;
  static final long PAGE_SIZE_OFFSET = 12;
  static final long FILE_LENGTH_OFFSET = 16;
  static final long RING_LENGTH_OFFSET = 24;
  static final long RING_INODE_OFFSET = 32;
  static final long GENERATION_OFFSET = 40;
  static final long GENERATION_ID_OFFSET = 48;
  static final long FIRST_STEP_OFFSET = 64;
  static final long RING_NUMBER_OFFSET = 72;
  static final long DESCRIPTOR_COUNT_OFFSET = 76;
  static final long HOLD_OFFSET = 80;
  static final long LOCAL_READERS_OFFSET = 84;
  static final long STREAM_ID_OFFSET = 88;
  static final long SESSION_VERSION_OFFSET = 104;
  static final long DP_SIZE_OFFSET = 112;
  static final long CP_SIZE_OFFSET = 116;
  static final long COORDINATE_COUNT_OFFSET = 120;
  static final long GROUP_OFFSET = 128;
  static final long SESSION_OFFSET = 192;
  static final long STATE_OFFSET = 256;

  /** The futex word that ranks wait on. */
  public static final long WAKE_OFFSET = 384;

  static final long STATUS_SEQ_OFFSET = 512;
  static final long TROUBLE_LENGTH_OFFSET = 516;
  static final long BLOCKED_BYTES_OFFSET = 520;
  static final long BLOCKED_STEP_OFFSET = 528;
  static final long BLOCKED_READER_OFFSET = 536;
  static final long BLOCKED_READER_STEPS_OFFSET = 552;
  static final long PUBLISHED_COUNT_OFFSET = 560;
  static final long ALLOCATED_COUNT_OFFSET = 568;
  static final long USED_BYTES_OFFSET = 576;
  static final long UNFINISHED_FETCHES_OFFSET = 584;
  static final long FAILURE_LENGTH_OFFSET = 588;
  static final long TROUBLE_TEXT_OFFSET = 640;
  static final long FAILURE_TEXT_OFFSET = 1664;
  static final long DESCRIPTORS_OFFSET = 4096;
  static final long DESCRIPTOR_LENGTH = 128;
  static final long SEQ_OFFSET = 0;
  static final long STEP_OFFSET = 8;
  static final long NEXT_STEP_OFFSET = 16;
  static final long REGION_OFFSET_OFFSET = 24;
  static final long REGION_LENGTH_OFFSET = 32;
  static final long KIND_OFFSET = 40;
  static final long REASON_OFFSET = 44;
  static final long COORDINATE_LENGTH = 8;
  static final long COORDINATE_DP_OFFSET = 0;
  static final long COORDINATE_CP_OFFSET = 4;

  /** State: being prepared. */
  public static final int STATE_NEW = 0;

  /** State: steps may be taken. */
  public static final int STATE_OPEN = 1;

  /** State: nothing may be taken any more. */
  public static final int STATE_CLOSED = 2;

  /** Kind: the region holds the step. */
  public static final int KIND_READY = 1;

  /** Kind: the step can never be served in this generation. */
  public static final int KIND_FAILED = 2;

  /** Kind: the stream is sealed here. */
  public static final int KIND_END = 3;

  /** Value of seq while the fields beside it are rewritten. */
  public static final long SEQ_VOID = 0;

  private static final int STATUS_ATTEMPTS = 1_000;

  private ControlDescriptor() {}

  /**
   * Length of a control file.
   *
   * @param descriptorCount N
   * @param coordinateCount slices of a region
   */
  public static long fileLength(int descriptorCount, int coordinateCount) {
    return DESCRIPTORS_OFFSET
        + descriptorCount * DESCRIPTOR_LENGTH
        + coordinateCount * COORDINATE_LENGTH;
  }

  /**
   * Writes all that is constant after OPEN; the state stays NEW.
   *
   * @param control the new file, all zero, of the right length
   * @param header what to write
   */
  public static void writeHeader(MemorySegment control, GenerationHeader header) {
    storePlainInt(control, ABI_VERSION_OFFSET, RingAbi.VERSION);
    storePlainInt(control, PAGE_SIZE_OFFSET, header.ring().pageSizeBytes());
    storePlainLong(control, FILE_LENGTH_OFFSET, control.byteSize());
    storePlainLong(control, RING_LENGTH_OFFSET, header.ring().lengthBytes());
    storePlainLong(control, RING_INODE_OFFSET, header.ring().inode());
    storePlainLong(control, GENERATION_OFFSET, header.generation());
    storeId(control, GENERATION_ID_OFFSET, header.generationId());
    storePlainLong(control, FIRST_STEP_OFFSET, header.firstStep());
    storePlainInt(control, RING_NUMBER_OFFSET, header.ring().number());
    storePlainInt(control, DESCRIPTOR_COUNT_OFFSET, header.descriptorCount());
    storePlainInt(control, HOLD_OFFSET, header.hold());
    storePlainInt(control, LOCAL_READERS_OFFSET, header.session().localReaders());
    storeId(control, STREAM_ID_OFFSET, header.session().streamId());
    storePlainLong(control, SESSION_VERSION_OFFSET, header.session().sessionVersion());
    storePlainInt(control, DP_SIZE_OFFSET, header.session().dpSize());
    storePlainInt(control, CP_SIZE_OFFSET, header.session().cpSize());
    storePlainInt(control, COORDINATE_COUNT_OFFSET, header.coordinates().size());
    storeName(control, GROUP_OFFSET, header.session().group());
    storeName(control, SESSION_OFFSET, header.session().session());
    long offset = DESCRIPTORS_OFFSET + header.descriptorCount() * DESCRIPTOR_LENGTH;
    for (Coordinate coordinate : header.coordinates()) {
      storePlainInt(control, offset + COORDINATE_DP_OFFSET, coordinate.dp());
      storePlainInt(control, offset + COORDINATE_CP_OFFSET, coordinate.cp());
      offset += COORDINATE_LENGTH;
    }
    storeReleaseLong(control, MAGIC_OFFSET, RingAbi.CONTROL_MAGIC);
  }

  /**
   * Reads and checks what is constant after OPEN.
   *
   * @param name the file's name, for messages
   * @param control the mapped file, whole
   * @throws BatchWeaveException RETRYABLE when it is not ready, TOO_NEW when it is of another ABI,
   *     CORRUPT when it is too short or a field is out of range
   */
  public static GenerationHeader readHeader(String name, MemorySegment control) {
    if (control.byteSize() < DESCRIPTORS_OFFSET) {
      throw corrupt(name, "too short", "length", control.byteSize());
    }
    long magic = loadAcquireLong(control, MAGIC_OFFSET);
    if (magic == 0) {
      throw new BatchWeaveException(
          Kind.RETRYABLE, "the control file is not ready yet: file=" + name);
    }
    if (magic != RingAbi.CONTROL_MAGIC) {
      throw corrupt(name, "not a control file", "magic", magic);
    }
    int version = loadPlainInt(control, ABI_VERSION_OFFSET);
    if (version != RingAbi.VERSION) {
      throw anotherAbi(name, version);
    }
    int descriptorCount = loadPlainInt(control, DESCRIPTOR_COUNT_OFFSET);
    int coordinateCount = loadPlainInt(control, COORDINATE_COUNT_OFFSET);
    int hold = loadPlainInt(control, HOLD_OFFSET);
    int pageSize = loadPlainInt(control, PAGE_SIZE_OFFSET);
    long ringLength = loadPlainLong(control, RING_LENGTH_OFFSET);
    require(isPowerOfTwo(pageSize), name, "page size", pageSize);
    require(
        descriptorCount >= RingAbi.MIN_DESCRIPTORS
            && descriptorCount <= RingAbi.MAX_DESCRIPTORS
            && isPowerOfTwo(descriptorCount),
        name,
        "descriptor count",
        descriptorCount);
    require(hold >= 0 && hold <= descriptorCount - 2, name, "hold", hold);
    require(
        coordinateCount >= 0 && coordinateCount <= RingAbi.MAX_COORDINATES,
        name,
        "coordinate count",
        coordinateCount);
    require(ringLength > 0 && ringLength % pageSize == 0, name, "ring length", ringLength);
    long fileLength = loadPlainLong(control, FILE_LENGTH_OFFSET);
    require(
        fileLength == fileLength(descriptorCount, coordinateCount)
            && fileLength <= control.byteSize(),
        name,
        "file length",
        fileLength);
    long firstStep = loadPlainLong(control, FIRST_STEP_OFFSET);
    require(firstStep >= 0, name, "first step", firstStep);
    return new GenerationHeader(
        new GenerationHeader.RingFile(
            loadPlainInt(control, RING_NUMBER_OFFSET),
            ringLength,
            loadPlainLong(control, RING_INODE_OFFSET),
            pageSize),
        loadPlainLong(control, GENERATION_OFFSET),
        loadId(control, GENERATION_ID_OFFSET),
        firstStep,
        descriptorCount,
        hold,
        readSession(name, control),
        readCoordinates(control, descriptorCount, coordinateCount));
  }

  private static GenerationHeader.SessionHeader readSession(String name, MemorySegment control) {
    int dpSize = loadPlainInt(control, DP_SIZE_OFFSET);
    int cpSize = loadPlainInt(control, CP_SIZE_OFFSET);
    require(dpSize >= 1, name, "dp size", dpSize);
    require(cpSize >= 1, name, "cp size", cpSize);
    return new GenerationHeader.SessionHeader(
        loadId(control, STREAM_ID_OFFSET),
        loadName(control, GROUP_OFFSET),
        loadName(control, SESSION_OFFSET),
        loadPlainLong(control, SESSION_VERSION_OFFSET),
        dpSize,
        cpSize,
        loadPlainInt(control, LOCAL_READERS_OFFSET));
  }

  private static List<Coordinate> readCoordinates(
      MemorySegment control, int descriptorCount, int coordinateCount) {
    List<Coordinate> coordinates = new ArrayList<>(coordinateCount);
    long offset = DESCRIPTORS_OFFSET + descriptorCount * DESCRIPTOR_LENGTH;
    for (int i = 0; i < coordinateCount; i++) {
      coordinates.add(
          new Coordinate(
              loadPlainInt(control, offset + COORDINATE_DP_OFFSET),
              loadPlainInt(control, offset + COORDINATE_CP_OFFSET)));
      offset += COORDINATE_LENGTH;
    }
    return coordinates;
  }

  // ---- state and futex word

  /** The state word. */
  public static int stateLoadAcquire(MemorySegment control) {
    return loadAcquireInt(control, STATE_OFFSET);
  }

  /** Stores the state word. */
  public static void stateStoreRelease(MemorySegment control, int stateWord) {
    storeReleaseInt(control, STATE_OFFSET, stateWord);
  }

  /** The state word of CLOSED. */
  public static int closedWord(CloseReason reason) {
    return STATE_CLOSED | reason.code() << 8;
  }

  /** The state in a state word. */
  public static int stateOf(int stateWord) {
    return stateWord & 0xff;
  }

  /** The reason in a state word that is CLOSED. */
  public static CloseReason reasonOf(int stateWord) {
    return CloseReason.of(stateWord >>> 8 & 0xff);
  }

  /** The futex word, to be loaded before the condition is checked. */
  public static int wakeLoadAcquire(MemorySegment control) {
    return loadAcquireInt(control, WAKE_OFFSET);
  }

  /** Increments the futex word; the daemon is its only writer. */
  public static void wakeIncrementRelease(MemorySegment control) {
    storeReleaseInt(control, WAKE_OFFSET, loadPlainInt(control, WAKE_OFFSET) + 1);
  }

  // ---- descriptors

  /**
   * Where a descriptor begins.
   *
   * @param n the step's number in the generation
   * @param descriptorCount N, checked
   */
  public static long descriptorOffset(long n, int descriptorCount) {
    return DESCRIPTORS_OFFSET + (n & (descriptorCount - 1)) * DESCRIPTOR_LENGTH;
  }

  /** The seq of the descriptor at an offset. */
  public static long seqLoadAcquire(MemorySegment control, long descriptorOffset) {
    return loadAcquireLong(control, descriptorOffset + SEQ_OFFSET);
  }

  /** The step of the descriptor at an offset. */
  public static long stepLoadPlain(MemorySegment control, long descriptorOffset) {
    return loadPlainLong(control, descriptorOffset + STEP_OFFSET);
  }

  /** The step after the one of the descriptor at an offset. */
  public static long nextStepLoadPlain(MemorySegment control, long descriptorOffset) {
    return loadPlainLong(control, descriptorOffset + NEXT_STEP_OFFSET);
  }

  /** The region's offset in the data file. */
  public static long regionOffsetLoadPlain(MemorySegment control, long descriptorOffset) {
    return loadPlainLong(control, descriptorOffset + REGION_OFFSET_OFFSET);
  }

  /** The region's length. */
  public static long regionLengthLoadPlain(MemorySegment control, long descriptorOffset) {
    return loadPlainLong(control, descriptorOffset + REGION_LENGTH_OFFSET);
  }

  /** All that says where the step of the descriptor at an offset lies. */
  public static StepRegion regionLoadPlain(MemorySegment control, long descriptorOffset) {
    return new StepRegion(
        stepLoadPlain(control, descriptorOffset),
        nextStepLoadPlain(control, descriptorOffset),
        regionOffsetLoadPlain(control, descriptorOffset),
        regionLengthLoadPlain(control, descriptorOffset));
  }

  /** One of the KIND constants, once published. */
  public static int kindLoadPlain(MemorySegment control, long descriptorOffset) {
    return loadPlainInt(control, descriptorOffset + KIND_OFFSET);
  }

  /** The reason's number of a FAILED descriptor. */
  public static int reasonLoadPlain(MemorySegment control, long descriptorOffset) {
    return loadPlainInt(control, descriptorOffset + REASON_OFFSET);
  }

  /**
   * Says where a step will lie; from here on the next daemon can tell.
   *
   * @param control the control file
   * @param descriptorOffset of the descriptor
   * @param n the step's number in the generation
   * @param region step, next step, offset and length
   */
  public static void allocate(
      MemorySegment control, long descriptorOffset, long n, StepRegion region) {
    storeReleaseLong(control, descriptorOffset + SEQ_OFFSET, SEQ_VOID);
    VarHandle.storeStoreFence();
    storePlainLong(control, descriptorOffset + STEP_OFFSET, region.step());
    storePlainLong(control, descriptorOffset + NEXT_STEP_OFFSET, region.nextStep());
    storePlainLong(control, descriptorOffset + REGION_OFFSET_OFFSET, region.offset());
    storePlainLong(control, descriptorOffset + REGION_LENGTH_OFFSET, region.lengthBytes());
    storePlainInt(control, descriptorOffset + KIND_OFFSET, 0);
    storePlainInt(control, descriptorOffset + REASON_OFFSET, 0);
    storeReleaseLong(control, descriptorOffset + SEQ_OFFSET, RingAbi.seqAllocated(n));
  }

  /**
   * Publishes an allocated descriptor: after this any rank may use its region.
   *
   * @param control the control file
   * @param descriptorOffset of the descriptor
   * @param n the step's number in the generation
   * @param kind one of the KIND constants
   * @param reason of FAILED, else 0
   */
  public static void publishRelease(
      MemorySegment control, long descriptorOffset, long n, int kind, int reason) {
    storePlainInt(control, descriptorOffset + KIND_OFFSET, kind);
    storePlainInt(control, descriptorOffset + REASON_OFFSET, reason);
    // SYNC POINT: slot-ready
    storeReleaseLong(control, descriptorOffset + SEQ_OFFSET, RingAbi.seqPublished(n));
  }

  // ---- texts and status

  /** Stores the text of the FAILED descriptor, before that is published. */
  public static void storeFailure(MemorySegment control, String text) {
    int length = storeText(control, FAILURE_TEXT_OFFSET, text);
    storeReleaseInt(control, FAILURE_LENGTH_OFFSET, length);
  }

  /** The text of the FAILED descriptor. */
  public static String loadFailure(MemorySegment control) {
    return loadText(control, FAILURE_TEXT_OFFSET, loadAcquireInt(control, FAILURE_LENGTH_OFFSET));
  }

  /** Stores the status; the daemon is its only writer. */
  public static void storeStatus(MemorySegment control, RingStatus status) {
    int seq = loadPlainInt(control, STATUS_SEQ_OFFSET);
    storeReleaseInt(control, STATUS_SEQ_OFFSET, seq + 1);
    VarHandle.storeStoreFence();
    storePlainLong(control, BLOCKED_BYTES_OFFSET, status.blockedBytes());
    storePlainLong(control, BLOCKED_STEP_OFFSET, status.blockedStep());
    storeId(control, BLOCKED_READER_OFFSET, status.blockedReader());
    storePlainLong(control, BLOCKED_READER_STEPS_OFFSET, status.blockedReaderSteps());
    storePlainLong(control, PUBLISHED_COUNT_OFFSET, status.publishedCount());
    storePlainLong(control, ALLOCATED_COUNT_OFFSET, status.allocatedCount());
    storePlainLong(control, USED_BYTES_OFFSET, status.usedBytes());
    storePlainInt(control, UNFINISHED_FETCHES_OFFSET, status.unfinishedFetches());
    storePlainInt(
        control, TROUBLE_LENGTH_OFFSET, storeText(control, TROUBLE_TEXT_OFFSET, status.trouble()));
    // SYNC POINT: status
    storeReleaseInt(control, STATUS_SEQ_OFFSET, seq + 2);
  }

  /**
   * Bytes of the next step when it does not fit, without the rest of the status: one load for those
   * who look often.
   */
  public static long blockedBytesLoadAcquire(MemorySegment control) {
    return loadAcquireLong(control, BLOCKED_BYTES_OFFSET);
  }

  /** The status as of one moment; IDLE if a dead daemon left it half written. */
  public static RingStatus loadStatus(MemorySegment control) {
    for (int attempt = 0; attempt < STATUS_ATTEMPTS; attempt++) {
      // SYNC POINT: status
      int seq = loadAcquireInt(control, STATUS_SEQ_OFFSET);
      if ((seq & 1) == 0) {
        RingStatus status =
            new RingStatus(
                loadPlainLong(control, BLOCKED_BYTES_OFFSET),
                loadPlainLong(control, BLOCKED_STEP_OFFSET),
                loadId(control, BLOCKED_READER_OFFSET),
                loadPlainLong(control, BLOCKED_READER_STEPS_OFFSET),
                loadPlainLong(control, PUBLISHED_COUNT_OFFSET),
                loadPlainLong(control, ALLOCATED_COUNT_OFFSET),
                loadPlainLong(control, USED_BYTES_OFFSET),
                loadPlainInt(control, UNFINISHED_FETCHES_OFFSET),
                loadText(
                    control, TROUBLE_TEXT_OFFSET, loadPlainInt(control, TROUBLE_LENGTH_OFFSET)));
        VarHandle.loadLoadFence();
        if (loadAcquireInt(control, STATUS_SEQ_OFFSET) == seq) {
          return status;
        }
      }
      Thread.onSpinWait();
    }
    return RingStatus.IDLE;
  }

  private static int storeText(MemorySegment control, long offset, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    int length = Math.min(bytes.length, RingAbi.TEXT_BYTES);
    while (length > 0 && length < bytes.length && (bytes[length] & 0xc0) == 0x80) {
      length--; // never cut a character
    }
    MemorySegment.copy(bytes, 0, control, ValueLayout.JAVA_BYTE, offset, length);
    return length;
  }

  private static String loadText(MemorySegment control, long offset, int length) {
    byte[] bytes = new byte[Math.clamp(length, 0, RingAbi.TEXT_BYTES)];
    MemorySegment.copy(control, ValueLayout.JAVA_BYTE, offset, bytes, 0, bytes.length);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private static void storeName(MemorySegment control, long offset, String name) {
    byte[] bytes = Arrays.copyOf(name.getBytes(StandardCharsets.UTF_8), RingAbi.NAME_CHARS);
    MemorySegment.copy(bytes, 0, control, ValueLayout.JAVA_BYTE, offset, bytes.length);
  }

  private static String loadName(MemorySegment control, long offset) {
    byte[] bytes = new byte[RingAbi.NAME_CHARS];
    MemorySegment.copy(control, ValueLayout.JAVA_BYTE, offset, bytes, 0, bytes.length);
    int length = 0;
    while (length < bytes.length && bytes[length] != 0) {
      length++;
    }
    return new String(bytes, 0, length, StandardCharsets.UTF_8);
  }

  static void storeId(MemorySegment segment, long offset, Id128 id) {
    storePlainLong(segment, offset, id.high());
    storePlainLong(segment, offset + 8, id.low());
  }

  static Id128 loadId(MemorySegment segment, long offset) {
    return new Id128(loadPlainLong(segment, offset), loadPlainLong(segment, offset + 8));
  }

  static boolean isPowerOfTwo(int value) {
    return value > 0 && (value & (value - 1)) == 0;
  }

  static void require(boolean holds, String file, String field, long value) {
    if (!holds) {
      throw corrupt(file, "a field is out of range", field, value);
    }
  }

  static BatchWeaveException corrupt(String file, String what, String field, long value) {
    return new BatchWeaveException(
        Kind.CORRUPT, what + ": file=" + file + " field=\"" + field + "\" value=" + value);
  }

  static BatchWeaveException anotherAbi(String file, int version) {
    return new BatchWeaveException(
        Kind.TOO_NEW,
        "the shared-memory ABI differs: file="
            + file
            + " abi="
            + version
            + " mine="
            + RingAbi.VERSION
            + "; install the same version of batchweave on both sides");
  }
}
