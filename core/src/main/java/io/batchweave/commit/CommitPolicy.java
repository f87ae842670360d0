package io.batchweave.commit;

import io.batchweave.commit.NoticeBoard.Round;
import io.batchweave.commit.Situation.Kind;
import io.batchweave.format.Block;
import io.batchweave.format.Limits;
import io.batchweave.log.Bits;
import io.batchweave.log.BlockOutcome;
import io.batchweave.log.Fingerprint;
import io.batchweave.log.FoldOutcome;
import io.batchweave.log.State;
import java.util.HashMap;
import java.util.Map;

/**
 * Decides when to look at the head, when to announce, when to gather the announcements of others
 * and when to write: observations and the time go in, a decision and the time of the next one come
 * out. It decides nothing about safety: a bad decision costs requests.
 *
 * <p>The rules are in the description of this package. In short: whoever wrote the last version
 * leads, writes for all and goes on at its own pace while there is work; the others announce, and
 * step in when that brings nothing.
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

  /** Versions in which an owner must have a block to count as active. */
  public static final int ACTIVE_VERSIONS = 64;

  private static final long SECOND_NS = 1_000_000_000L;
  private static final long MILLISECOND_NS = 1_000_000L;
  private static final long MIN_BACKOFF_NS = 50 * MILLISECOND_NS;
  private static final long MAX_BACKOFF_NS = 5 * SECOND_NS;
  private static final long STALL_NS = 250 * MILLISECOND_NS;
  private static final long MIN_STEP_IN_NS = 50 * MILLISECOND_NS;
  private static final long MAX_SLOWDOWN_NS = 10 * SECOND_NS;
  private static final int UNKNOWN_CROWD = 512;
  private static final int LIKELY_CROWD = 64;
  private static final int LEAST_CROWD = 4;
  private static final int BUSY_OWNERS = 8;
  private static final int FEW_OWNERS = 5;
  private static final int NEWCOMER_VERSIONS = 3;
  private static final int MAX_MISFORTUNE = 2;
  private static final long NONE = Long.MAX_VALUE;
  private static final long NEVER = Long.MIN_VALUE / 4;

  private final String self;
  private final Bits bits;
  private final Map<String, Long> lastVersions;
  private final RequestTimes times;
  private long newestVersion;

  // What is known of the log, and since when.
  private long knownAtNs = NEVER;
  private long lastFoldedAtNs = NEVER;
  private long lastAgeNs;
  private long spacingNs = NONE;
  private int foldedSinceKnown;
  private int misfortune;
  private long ownVersions;
  private long lookBegunNs = NEVER;
  private long paceNs = SECOND_NS / MAX_VERSIONS_PER_SECOND;
  private boolean mustLook = true;

  // The leader's part.
  private boolean ownIsLast;
  private boolean helped;
  private boolean overflowed;
  private long putAtNs = NEVER;
  private long needRoundAfterNs = NEVER;
  private long roundBegunNs = NEVER;
  private boolean lookedAfterRound;
  private long leadUntilNs = NEVER;
  private long yieldUntilNs = NONE;

  // The follower's part.
  private long slotAtNs = NONE;
  private long episodeNs = NONE;
  private long stepInAtNs = NONE;
  private boolean extended;
  private boolean direct;
  private long peekAtNs = NONE;

  private long blockedUntilNs = NEVER;
  private long slowdownNs;
  private int failures;
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
    this.times = new RequestTimes();
  }

  private CommitPolicy(CommitPolicy other) {
    this.self = other.self;
    this.bits = other.bits.copy();
    this.lastVersions = new HashMap<>(other.lastVersions);
    this.times = new RequestTimes(other.times);
    this.newestVersion = other.newestVersion;
    this.knownAtNs = other.knownAtNs;
    this.lastFoldedAtNs = other.lastFoldedAtNs;
    this.lastAgeNs = other.lastAgeNs;
    this.spacingNs = other.spacingNs;
    this.foldedSinceKnown = other.foldedSinceKnown;
    this.misfortune = other.misfortune;
    this.ownVersions = other.ownVersions;
    this.lookBegunNs = other.lookBegunNs;
    this.paceNs = other.paceNs;
    this.mustLook = other.mustLook;
    this.ownIsLast = other.ownIsLast;
    this.helped = other.helped;
    this.overflowed = other.overflowed;
    this.putAtNs = other.putAtNs;
    this.needRoundAfterNs = other.needRoundAfterNs;
    this.roundBegunNs = other.roundBegunNs;
    this.lookedAfterRound = other.lookedAfterRound;
    this.leadUntilNs = other.leadUntilNs;
    this.yieldUntilNs = other.yieldUntilNs;
    this.slotAtNs = other.slotAtNs;
    this.episodeNs = other.episodeNs;
    this.stepInAtNs = other.stepInAtNs;
    this.extended = other.extended;
    this.direct = other.direct;
    this.peekAtNs = other.peekAtNs;
    this.blockedUntilNs = other.blockedUntilNs;
    this.slowdownNs = other.slowdownNs;
    this.failures = other.failures;
    this.wakeAtNs = other.wakeAtNs;
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
    wakeAtNs = NONE;
    if (!now.announced()) {
      episodeNs = NONE;
      peekAtNs = NONE;
    } else if (episodeNs != now.announcedAtNs()) {
      beginEpisode(now, nowNs);
    }
    if (now.writing()) {
      boolean gather = overflowed && roundBegunNs < putAtNs && !inProgress(now);
      return gather ? gather(nowNs) : Step.WAIT;
    }
    if (nowNs < blockedUntilNs) {
      return waitUntil(blockedUntilNs);
    }
    if (leads(nowNs)) {
      return lead(now, nowNs);
    }
    if (!now.ownWork()) {
      slotAtNs = NONE;
      return now.waiting() ? lookNowAndThen(now, nowNs) : Step.WAIT;
    }
    return follow(now, nowNs);
  }

  private Step lookNowAndThen(Situation now, long nowNs) {
    if (now.looking()) {
      return Step.WAIT;
    }
    return nowNs - lookBegunNs < STALL_NS ? waitUntil(lookBegunNs + STALL_NS) : look(nowNs);
  }

  private Step waitUntil(long atNs) {
    wakeAtNs = Math.min(wakeAtNs, atNs);
    return Step.WAIT;
  }

  private Step gather(long nowNs) {
    roundBegunNs = nowNs;
    lookedAfterRound = false;
    return Step.GATHER;
  }

  private static boolean inProgress(Situation now) {
    return now.round() == Round.LISTING || now.round() == Round.READING;
  }

  /** Whether to go on as the one who writes for all, without a look. */
  private boolean leads(long nowNs) {
    return ownIsLast && !mustLook && (lone() || nowNs <= leadUntilNs);
  }

  private Step lead(Situation now, long nowNs) {
    slotAtNs = NONE;
    if (inProgress(now)) {
      return Step.WAIT;
    }
    long dueAtNs = overflowed ? nowNs : putAtNs + intervalNs();
    if (roundBegunNs < needRoundAfterNs || (now.ownWork() && roundIsOld(nowNs))) {
      if (!now.ownWork() && lone()) {
        return Step.WAIT;
      }
      long gatherAtNs =
          now.ownWork() || (helped && otherOwners() >= FEW_OWNERS)
              ? dueAtNs - leadTimeNs()
              : lastRoundAtNs();
      return nowNs < gatherAtNs ? waitUntil(gatherAtNs) : gather(nowNs);
    }
    if (now.round() == Round.FAILED) {
      return leadBlind(now, nowNs);
    }
    yieldUntilNs = NONE;
    if (now.ownWork() || now.helpWork()) {
      return nowNs < dueAtNs ? waitUntil(dueAtNs) : Step.COMMIT;
    }
    if (roundBegunNs >= lastRoundAtNs()) {
      leadUntilNs = NEVER;
      return Step.WAIT;
    }
    helped = false;
    needRoundAfterNs = nowNs;
    return waitUntil(Math.max(nowNs + 1, lastRoundAtNs()));
  }

  private boolean roundIsOld(long nowNs) {
    return nowNs - roundBegunNs > Math.max(intervalNs(), 4 * times.roundNs());
  }

  /** When a leader whom nobody needed for a while looks for announcements for the last time. */
  private long lastRoundAtNs() {
    return lastFoldedAtNs + freshNs() + times.putNs();
  }

  /** A leader that cannot list: announces, yields, then writes its own once. */
  private Step leadBlind(Situation now, long nowNs) {
    if (!now.ownWork()) {
      leadUntilNs = NEVER;
      return Step.WAIT;
    }
    if (yieldUntilNs == NONE) {
      yieldUntilNs = nowNs + stepInNs() + jitterNs(crowd(now.kind()));
      leadUntilNs = Math.max(leadUntilNs, yieldUntilNs + SECOND_NS);
      if (now.unannounced()) {
        return Step.ANNOUNCE;
      }
    }
    if (nowNs < yieldUntilNs) {
      return waitUntil(yieldUntilNs);
    }
    yieldUntilNs = NONE;
    return Step.COMMIT;
  }

  private Step follow(Situation now, long nowNs) {
    if (mustLook) {
      return now.looking() ? Step.WAIT : look(nowNs);
    }
    boolean active = leaderIsActive(nowNs);
    if (now.announced() && now.unannounced()) {
      return Step.ANNOUNCE;
    }
    if (!now.announced() && slotAtNs == NONE) {
      if (!active && lookBegunNs < nowNs - recentNs()) {
        return now.looking() ? Step.WAIT : look(nowNs);
      }
      boolean unlucky = misfortune > 0 && otherOwners() > 0;
      if (active || unlucky || now.kind() == Kind.SHARED) {
        return Step.ANNOUNCE;
      }
      if (now.looking()) {
        return Step.WAIT;
      }
      slotAtNs = nowNs + (now.kind() == Kind.FENCE ? jitterNs(crowd(now.kind())) : 0);
    } else if (now.announced()) {
      slotAtNs = stepInAtNs(now);
    }
    if (nowNs < slotAtNs) {
      return untilSlot(now, nowNs);
    }
    return attempt(now, nowNs);
  }

  private Step untilSlot(Situation now, long nowNs) {
    if (now.announced() && !now.looking()) {
      if (nowNs >= peekAtNs) {
        peekAtNs = nowNs + paceNs / 3 + times.getNs();
        // Far behind, one answer leads to the next; near the head each is waited for.
        return nowNs - lastFoldedAtNs > 2 * paceNs ? look(nowNs) : Step.PEEK;
      }
      wakeAtNs = peekAtNs;
    }
    return waitUntil(slotAtNs);
  }

  /** Writes oneself. */
  private Step attempt(Situation now, long nowNs) {
    return now.announced() ? stepIn(now, nowNs) : writeAlone(now, nowNs);
  }

  /** Reads the announcements, then looks: the later the look, the fewer versions are lost. */
  private Step writeAlone(Situation now, long nowNs) {
    if (inProgress(now)) {
      return Step.WAIT;
    }
    if (roundBegunNs < slotAtNs) {
      if (now.kind() == Kind.FENCE && lookBegunNs < slotAtNs) {
        // Of a crowd another was most often quicker: then nothing need be read.
        return now.looking() ? Step.WAIT : look(nowNs);
      }
      return now.looking() ? Step.WAIT : gather(nowNs);
    }
    if (now.round() == Round.FAILED) {
      return Step.ANNOUNCE;
    }
    if (now.looking()) {
      return Step.WAIT;
    }
    return lookedAfterRound ? Step.COMMIT : look(nowNs);
  }

  /** Looks, since most often that was it; only then reads the announcements of others. */
  private Step stepIn(Situation now, long nowNs) {
    if (now.looking()) {
      return Step.WAIT;
    }
    if (lookBegunNs < slotAtNs) {
      return look(nowNs);
    }
    if (!direct && !extended && lastFoldedAtNs > episodeNs && !ownIsLast) {
      // The log moved without one's block: whoever leads gets a second interval, no third.
      extended = true;
      long secondNs = Math.min(episodeNs + 2 * stepInNs(), lastFoldedAtNs + stepInNs());
      stepInAtNs = Math.max(nowNs, secondNs + jitterNs(crowd(now.kind())));
      slotAtNs = stepInAtNs;
      peekAtNs = nowNs + paceNs / 2;
      return waitUntil(slotAtNs);
    }
    if (inProgress(now)) {
      return Step.WAIT;
    }
    return roundBegunNs < slotAtNs ? gather(nowNs) : Step.COMMIT;
  }

  private Step look(long nowNs) {
    lookBegunNs = nowNs;
    lookedAfterRound = true;
    return Step.LOOK;
  }

  private void beginEpisode(Situation now, long nowNs) {
    episodeNs = now.announcedAtNs();
    extended = false;
    boolean active = leaderIsActive(nowNs);
    direct = now.kind() == Kind.SHARED && !active;
    stepInAtNs = direct ? episodeNs : episodeNs + stepInNs() + jitterNs(crowd(now.kind()));
    peekAtNs = episodeNs + times.putNs() + times.roundNs() + times.putNs() + 4 * paceNs / 5;
  }

  private long stepInAtNs(Situation now) {
    return switch (now.announcement()) {
      case UNANSWERED -> direct ? Math.max(stepInAtNs, episodeNs + stepInNs()) : stepInAtNs;
      case CREATED -> stepInAtNs;
      case FOUND ->
          now.kind() == Kind.SHARED ? Math.max(stepInAtNs, episodeNs + 2 * stepInNs()) : stepInAtNs;
    };
  }

  /** Whether to read on now, before there is anything to offer; work is on its way. */
  boolean looksAhead(long nowNs) {
    boolean needed = !leads(nowNs) && !leaderIsActive(nowNs) && lookBegunNs < nowNs - recentNs();
    if (needed) {
      lookBegunNs = nowNs;
    }
    return needed;
  }

  // ---- estimates

  private long recentNs() {
    return 2 * times.putNs();
  }

  /** Least time from one version to the next. */
  private long intervalNs() {
    int others = otherOwners();
    long leastNs = SECOND_NS / MAX_VERSIONS_PER_SECOND;
    if (!lone()) {
      long byReadsNs = (others + 1L) * SECOND_NS / MAX_READS_PER_SECOND;
      leastNs = Math.max(leastNs, Math.max(byReadsNs, 2 * times.cycleNs()));
    }
    return Math.min(SECOND_NS, leastNs) + slowdownNs;
  }

  /** From the LIST to the version it serves. */
  private long leadTimeNs() {
    return times.listNs() + (helped ? 3 : 1) * times.getNs();
  }

  /** For how long after a version somebody is expected to serve announcements. */
  private long freshNs() {
    return paceNs + times.getNs();
  }

  /** How long an announcement may take before its owner doubts that anybody serves it. */
  private long stepInNs() {
    return Math.max(MIN_STEP_IN_NS, paceNs + 2 * times.cycleNs());
  }

  /** For how many versions of a group the one before is listed too. */
  int youngVersions() {
    return otherOwners() < BUSY_OWNERS
        ? Limits.ANNOUNCE_VERSIONS / 8
        : Limits.ANNOUNCE_VERSIONS / 2;
  }

  /** Longest wait for the answers of reads that one round begins. */
  long readPatienceNs() {
    return Math.max(20 * MILLISECOND_NS, 4 * times.getNs());
  }

  private boolean leaderIsActive(long nowNs) {
    if (ownIsLast || lastFoldedAtNs == NEVER) {
      return false;
    }
    long ageNs = nowNs - lastFoldedAtNs + lastAgeNs;
    if (ageNs < freshNs()) {
      return true;
    }
    // With many others somebody has led all the time; whether still, the step-in timer finds out.
    return otherOwners() >= BUSY_OWNERS
        && spacingNs < 2 * paceNs
        && nowNs - knownAtNs < 10 * SECOND_NS;
  }

  /** How many may step in at the same time. */
  private int crowd(Kind kind) {
    if (kind == Kind.PRODUCE) {
      return Math.max(LEAST_CROWD, otherOwners() + 1);
    }
    return newestVersion == 0 ? UNKNOWN_CROWD : Math.max(LIKELY_CROWD, otherOwners() + 1);
  }

  /**
   * A delay drawn so that of a crowd few come first: the density grows exponentially, and when the
   * first of them has written, most of the others have not begun.
   */
  private long jitterNs(int crowd) {
    double log = Math.log(crowd);
    double uniform = (bits.nextBelow(1L << 30) + 1) / (double) (1L << 30);
    double windowNs = log * (times.listNs() + times.putNs());
    return (long) (windowNs * Math.max(0, 1 + Math.log(uniform) / log));
  }

  /** Whether nobody else writes; whoever has just come waits a few versions before he says so. */
  private boolean lone() {
    return otherOwners() == 0 && ownVersions >= NEWCOMER_VERSIONS;
  }

  private int otherOwners() {
    int others = 0;
    for (Map.Entry<String, Long> owner : lastVersions.entrySet()) {
      boolean active = owner.getValue() > newestVersion - ACTIVE_VERSIONS;
      others += active && !owner.getKey().equals(self) ? 1 : 0;
    }
    return others;
  }

  // ---- observations

  /**
   * The state was read from a snapshot: who was active before it.
   *
   * @param state as opened
   */
  public void onJumped(State state) {
    newestVersion = Math.max(newestVersion, state.version());
    state.forEachProducer((id, producer) -> {
      if (producer.lastVersion() > state.version() - ACTIVE_VERSIONS) {
        lastVersions.merge("p." + id, producer.lastVersion(), Math::max);
      }
    });
  }

  /**
   * A version was folded, one's own or another's.
   *
   * @param outcome what it did
   * @param own whether this machine wrote it
   * @param nowNs the time
   */
  public void onFolded(FoldOutcome outcome, boolean own, long nowNs) {
    newestVersion = Math.max(newestVersion, outcome.version());
    boolean others = false;
    for (BlockOutcome block : outcome.blocks()) {
      if (block.accepted()) {
        String owner = Owners.of(block.block());
        lastVersions.put(owner, outcome.version());
        others |= !owner.equals(self);
      }
    }
    if (lastVersions.size() > 4 * ACTIVE_VERSIONS) {
      lastVersions.values().removeIf(version -> version <= newestVersion - ACTIVE_VERSIONS);
    }
    foldedSinceKnown++;
    lastFoldedAtNs = nowNs;
    lastAgeNs = 0;
    slotAtNs = NONE;
    yieldUntilNs = NONE;
    helped = own && others;
    ownIsLast = own;
    if (own) {
      paceNs = intervalNs();
      leadUntilNs = lastRoundAtNs() + 2 * times.cycleNs() + SECOND_NS;
    } else {
      overflowed = false;
      paceNs = Math.clamp(outcome.header().paceMillis(), 1, 10_000) * MILLISECOND_NS;
      peekAtNs = Math.max(peekAtNs == NONE ? NEVER : peekAtNs, nowNs + 3 * paceNs / 4);
    }
  }

  /** The log is known up to now: how often versions came, and how old the last one may be. */
  private void known(long nowNs) {
    if (foldedSinceKnown > 0) {
      if (knownAtNs != NEVER) {
        long gapNs = nowNs - knownAtNs;
        spacingNs = gapNs / foldedSinceKnown;
        lastAgeNs = Math.max(0, gapNs / (foldedSinceKnown + 1) - (nowNs - lastFoldedAtNs));
      } else {
        lastAgeNs = 10 * SECOND_NS;
      }
    }
    foldedSinceKnown = 0;
    knownAtNs = nowNs;
  }

  /**
   * A look ended at the head.
   *
   * @param nowNs the time
   */
  public void onLooked(long nowNs) {
    known(nowNs);
    mustLook = false;
    failures = 0;
  }

  /**
   * A version was sent.
   *
   * @param moreToCome whether acceptable blocks did not fit into it
   * @param nowNs the time
   */
  void onWriting(boolean moreToCome, long nowNs) {
    putAtNs = nowNs;
    needRoundAfterNs = nowNs;
    overflowed = moreToCome;
    slotAtNs = NONE;
  }

  /**
   * One's own version was created and folded.
   *
   * @param tookNs from request to answer
   * @param nowNs the time
   */
  public void onCommitted(long tookNs, long nowNs) {
    times.put(tookNs);
    misfortune = Math.max(0, misfortune - 1);
    ownVersions++;
    slowdownNs = slowdownNs < 20 * MILLISECOND_NS ? 0 : slowdownNs / 8;
    failures = 0;
    known(nowNs);
    lastAgeNs = 0;
  }

  /**
   * Another version stands in its place.
   *
   * @param tookNs from request to answer
   * @param nowNs the time
   */
  public void onLost(long tookNs, long nowNs) {
    times.put(tookNs);
    failures = 0;
    misfortune = MAX_MISFORTUNE;
    again();
    if (episodeNs != NONE) {
      stepInAtNs = Math.max(stepInAtNs, nowNs + paceNs + jitterNs(crowd(Kind.PRODUCE)));
      peekAtNs = nowNs + paceNs / 2;
    }
  }

  /**
   * The store was busy with the same key: not lost, to be tried again soon.
   *
   * @param nowNs the time
   */
  public void onConflict(long nowNs) {
    again();
    blockedUntilNs = nowNs + 1 + bits.nextBelow(2 * times.putNs());
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
    blockedUntilNs = nowNs + boundNs / 2 + bits.nextBelow(boundNs / 2);
  }

  /** The store asked to slow down. */
  void onThrottled() {
    slowdownNs = Math.min(MAX_SLOWDOWN_NS, Math.max(100 * MILLISECOND_NS, 2 * slowdownNs));
  }

  /** A LIST was answered. */
  void onListed(long tookNs) {
    times.list(tookNs);
  }

  /** A GET was answered. */
  void onGot(long tookNs) {
    times.get(tookNs);
  }

  private void again() {
    mustLook = true;
    overflowed = false;
    slotAtNs = NONE;
  }

  /** When to decide again; {@code Long.MAX_VALUE} if only events matter. */
  public long wakeAtNs() {
    return wakeAtNs;
  }

  /** The interval between versions that this committer keeps, for their headers: 1 to 10,000. */
  public int paceMillis() {
    return Math.clamp(intervalNs() / MILLISECOND_NS, 1, 10_000);
  }

  /** A copy that shares nothing mutable. */
  public CommitPolicy copy() {
    return new CommitPolicy(this);
  }

  /** A hash of the whole state. */
  public long fingerprint() {
    return Fingerprint.of(
        bits.fingerprint(),
        lastVersions,
        times.fingerprint(),
        newestVersion,
        Fingerprint.of(
            knownAtNs,
            lastFoldedAtNs,
            lastAgeNs,
            spacingNs,
            foldedSinceKnown,
            misfortune,
            Math.min(ownVersions, NEWCOMER_VERSIONS),
            lookBegunNs,
            paceNs,
            mustLook),
        Fingerprint.of(
            ownIsLast,
            helped,
            overflowed,
            putAtNs,
            needRoundAfterNs,
            roundBegunNs,
            lookedAfterRound,
            leadUntilNs,
            yieldUntilNs),
        Fingerprint.of(slotAtNs, episodeNs, stepInAtNs, extended, direct, peekAtNs),
        blockedUntilNs,
        slowdownNs,
        failures);
  }
}
