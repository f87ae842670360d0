package io.batchweave.bridge.ring;

/**
 * How a ring stands, for messages and for people; nothing relies on it.
 *
 * @param blockedBytes bytes of the next step when it does not fit; 0 when not blocked
 * @param blockedStep the step that does not fit
 * @param blockedReader the slowest reader, whose leases are in the way
 * @param blockedReaderSteps steps from the lowest one that it has not released, as far as the
 *     daemon has seen, up to the one that does not fit; of a reader that takes nothing more, leases
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

  /**
   * Whether the step that a reader waits for does not fit because it keeps more than it may. This
   * is what the daemon last saw, and it may not have run since the reader took and released much of
   * what was in its way then: so it counts only while the reader has released nothing since.
   *
   * @param reader which
   * @param step the one it waits for
   * @param unreleased steps from the lowest one that it has not released up to that one
   * @param hold so many it may keep
   */
  public boolean isHeldBy(Id128 reader, long step, long unreleased, int hold) {
    return blockedBytes > 0
        && blockedStep == step
        && unreleased > hold
        && unreleased == blockedReaderSteps
        && blockedReader.equals(reader);
  }
}
