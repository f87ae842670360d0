package io.batchweave.bridge.ring;

/**
 * How a ring stands, for messages and for people; nothing relies on it.
 *
 * @param blockedBytes bytes of the next step when it does not fit; 0 when not blocked
 * @param blockedStep the step that does not fit
 * @param blockedReader the slowest reader, whose leases are in the way
 * @param blockedReaderSteps leases it holds
 * @param publishedCount n of the next step to be published in order
 * @param allocatedCount n of the next step to be allocated
 * @param usedBytes bytes of the ring that are allocated, kept or leased
 * @param unfinishedFetches requests that may still write
 * @param trouble the last retryable trouble; empty when there is none
 */
public record RingStatus(
    long blockedBytes,
    long blockedStep,
    Id128 blockedReader,
    long blockedReaderSteps,
    long publishedCount,
    long allocatedCount,
    long usedBytes,
    int unfinishedFetches,
    String trouble) {
  /** Nothing allocated, nothing wrong. */
  public static final RingStatus IDLE = new RingStatus(0, 0, Id128.NONE, 0, 0, 0, 0, 0, "");
}
