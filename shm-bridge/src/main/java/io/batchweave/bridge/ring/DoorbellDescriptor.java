package io.batchweave.bridge.ring;

import static io.batchweave.bridge.ring.SharedFields.addReleaseInt;
import static io.batchweave.bridge.ring.SharedFields.loadAcquireInt;
import static io.batchweave.bridge.ring.SharedFields.loadAcquireLong;
import static io.batchweave.bridge.ring.SharedFields.loadPlainInt;
import static io.batchweave.bridge.ring.SharedFields.storePlainInt;
import static io.batchweave.bridge.ring.SharedFields.storeReleaseLong;

import io.batchweave.BatchWeaveException;
import java.lang.foreign.MemorySegment;

/**
 * The file {@code doorbell}: one futex word that all ranks add to, the only read-modify-write of
 * the ABI.
 *
 * <pre>
 *     0  magic 8 | abi 4
 *   128  word 4
 *   256
 * </pre>
 */
public final class DoorbellDescriptor {
  static final long MAGIC_OFFSET = 0;
  static final long ABI_VERSION_OFFSET = 8;

  /** The futex word that the daemon waits on. */
  public static final long WORD_OFFSET = 128;

  /** Length of the file. */
  public static final long LENGTH = 256;

  private DoorbellDescriptor() {}

  /** Writes the header of a new file. */
  public static void writeHeader(MemorySegment doorbell) {
    storePlainInt(doorbell, ABI_VERSION_OFFSET, RingAbi.VERSION);
    storeReleaseLong(doorbell, MAGIC_OFFSET, RingAbi.DOORBELL_MAGIC);
  }

  /**
   * Checks the header.
   *
   * @param doorbell the mapped file
   * @throws BatchWeaveException TOO_NEW when it is of another ABI, CORRUPT when it is something
   *     else
   */
  public static void checkHeader(MemorySegment doorbell) {
    if (doorbell.byteSize() < LENGTH) {
      throw ControlDescriptor.corrupt(
          RingAbi.DOORBELL_NAME, "too short", "length", doorbell.byteSize());
    }
    long magic = loadAcquireLong(doorbell, MAGIC_OFFSET);
    if (magic != RingAbi.DOORBELL_MAGIC) {
      throw ControlDescriptor.corrupt(RingAbi.DOORBELL_NAME, "not a doorbell", "magic", magic);
    }
    int version = loadPlainInt(doorbell, ABI_VERSION_OFFSET);
    if (version != RingAbi.VERSION) {
      throw ControlDescriptor.anotherAbi(RingAbi.DOORBELL_NAME, version);
    }
  }

  /** The word, to be loaded before the acks are looked at. */
  public static int wordLoadAcquire(MemorySegment doorbell) {
    return loadAcquireInt(doorbell, WORD_OFFSET);
  }

  /** Adds one, atomically; a wake must follow. */
  public static void ringRelease(MemorySegment doorbell) {
    // SYNC POINT: doorbell
    addReleaseInt(doorbell, WORD_OFFSET, 1);
  }
}
