package io.batchweave.bridge.ring;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;

/**
 * What does not change while a daemon runs.
 *
 * @param ringNumber the ring
 * @param ringLengthBytes length of its data file
 * @param pageSizeBytes regions start and end on multiples of it
 * @param descriptorCount N, a power of two, at least hold + 2
 * @param hold leases that a rank may keep while it asks for the next step
 * @param startTimeoutNs how long a generation waits for the local readers announced
 */
public record RingSettings(
    int ringNumber,
    long ringLengthBytes,
    int pageSizeBytes,
    int descriptorCount,
    int hold,
    long startTimeoutNs) {
  /** Checks the ranges. */
  public RingSettings {
    if (!ControlDescriptor.isPowerOfTwo(pageSizeBytes)
        || ringLengthBytes <= 0
        || ringLengthBytes % pageSizeBytes != 0) {
      throw new BatchWeaveException(
          Kind.CONFIG,
          "the ring must be a multiple of the page size: memory="
              + ringLengthBytes
              + " page="
              + pageSizeBytes);
    }
    if (hold < 0 || hold > RingAbi.MAX_HOLD) {
      throw new BatchWeaveException(
          Kind.CONFIG, "hold is out of range: hold=" + hold + " max=" + RingAbi.MAX_HOLD);
    }
    if (!ControlDescriptor.isPowerOfTwo(descriptorCount)
        || descriptorCount < Math.max(RingAbi.MIN_DESCRIPTORS, hold + 2)
        || descriptorCount > RingAbi.MAX_DESCRIPTORS) {
      throw new BatchWeaveException(
          Kind.CONFIG,
          "descriptors must be a power of two from hold + 2 to "
              + RingAbi.MAX_DESCRIPTORS
              + ": descriptors="
              + descriptorCount
              + " hold="
              + hold);
    }
  }

  /**
   * Ring bytes that a step needs so that no rank can block itself.
   *
   * @param regionBytes its region
   */
  public long neededBytes(long regionBytes) {
    return Math.multiplyExact(hold + 2L, regionBytes);
  }
}
