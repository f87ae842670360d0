package io.batchweave.log;

/**
 * When a snapshot is due. Pure: every follower of the same log comes to the same answer, so that of
 * many committers only the one whose version it is writes.
 */
public final class SnapshotPolicy {
  /** Versions since the last snapshot at which the next one is due. */
  public static final long DUE_VERSIONS = 128;

  /** Bytes of versions since the last snapshot at which the next one is due, at least. */
  public static final long DUE_BYTES = 1 << 20;

  /** A snapshot is due when the versions since outweigh it so many times. */
  public static final long DUE_WEIGHT = 4;

  /** Versions from one attempt to the next while there is none. */
  public static final long RETRY_VERSIONS = 16;

  /** Versions since the last snapshot past which it is written before the next commit. */
  public static final long BLOCKING_VERSIONS = 1_024;

  /** Snapshots that are kept. */
  public static final int KEPT = 16;

  private SnapshotPolicy() {}

  /**
   * How things stand.
   *
   * @param newestVersion of the newest snapshot known; 0 if none
   * @param headVersion the head
   * @param dueVersion the version that made the next snapshot due; {@code Long.MAX_VALUE} if it is
   *     not
   */
  public record Standing(long newestVersion, long headVersion, long dueVersion) {
    /**
     * Whether the committer of the head writes a snapshot of it now: at the version that made it
     * due and at every {@link #RETRY_VERSIONS}th after.
     */
    public boolean due() {
      return headVersion >= dueVersion && (headVersion - dueVersion) % RETRY_VERSIONS == 0;
    }

    /** Whether one must exist before the next version is created. */
    public boolean blocking() {
      return headVersion - newestVersion > BLOCKING_VERSIONS;
    }
  }

  /**
   * Whether the versions since the last snapshot make the next one due.
   *
   * @param versionsSince their number
   * @param bytesSince their length together
   * @param snapshotBytes length of the last snapshot; 0 if there is none
   */
  public static boolean outgrown(long versionsSince, long bytesSince, long snapshotBytes) {
    return versionsSince >= DUE_VERSIONS
        || bytesSince >= Math.max(DUE_BYTES, DUE_WEIGHT * snapshotBytes);
  }
}
