package io.batchweave.commit;

import io.batchweave.commit.Situation.Kind;
import io.batchweave.format.Limits;
import io.batchweave.log.Bits;
import io.batchweave.log.Fingerprint;

/**
 * How long things take and how long to wait: the pace of whoever commits, and what follows from it
 * and from the time that one's own requests take.
 */
final class Tempo {
  static final long MILLISECOND_NS = 1_000_000L;
  static final long SECOND_NS = 1_000_000_000L;

  /** Others from which on somebody commits all the time. */
  static final int BUSY_OWNERS = 8;

  private static final long WORTH_BLOCKS = 2;
  private static final long MAX_WORTH_NS = 200 * MILLISECOND_NS;
  private static final long BLOCKS_SCALE = 1_024;
  private static final long BLOCKS_VERSIONS = 4;
  private static final long MIN_STEP_IN_NS = 50 * MILLISECOND_NS;
  private static final long MIN_SLOWDOWN_NS = 100 * MILLISECOND_NS;
  private static final long MAX_SLOWDOWN_NS = 10 * SECOND_NS;
  private static final int MAX_PACE_MILLIS = 10_000;
  private static final int UNKNOWN_CROWD = 1_024;
  private static final int LIKELY_CROWD = 64;
  private static final int LEAST_CROWD = 4;

  private final ActiveOwners owners;
  private final RequestTimes times;
  private final Bits bits;
  private long paceNs = SECOND_NS / CommitPolicy.MAX_VERSIONS_PER_SECOND;
  private long slowdownNs;
  private long blocksPerVersion = WORTH_BLOCKS * BLOCKS_SCALE;

  /**
   * As it is before anything is known.
   *
   * @param owners read only
   * @param bits the source of its randomness
   */
  Tempo(ActiveOwners owners, Bits bits) {
    this.owners = owners;
    this.times = new RequestTimes();
    this.bits = bits;
  }

  Tempo(Tempo other, ActiveOwners owners) {
    this.owners = owners;
    this.times = new RequestTimes(other.times);
    this.bits = other.bits.copy();
    this.paceNs = other.paceNs;
    this.slowdownNs = other.slowdownNs;
    this.blocksPerVersion = other.blocksPerVersion;
  }

  /** What one's own requests take. */
  RequestTimes times() {
    return times;
  }

  // ---- the pace

  /** The pace of whoever wrote the last version. */
  long paceNs() {
    return paceNs;
  }

  /**
   * One's own version was folded: the pace is one's own.
   *
   * @param blocks that it had
   */
  void keepOwnPace(int blocks) {
    long seen = Math.max(1, blocks) * BLOCKS_SCALE;
    blocksPerVersion += (seen - blocksPerVersion) / BLOCKS_VERSIONS;
    paceNs = intervalNs();
  }

  /** Another's version was folded. */
  void keepPaceOf(int paceMillis) {
    paceNs = Math.clamp(paceMillis, 1, MAX_PACE_MILLIS) * MILLISECOND_NS;
  }

  /**
   * When the next of one's own versions is to be expected after one, in milliseconds: 1 to 10,000.
   *
   * @param moreToCome whether it is followed as soon as requests allow
   */
  int paceMillis(boolean moreToCome) {
    long nextNs = moreToCome ? Math.min(intervalNs(), times.cycleNs()) : intervalNs();
    return Math.clamp(nextNs / MILLISECOND_NS, 1, MAX_PACE_MILLIS);
  }

  /** Least time from one version of one's own to the next. */
  long intervalNs() {
    long leastNs = SECOND_NS / CommitPolicy.MAX_VERSIONS_PER_SECOND;
    if (!owners.lone()) {
      long byReadsNs =
          (owners.settledOthers() + 1L) * SECOND_NS / CommitPolicy.MAX_READS_PER_SECOND;
      leastNs = Math.max(leastNs, Math.max(byReadsNs, 2 * times.cycleNs()));
      // Where the store is fast and work is rare, a version waits until it is worth its requests.
      long worthNs = WORTH_BLOCKS * BLOCKS_SCALE * paceNs / Math.max(1, blocksPerVersion);
      leastNs = Math.max(leastNs, Math.min(MAX_WORTH_NS, worthNs));
    }
    return Math.min(SECOND_NS, leastNs) + slowdownNs;
  }

  /** The store asked to slow down. */
  void onThrottled() {
    slowdownNs = Math.min(MAX_SLOWDOWN_NS, Math.max(MIN_SLOWDOWN_NS, 2 * slowdownNs));
  }

  /** The store let a version pass. */
  void onCommitted() {
    slowdownNs = slowdownNs < MIN_SLOWDOWN_NS / 5 ? 0 : slowdownNs / 8;
  }

  // ---- what follows from it

  /** A look that began so shortly ago still counts. */
  long recentNs() {
    return 2 * times.putNs();
  }

  /** For how long after a version somebody is expected to serve announcements. */
  long freshNs() {
    return paceNs + times.getNs();
  }

  /** How long an announcement may take before its owner doubts that anybody serves it. */
  long stepInNs() {
    return Math.max(MIN_STEP_IN_NS, paceNs + 2 * times.cycleNs());
  }

  /** For how many versions of a group the one before is listed too. */
  int youngVersions() {
    return owners.others() < BUSY_OWNERS
        ? Limits.ANNOUNCE_VERSIONS / 8
        : Limits.ANNOUNCE_VERSIONS / 2;
  }

  /** Longest wait for the answers of reads that one round begins. */
  long readPatienceNs() {
    return Math.max(20 * MILLISECOND_NS, 6 * times.getNs());
  }

  /** Whether somebody leads, as far as one knows who did not write the last version. */
  boolean otherLeads(Knowledge known, long nowNs) {
    if (known.foldedAtNs() == Knowledge.NEVER) {
      return false;
    }
    // A leader of many always finds work, so it is worth to wait for as long as its step-in.
    long expectedNs = owners.others() >= BUSY_OWNERS ? stepInNs() : freshNs();
    if (known.ageNs(nowNs) < expectedNs) {
      return true;
    }
    // With many others somebody has led all the time; whether still, the step-in timer finds out.
    return owners.others() >= BUSY_OWNERS
        && known.spacingNs() < 2 * paceNs
        && nowNs - known.atNs() < 10 * SECOND_NS;
  }

  /**
   * A delay drawn so that of a crowd few come first: the density grows exponentially, and when the
   * first of them has written, most of the others have not begun.
   *
   * @param kind what the crowd would write
   */
  long drawNs(Kind kind) {
    double log = Math.log(crowd(kind));
    double uniform = (bits.nextBelow(1L << 30) + 1) / (double) (1L << 30);
    double windowNs = log * (kind == Kind.FENCE ? times.cycleNs() : times.listNs() + times.putNs());
    return (long) (windowNs * Math.max(0, 1 + Math.log(uniform) / log));
  }

  /** How many may step in at the same time. */
  private int crowd(Kind kind) {
    if (kind == Kind.PRODUCE) {
      return Math.max(LEAST_CROWD, owners.others() + 1);
    }
    boolean unknown = kind == Kind.FENCE && owners.logIsEmpty();
    return unknown ? UNKNOWN_CROWD : Math.max(LIKELY_CROWD, owners.others() + 1);
  }

  /** Any time below a bound. */
  long anyBelowNs(long boundNs) {
    return bits.nextBelow(boundNs);
  }

  long fingerprint() {
    return Fingerprint.of(
        bits.fingerprint(), times.fingerprint(), paceNs, slowdownNs, blocksPerVersion);
  }
}
