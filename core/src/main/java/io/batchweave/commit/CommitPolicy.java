package io.batchweave.commit;

import io.batchweave.format.Block;
import io.batchweave.log.Bits;
import io.batchweave.log.BlockOutcome;
import io.batchweave.log.FoldOutcome;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;

/**
 * Decides when to look at the head and when to write: observations and the time go in, a decision
 * and the time of the next one come out. It decides nothing about safety: a bad decision costs
 * requests.
 *
 * <p>This is the plain loop: everybody commits for himself. A lone owner writes at once, without a
 * look. Among several each draws a slot after the version it saw last, at random over a window that
 * grows with their number and the time of a PUT; whoever has just won stays out for one more
 * interval and the first window, so that winners do not keep winning; a slot is followed by a look
 * and a single PUT. No delay grows with conflicts: one's own bad luck is no measure of the load.
 * Only a failing store makes it back off.
 *
 * <p>Versions are paced: at most {@value #MAX_VERSIONS_PER_SECOND} per second, fewer where each
 * would be read by very many owners, but never fewer than one.
 */
public final class CommitPolicy {
  /** What to do now. */
  public enum Step {
    /** Nothing before {@link #wakeAtNs}. */
    WAIT,
    /** Read on to the head. */
    LOOK,
    /** Write the next version. */
    COMMIT
  }

  /** Most versions per second on any store. */
  public static final int MAX_VERSIONS_PER_SECOND = 32;

  /** Most reads of versions per second by all active owners together. */
  public static final int MAX_READS_PER_SECOND = 2_000;

  /** Versions in which an owner must have a block to count as active. */
  public static final int ACTIVE_VERSIONS = 64;

  private static final long SECOND_NS = 1_000_000_000L;
  private static final long MILLISECOND_NS = 1_000_000L;
  private static final long MIN_BACKOFF_NS = 50 * MILLISECOND_NS;
  private static final long MAX_BACKOFF_NS = 5 * SECOND_NS;
  private static final long STALL_NS = 250 * MILLISECOND_NS;
  private static final long MIN_PUT_NS = 2 * MILLISECOND_NS;
  private static final long NONE = Long.MAX_VALUE;

  private final String self;
  private final Bits bits;
  private final Map<String, Long> lastVersions;
  private long newestVersion;
  private long putNs = 20 * MILLISECOND_NS;
  private long intervalNs = SECOND_NS / MAX_VERSIONS_PER_SECOND;
  private long lastVersionAtNs = -NONE;
  private long lookedAtNs = -NONE;
  private boolean lookedByCommit;
  private int seenSinceLook;
  private long slotAtNs = NONE;
  private long blockedUntilNs = -NONE;
  private long stalledUntilNs = -NONE;
  private int failures;
  private boolean ownIsLast;
  private boolean mustLook = true;
  private boolean fresh;
  private long wakeAtNs = NONE;

  /**
   * Creates one.
   *
   * @param self the owner's name as {@link #ownerOf} gives it for its blocks
   * @param bits the source of its randomness
   */
  public CommitPolicy(String self, Bits bits) {
    this.self = self;
    this.bits = bits;
    this.lastVersions = new HashMap<>();
  }

  private CommitPolicy(CommitPolicy other) {
    this.self = other.self;
    this.bits = other.bits.copy();
    this.lastVersions = new HashMap<>(other.lastVersions);
    this.newestVersion = other.newestVersion;
    this.putNs = other.putNs;
    this.intervalNs = other.intervalNs;
    this.lastVersionAtNs = other.lastVersionAtNs;
    this.lookedAtNs = other.lookedAtNs;
    this.lookedByCommit = other.lookedByCommit;
    this.seenSinceLook = other.seenSinceLook;
    this.slotAtNs = other.slotAtNs;
    this.blockedUntilNs = other.blockedUntilNs;
    this.stalledUntilNs = other.stalledUntilNs;
    this.failures = other.failures;
    this.ownIsLast = other.ownIsLast;
    this.mustLook = other.mustLook;
    this.fresh = other.fresh;
    this.wakeAtNs = other.wakeAtNs;
  }

  /**
   * Whose block it is: what activity and fairness count by.
   *
   * @param block any block
   */
  public static String ownerOf(Block block) {
    return switch (block) {
      case Block.Fence fence -> "p." + fence.producer();
      case Block.Produce produce -> "p." + produce.producer();
      case Block.Retire retire -> "p." + retire.producer();
      case Block.OpenSession session -> "g." + session.group();
      case Block.EndSession session -> "g." + session.group();
      case Block.Pin pin -> "g." + pin.group();
      case Block.OperatorPin pin -> "g." + pin.group();
      case Block.Unpin unpin -> "g." + unpin.group();
      case Block.Skip skip -> "operator";
      case Block.Reclaim reclaim -> "operator";
      case Block.Seal seal -> "operator";
    };
  }

  /**
   * Decides.
   *
   * @param work whether there is a block to commit
   * @param nowNs the time
   */
  public Step decide(boolean work, long nowNs) {
    wakeAtNs = NONE;
    if (!work) {
      slotAtNs = NONE;
      return Step.WAIT;
    }
    if (nowNs < blockedUntilNs) {
      return waitUntil(blockedUntilNs);
    }
    if (stalledUntilNs != -NONE) {
      if (nowNs < stalledUntilNs) {
        return waitUntil(stalledUntilNs);
      }
      stalledUntilNs = -NONE;
      mustLook = true;
    }
    if (mustLook) {
      return Step.LOOK;
    }
    if (slotAtNs == NONE) {
      slotAtNs = slot(nowNs);
    }
    if (nowNs < slotAtNs) {
      return waitUntil(slotAtNs);
    }
    return fresh ? Step.COMMIT : Step.LOOK;
  }

  private Step waitUntil(long atNs) {
    wakeAtNs = atNs;
    return Step.WAIT;
  }

  private long slot(long nowNs) {
    int others = otherOwners();
    long minNs = minIntervalNs(others);
    long atNs = lastVersionAtNs == -NONE ? nowNs : Math.max(nowNs, lastVersionAtNs + minNs);
    if (others == 0) {
      return atNs;
    }
    long windowNs = windowNs(others);
    return atNs + (ownIsLast ? minNs + windowNs : 0) + bits.nextBelow(windowNs);
  }

  private long windowNs(int others) {
    return 2L * others * putNs;
  }

  private int otherOwners() {
    int others = 0;
    for (Map.Entry<String, Long> owner : lastVersions.entrySet()) {
      boolean active = owner.getValue() > newestVersion - ACTIVE_VERSIONS;
      others += active && !owner.getKey().equals(self) ? 1 : 0;
    }
    return others;
  }

  private static long minIntervalNs(int others) {
    long byReadsNs = (others + 1L) * SECOND_NS / MAX_READS_PER_SECOND;
    return Math.min(SECOND_NS, Math.max(SECOND_NS / MAX_VERSIONS_PER_SECOND, byReadsNs));
  }

  /**
   * A version was folded, one's own or another's.
   *
   * @param outcome what it did
   * @param nowNs the time
   */
  public void onFolded(FoldOutcome outcome, long nowNs) {
    newestVersion = Math.max(newestVersion, outcome.version());
    for (BlockOutcome block : outcome.blocks()) {
      if (block.accepted()) {
        lastVersions.put(ownerOf(block.block()), outcome.version());
      }
    }
    if (lastVersions.size() > 4 * ACTIVE_VERSIONS) {
      lastVersions.values().removeIf(version -> version <= newestVersion - ACTIVE_VERSIONS);
    }
    if (lastVersionAtNs != -NONE) {
      intervalNs += (Math.min(10 * SECOND_NS, nowNs - lastVersionAtNs) - intervalNs) / 8;
    }
    lastVersionAtNs = nowNs;
    seenSinceLook++;
    ownIsLast = false;
    fresh = false;
  }

  /**
   * A look ended at the head.
   *
   * @param nowNs the time
   */
  public void onLooked(long nowNs) {
    int others = otherOwners();
    boolean atSlot = slotAtNs != NONE && nowNs >= slotAtNs;
    long pacedAtNs =
        lookedAtNs == -NONE
            ? nowNs
            : lookedAtNs + (seenSinceLook + (lookedByCommit ? 1 : 0)) * minIntervalNs(others);
    mustLook = false;
    lookedAtNs = nowNs;
    lookedByCommit = false;
    seenSinceLook = 0;
    failures = 0;
    fresh = atSlot || others == 0;
    if (atSlot && others > 0 && pacedAtNs > nowNs) {
      // Others were quicker than the pace allows: one's turn comes a little later, without a look.
      slotAtNs = pacedAtNs + bits.nextBelow(windowNs(others));
    }
  }

  /**
   * There was work at the head, but nothing of it that the fold would accept now.
   *
   * @param nowNs the time
   */
  public void onNothingAcceptable(long nowNs) {
    stalledUntilNs = nowNs + STALL_NS;
    wakeAtNs = stalledUntilNs;
  }

  /** There is other work than before. */
  public void onNewOffer() {
    stalledUntilNs = -NONE;
  }

  /**
   * One's own version was created and folded.
   *
   * @param tookNs from request to answer
   * @param nowNs the time
   */
  public void onCommitted(long tookNs, long nowNs) {
    observePut(tookNs);
    failures = 0;
    slotAtNs = NONE;
    lookedAtNs = nowNs;
    lookedByCommit = true;
    seenSinceLook = 0;
    ownIsLast = true;
    fresh = otherOwners() == 0;
  }

  /**
   * Another version stands in its place.
   *
   * @param tookNs from request to answer
   */
  public void onLost(long tookNs) {
    observePut(tookNs);
    failures = 0;
    again();
  }

  /**
   * The store was busy with the same key: not lost, to be tried again soon.
   *
   * @param nowNs the time
   */
  public void onConflict(long nowNs) {
    again();
    slotAtNs = nowNs + 1 + bits.nextBelow(2 * putNs);
  }

  /**
   * Nobody knows whether it landed.
   *
   * @param nowNs the time
   */
  public void onUnclear(long nowNs) {
    again();
    backOff(nowNs);
  }

  private void again() {
    mustLook = true;
    fresh = false;
    slotAtNs = NONE;
  }

  private void observePut(long tookNs) {
    putNs = Math.max(MIN_PUT_NS, putNs + (Math.min(tookNs, SECOND_NS) - putNs) / 8);
  }

  private void backOff(long nowNs) {
    long boundNs = Math.min(MAX_BACKOFF_NS, MIN_BACKOFF_NS << Math.min(failures, 7));
    failures++;
    blockedUntilNs = nowNs + boundNs / 2 + bits.nextBelow(boundNs / 2);
  }

  /** When to decide again; {@code Long.MAX_VALUE} if only events matter. */
  public long wakeAtNs() {
    return wakeAtNs;
  }

  /** The interval between versions as seen here, for the header of the next one: 1 to 10,000. */
  public int paceMillis() {
    return (int) Math.max(1, Math.min(10_000, intervalNs / MILLISECOND_NS));
  }

  /** A copy that shares nothing mutable. */
  public CommitPolicy copy() {
    return new CommitPolicy(this);
  }

  /** A hash of the whole state. */
  public long fingerprint() {
    return Objects.hash(
        self,
        bits.fingerprint(),
        lastVersions,
        newestVersion,
        putNs,
        intervalNs,
        lastVersionAtNs,
        lookedAtNs,
        lookedByCommit,
        seenSinceLook,
        slotAtNs,
        blockedUntilNs,
        stalledUntilNs,
        failures,
        ownIsLast,
        mustLook,
        fresh);
  }
}
