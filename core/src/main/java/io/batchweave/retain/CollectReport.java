package io.batchweave.retain;

/**
 * What a run of the collector came to; in a dry run what it would come to.
 *
 * @param version the head that was judged by
 * @param horizon of that head
 * @param nextStep of that head
 * @param movedSteps steps by which this run moved the horizon
 * @param data data objects deleted
 * @param sourceStates source states deleted
 * @param kept data objects and source states that stay
 * @param unknown those among them whose producer the log does not know
 * @param segments segments deleted
 * @param announcements announcements deleted
 * @param tombstones versions overwritten
 * @param failedKeys keys that the store did not delete: the next run does
 * @param requests that were sent
 */
public record CollectReport(
    long version,
    long horizon,
    long nextStep,
    long movedSteps,
    Amount data,
    Amount sourceStates,
    Amount kept,
    Amount unknown,
    long segments,
    long announcements,
    long tombstones,
    long failedKeys,
    long requests) {
  /** A number of objects and their length. */
  public record Amount(long objects, long bytes) {
    /** Nothing. */
    public static final Amount NONE = new Amount(0, 0);

    Amount plus(long moreObjects, long moreBytes) {
      return new Amount(objects + moreObjects, bytes + moreBytes);
    }
  }
}
