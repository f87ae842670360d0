package io.batchweave.commit;

import io.batchweave.format.Block;
import io.batchweave.log.Bits;
import io.batchweave.log.Fingerprint;
import io.batchweave.log.FoldOutcome;
import io.batchweave.log.State;

/**
 * Decides when to look at the head, when to announce, when to gather the announcements of others
 * and when to write: observations and the time go in, a decision and the time of the next one come
 * out. It decides nothing about safety: a bad decision costs requests.
 *
 * <p>The rules are in the description of this package. In short: whoever wrote the last version
 * leads ({@link LeaderPolicy}), writes for all and goes on at its own pace while there is work; the
 * others ({@link FollowerPolicy}) announce, and step in when that brings nothing ({@link
 * StepInTimer}). What they go by: {@link ActiveOwners}, {@link Knowledge} of the log, {@link
 * Tempo}. This class hands observations on, and waits after trouble.
 */
public final class CommitPolicy {
  /** What to do now. */
  public enum Step {
    /** Nothing before {@link #wakeAtNs}. */
    WAIT,
    /** Read on to the head. */
    LOOK,
    /** Ask for the next version once. */
    PEEK,
    /** Read the announcements of others. */
    GATHER,
    /** Announce one's own blocks. */
    ANNOUNCE,
    /** Write the next version. */
    COMMIT
  }

  /** Most versions per second on any store. */
  public static final int MAX_VERSIONS_PER_SECOND = 32;

  /** Most reads of versions per second by all active owners together. */
  public static final int MAX_READS_PER_SECOND = 2_000;

  /** Decided announcements that are worth a request to delete them. */
  public static final int WORTH_A_DELETE = 32;

  /** Versions in which an owner must have a block to count as active. */
  public static final int ACTIVE_VERSIONS = 64;

  private static final long MIN_BACKOFF_NS = 50 * Tempo.MILLISECOND_NS;
  private static final long MAX_BACKOFF_NS = 5 * Tempo.SECOND_NS;
  private static final long STALL_NS = 250 * Tempo.MILLISECOND_NS;

  private final ActiveOwners owners;
  private final Tempo tempo;
  private final Knowledge known;
  private final Alarm alarm;
  private final LeaderPolicy leader;
  private final FollowerPolicy follower;
  private long blockedUntilNs = Knowledge.NEVER;
  private int failures;

  /**
   * Creates one.
   *
   * @param self the owner's name as {@link #ownerOf} gives it for its blocks
   * @param bits the source of its randomness
   */
  public CommitPolicy(String self, Bits bits) {
    this.owners = new ActiveOwners(self);
    this.tempo = new Tempo(owners, bits);
    this.known = new Knowledge();
    this.alarm = new Alarm();
    this.leader = new LeaderPolicy(owners, tempo, known, alarm);
    this.follower = new FollowerPolicy(owners, tempo, known, alarm);
  }

  private CommitPolicy(CommitPolicy other) {
    this.owners = new ActiveOwners(other.owners);
    this.tempo = new Tempo(other.tempo, owners);
    this.known = new Knowledge(other.known);
    this.alarm = new Alarm(other.alarm);
    this.leader = new LeaderPolicy(other.leader, owners, tempo, known, alarm);
    this.follower = new FollowerPolicy(other.follower, owners, tempo, known, alarm);
    this.blockedUntilNs = other.blockedUntilNs;
    this.failures = other.failures;
  }

  /**
   * Whose block it is: what activity and fairness count by.
   *
   * @param block any block
   */
  public static String ownerOf(Block block) {
    return Owners.of(block);
  }

  // ---- decisions

  /**
   * Decides.
   *
   * @param now what the machine says of itself
   * @param nowNs the time
   */
  Step decide(Situation now, long nowNs) {
    alarm.clear();
    boolean otherLeads = otherLeads(nowNs);
    follower.observe(now, otherLeads);
    if (now.writing()) {
      return leader.whileWriting(now, nowNs);
    }
    if (nowNs < blockedUntilNs) {
      return alarm.waitUntil(blockedUntilNs);
    }
    if (leader.leads(nowNs)) {
      follower.forgetSlot();
      return leader.decide(now, nowNs);
    }
    if (!now.ownWork()) {
      follower.forgetSlot();
      return now.waiting() ? lookNowAndThen(now, nowNs) : Step.WAIT;
    }
    return follower.decide(now, leader.ownIsLast(), otherLeads, nowNs);
  }

  private Step lookNowAndThen(Situation now, long nowNs) {
    if (now.looking()) {
      return Step.WAIT;
    }
    long nextNs = known.lookBegunNs() + STALL_NS;
    return nowNs < nextNs ? alarm.waitUntil(nextNs) : known.look(nowNs);
  }

  private boolean otherLeads(long nowNs) {
    return !leader.ownIsLast() && tempo.otherLeads(known, nowNs);
  }

  /** Whether to read on now, before there is anything to offer; work is on its way. */
  boolean looksAhead(long nowNs) {
    boolean needed =
        !leader.leads(nowNs)
            && !otherLeads(nowNs)
            && known.lookBegunNs() < nowNs - tempo.recentNs();
    if (needed) {
      known.noteLook(nowNs);
    }
    return needed;
  }

  /** For how many versions of a group the one before is listed too. */
  int youngVersions() {
    return tempo.youngVersions();
  }

  /** Longest wait for the answers of reads that one round begins. */
  long readPatienceNs() {
    return tempo.readPatienceNs();
  }

  // ---- observations

  /**
   * The state was read from a snapshot: who was active before it.
   *
   * @param state as opened
   */
  public void onJumped(State state) {
    owners.onJumped(state);
  }

  /**
   * A version was folded, one's own or another's.
   *
   * @param outcome what it did
   * @param own whether this machine wrote it
   * @param nowNs the time
   */
  public void onFolded(FoldOutcome outcome, boolean own, long nowNs) {
    boolean others = owners.onFolded(outcome);
    known.onFolded(nowNs);
    // Somebody could write. That reads succeed says nothing about writes: stores throttle each.
    failures = 0;
    if (own) {
      follower.forgetSlot();
      tempo.keepOwnPace(outcome.blocks().size());
      leader.onOwnFolded(others);
    } else {
      tempo.keepPaceOf(outcome.header().paceMillis());
      leader.onOtherFolded();
      follower.onOtherFolded(nowNs);
    }
  }

  /**
   * A look ended at the head.
   *
   * @param nowNs the time
   */
  public void onLooked(long nowNs) {
    known.onLooked(nowNs);
  }

  /**
   * A version was sent.
   *
   * @param moreToCome whether acceptable blocks did not fit into it
   * @param nowNs the time
   */
  void onWriting(boolean moreToCome, long nowNs) {
    leader.onWriting(moreToCome, nowNs);
    follower.forgetSlot();
  }

  /**
   * One's own version was created and folded.
   *
   * @param tookNs from request to answer
   * @param nowNs the time
   */
  public void onCommitted(long tookNs, long nowNs) {
    tempo.times().put(tookNs);
    tempo.onCommitted();
    follower.onCommitted();
    owners.onCommitted();
    failures = 0;
    known.onCommitted(nowNs);
  }

  /**
   * Another version stands in its place.
   *
   * @param tookNs from request to answer
   * @param nowNs the time
   */
  public void onLost(long tookNs, long nowNs) {
    tempo.times().put(tookNs);
    failures = 0;
    again();
    follower.onLost(nowNs);
  }

  /**
   * The store was busy with the same key: not lost, to be tried again soon.
   *
   * @param nowNs the time
   */
  public void onConflict(long nowNs) {
    again();
    blockedUntilNs = nowNs + 1 + tempo.anyBelowNs(2 * tempo.times().putNs());
  }

  /**
   * Nobody knows whether it landed.
   *
   * @param nowNs the time
   */
  public void onUnclear(long nowNs) {
    again();
    long boundNs = Math.min(MAX_BACKOFF_NS, MIN_BACKOFF_NS << Math.min(failures, 7));
    failures++;
    blockedUntilNs = nowNs + boundNs / 2 + tempo.anyBelowNs(boundNs / 2);
  }

  private void again() {
    known.doubt();
    leader.onFailed();
    follower.forgetSlot();
  }

  /** The store asked to slow down. */
  void onThrottled() {
    tempo.onThrottled();
  }

  /** A LIST was answered. */
  void onListed(long tookNs) {
    tempo.times().list(tookNs);
  }

  /** A GET was answered. */
  void onGot(long tookNs) {
    tempo.times().get(tookNs);
  }

  /** A read of the log was answered. */
  void onRead(boolean list, long tookNs) {
    if (list) {
      onListed(tookNs);
    } else {
      onGot(tookNs);
    }
  }

  /** When to decide again; {@code Long.MAX_VALUE} if only events matter. */
  public long wakeAtNs() {
    return alarm.atNs();
  }

  /**
   * The time until this committer's next version, for the header of this one: 1 to 10,000.
   *
   * @param moreToCome whether acceptable blocks do not fit into it, so that the next follows at
   *     once
   */
  int paceMillis(boolean moreToCome) {
    return tempo.paceMillis(moreToCome);
  }

  /** A copy that shares nothing mutable. */
  public CommitPolicy copy() {
    return new CommitPolicy(this);
  }

  /** A hash of the whole state. */
  public long fingerprint() {
    return Fingerprint.of(
        owners.fingerprint(),
        tempo.fingerprint(),
        known.fingerprint(),
        leader.fingerprint(),
        follower.fingerprint(),
        blockedUntilNs,
        failures);
  }
}
