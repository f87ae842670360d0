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
import org.jspecify.annotations.Nullable;

/**
 * The file of one attachment, {@code <random128>.reader}: written by one rank only, never reused,
 * carries the rank's lock.
 *
 * <pre>
 *     0  magic 8, stored last | abi 4 | pid 4 | file length 8 | reader id 16 | previous id 16
 *    56  dp 4 | cp 4 | dp size 4 | cp size 4 | local readers 4 | ack capacity 4 | rank 4
 *   128  attached 4, stored last | ring number 4 | generation 8 | generation id 16 | first n 8
 *   256  taken 8: n + 1 of the last step taken
 *   384  waiting 8: n + 1 of the step waited for, for people | pulse 8, of ranks with private views
 *   512  ack[1024], 8 bytes each: 2n + 2 at n mod N once step n is released
 *  8704
 * </pre>
 */
public final class ReaderDescriptor {
  static final long MAGIC_OFFSET = 0;
  static final long ABI_VERSION_OFFSET = 8;
  static final long PID_OFFSET = 12;
  static final long FILE_LENGTH_OFFSET = 16;
  static final long READER_ID_OFFSET = 24;
  static final long PREVIOUS_ID_OFFSET = 40;
  static final long DP_OFFSET = 56;
  static final long CP_OFFSET = 60;
  static final long DP_SIZE_OFFSET = 64;
  static final long CP_SIZE_OFFSET = 68;
  static final long LOCAL_READERS_OFFSET = 72;
  static final long ACK_CAPACITY_OFFSET = 76;
  static final long RANK_OFFSET = 80;
  static final long ATTACHED_OFFSET = 128;
  static final long RING_NUMBER_OFFSET = 132;
  static final long GENERATION_OFFSET = 136;
  static final long GENERATION_ID_OFFSET = 144;
  static final long FIRST_N_OFFSET = 160;
  static final long TAKEN_OFFSET = 256;
  static final long WAITING_OFFSET = 384;
  static final long PULSE_OFFSET = 392;
  static final long ACK_OFFSET = 512;

  /** Length of a reader file. */
  public static final long LENGTH = 8704;

  private ReaderDescriptor() {}

  /**
   * Writes what is constant from the first Hello on.
   *
   * @param reader the new file, all zero
   * @param header what to write
   */
  public static void writeHeader(MemorySegment reader, ReaderHeader header) {
    storePlainInt(reader, ABI_VERSION_OFFSET, RingAbi.VERSION);
    storePlainInt(reader, PID_OFFSET, header.pid());
    storePlainLong(reader, FILE_LENGTH_OFFSET, LENGTH);
    ControlDescriptor.storeId(reader, READER_ID_OFFSET, header.id());
    ControlDescriptor.storeId(reader, PREVIOUS_ID_OFFSET, header.previous());
    storePlainInt(reader, DP_OFFSET, header.coordinate().dp());
    storePlainInt(reader, CP_OFFSET, header.coordinate().cp());
    storePlainInt(reader, DP_SIZE_OFFSET, header.dpSize());
    storePlainInt(reader, CP_SIZE_OFFSET, header.cpSize());
    storePlainInt(reader, LOCAL_READERS_OFFSET, header.localReaders());
    storePlainInt(reader, ACK_CAPACITY_OFFSET, RingAbi.MAX_DESCRIPTORS);
    storePlainInt(reader, RANK_OFFSET, header.rank());
    // SYNC POINT: reader-born
    storeReleaseLong(reader, MAGIC_OFFSET, RingAbi.READER_MAGIC);
  }

  /**
   * Reads and checks what a rank says of itself.
   *
   * @param name the file's name, for messages
   * @param reader the mapped file
   * @throws BatchWeaveException RETRYABLE when it is not ready, TOO_NEW when it is of another ABI,
   *     CORRUPT when it is too short or a field is out of range
   */
  public static ReaderHeader readHeader(String name, MemorySegment reader) {
    if (reader.byteSize() < LENGTH) {
      throw ControlDescriptor.corrupt(name, "too short", "length", reader.byteSize());
    }
    // SYNC POINT: reader-born
    long magic = loadAcquireLong(reader, MAGIC_OFFSET);
    if (magic == 0) {
      throw new BatchWeaveException(
          Kind.RETRYABLE, "the reader file is not ready yet: file=" + name);
    }
    if (magic != RingAbi.READER_MAGIC) {
      throw ControlDescriptor.corrupt(name, "not a reader file", "magic", magic);
    }
    int version = loadPlainInt(reader, ABI_VERSION_OFFSET);
    if (version != RingAbi.VERSION) {
      throw ControlDescriptor.anotherAbi(name, version);
    }
    long fileLength = loadPlainLong(reader, FILE_LENGTH_OFFSET);
    ControlDescriptor.require(fileLength == LENGTH, name, "file length", fileLength);
    int capacity = loadPlainInt(reader, ACK_CAPACITY_OFFSET);
    ControlDescriptor.require(capacity == RingAbi.MAX_DESCRIPTORS, name, "ack capacity", capacity);
    int dpSize = loadPlainInt(reader, DP_SIZE_OFFSET);
    int cpSize = loadPlainInt(reader, CP_SIZE_OFFSET);
    int dp = loadPlainInt(reader, DP_OFFSET);
    int cp = loadPlainInt(reader, CP_OFFSET);
    int localReaders = loadPlainInt(reader, LOCAL_READERS_OFFSET);
    ControlDescriptor.require(dpSize >= 1, name, "dp size", dpSize);
    ControlDescriptor.require(cpSize >= 1, name, "cp size", cpSize);
    ControlDescriptor.require(dp >= 0 && dp < dpSize, name, "dp", dp);
    ControlDescriptor.require(cp >= 0 && cp < cpSize, name, "cp", cp);
    ControlDescriptor.require(localReaders >= 1, name, "local readers", localReaders);
    return new ReaderHeader(
        ControlDescriptor.loadId(reader, READER_ID_OFFSET),
        ControlDescriptor.loadId(reader, PREVIOUS_ID_OFFSET),
        loadPlainInt(reader, PID_OFFSET),
        loadPlainInt(reader, RANK_OFFSET),
        new Coordinate(dp, cp),
        dpSize,
        cpSize,
        localReaders);
  }

  /**
   * Says which generation is read, once, before the first {@code taken}.
   *
   * @param reader the own file
   * @param attachment from Welcome
   */
  public static void attachRelease(MemorySegment reader, Attachment attachment) {
    storePlainInt(reader, RING_NUMBER_OFFSET, attachment.ringNumber());
    storePlainLong(reader, GENERATION_OFFSET, attachment.generation());
    ControlDescriptor.storeId(reader, GENERATION_ID_OFFSET, attachment.generationId());
    storePlainLong(reader, FIRST_N_OFFSET, attachment.firstN());
    storePlainLong(reader, TAKEN_OFFSET, attachment.firstN());
    // SYNC POINT: reader-attached
    storeReleaseInt(reader, ATTACHED_OFFSET, 1);
  }

  /**
   * Which generation a reader says it reads; to be compared with the generation's own id.
   *
   * @param reader the mapped file
   * @return null when it is not attached yet
   */
  public static @Nullable Attachment attachmentLoadAcquire(MemorySegment reader) {
    // SYNC POINT: reader-attached
    if (loadAcquireInt(reader, ATTACHED_OFFSET) != 1) {
      return null;
    }
    return new Attachment(
        loadPlainInt(reader, RING_NUMBER_OFFSET),
        loadPlainLong(reader, GENERATION_OFFSET),
        ControlDescriptor.loadId(reader, GENERATION_ID_OFFSET),
        loadPlainLong(reader, FIRST_N_OFFSET));
  }

  /** n + 1 of the last step that the rank says it took. */
  public static long takenLoadAcquire(MemorySegment reader) {
    return loadAcquireLong(reader, TAKEN_OFFSET);
  }

  /** Stores n + 1 of the step taken; a full fence and a look at the state word must follow. */
  public static void takenStoreRelease(MemorySegment reader, long taken) {
    storeReleaseLong(reader, TAKEN_OFFSET, taken);
  }

  /** n + 1 of the step that the rank says it waits for; 0 when it does not. */
  public static long waitingLoadAcquire(MemorySegment reader) {
    return loadAcquireLong(reader, WAITING_OFFSET);
  }

  /** Says for which step it waits. */
  public static void waitingStoreRelease(MemorySegment reader, long waiting) {
    storeReleaseLong(reader, WAITING_OFFSET, waiting);
  }

  /**
   * Whether a rank released a step.
   *
   * @param reader the mapped file
   * @param n the step's number in the generation
   * @param descriptorCount N of the generation, checked
   */
  public static boolean isAckedLoadAcquire(MemorySegment reader, long n, int descriptorCount) {
    // SYNC POINT: slot-released
    return loadAcquireLong(reader, ackOffset(n, descriptorCount)) == RingAbi.ackReleased(n);
  }

  /** Releases a step: after this its region may be reused at any time. */
  public static void ackStoreRelease(MemorySegment reader, long n, int descriptorCount) {
    // SYNC POINT: slot-released
    storeReleaseLong(reader, ackOffset(n, descriptorCount), RingAbi.ackReleased(n));
  }

  private static long ackOffset(long n, int descriptorCount) {
    return ACK_OFFSET + (n & (descriptorCount - 1)) * 8;
  }
}
