package io.batchweave.retain;

/**
 * How a collector works.
 *
 * @param effect whether anything is changed
 * @param versions what becomes of old versions
 * @param deletesPerSecond most objects to delete per second
 * @param maxInFlight most requests at once
 * @param maxAttempts how often a request is sent before the run is given up
 * @param surveyKeys if there are at most so many data objects one LIST finds them all
 * @param markedObjects most objects remembered at once; more retained ones take more passes
 */
public record CollectPolicy(
    Effect effect,
    Versions versions,
    long deletesPerSecond,
    int maxInFlight,
    int maxAttempts,
    int surveyKeys,
    int markedObjects) {
  /** What a run may change. */
  public enum Effect {
    /** Says what a run would delete. */
    DRY_RUN,
    /** Moves the horizon and deletes what lies below it. */
    RECLAIM
  }

  /** What becomes of versions that no snapshot kept needs. */
  public enum Versions {
    /** They stay. */
    KEEP,
    /** They are overwritten by empty objects. */
    TRIM
  }

  /** 3,000 objects a second, below what S3 takes for one prefix; 16 MiB to remember a million. */
  public static final CollectPolicy DEFAULT =
      new CollectPolicy(Effect.RECLAIM, Versions.KEEP, 3_000, 4, 10, 5_000, 1 << 20);

  /** Checks the ranges. */
  public CollectPolicy {
    if (deletesPerSecond < 1
        || maxInFlight < 1
        || maxAttempts < 1
        || surveyKeys < 1
        || markedObjects < 1) {
      throw new IllegalArgumentException(
          "policy out of range: deletesPerSecond="
              + deletesPerSecond
              + " maxInFlight="
              + maxInFlight
              + " maxAttempts="
              + maxAttempts
              + " surveyKeys="
              + surveyKeys
              + " markedObjects="
              + markedObjects);
    }
  }

  /** The same with another effect. */
  public CollectPolicy with(Effect newEffect) {
    return new CollectPolicy(
        newEffect, versions, deletesPerSecond, maxInFlight, maxAttempts, surveyKeys, markedObjects);
  }

  /** The same with another fate of old versions. */
  public CollectPolicy with(Versions newVersions) {
    return new CollectPolicy(
        effect, newVersions, deletesPerSecond, maxInFlight, maxAttempts, surveyKeys, markedObjects);
  }

  /** The same at another rate. */
  public CollectPolicy withDeletesPerSecond(long newRate) {
    return new CollectPolicy(
        effect, versions, newRate, maxInFlight, maxAttempts, surveyKeys, markedObjects);
  }
}
