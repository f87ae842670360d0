package io.batchweave.commit;

import io.batchweave.commit.CommitPolicy.Step;
import io.batchweave.commit.NoticeBoard.Round;
import io.batchweave.log.Fingerprint;

/**
 * The part of whoever wrote the last version: it writes for all, at its pace, while it has or sees
 * work, and does not look at the head in between.
 */
final class LeaderPolicy {
  /** Others from which on a leader who helped goes on at its pace. */
  private static final int FEW_OWNERS = 5;

  private static final long NEVER = Knowledge.NEVER;
  private static final long NONE = Long.MAX_VALUE;

  private final ActiveOwners owners;
  private final Tempo tempo;
  private final Knowledge known;
  private final Alarm alarm;
  private boolean ownIsLast;
  private boolean helped;
  private boolean overflowed;
  private long putAtNs = NEVER;
  private boolean awaitsRound;
  private long untilNs = NEVER;
  private long yieldUntilNs = NONE;

  LeaderPolicy(ActiveOwners owners, Tempo tempo, Knowledge known, Alarm alarm) {
    this.owners = owners;
    this.tempo = tempo;
    this.known = known;
    this.alarm = alarm;
  }

  LeaderPolicy(LeaderPolicy other, ActiveOwners owners, Tempo tempo, Knowledge known, Alarm alarm) {
    this(owners, tempo, known, alarm);
    this.ownIsLast = other.ownIsLast;
    this.helped = other.helped;
    this.overflowed = other.overflowed;
    this.putAtNs = other.putAtNs;
    this.awaitsRound = other.awaitsRound;
    this.untilNs = other.untilNs;
    this.yieldUntilNs = other.yieldUntilNs;
  }

  // ---- decisions

  /** Whether the last version is one's own. */
  boolean ownIsLast() {
    return ownIsLast;
  }

  /** Whether to go on as the one who writes for all, without a look. */
  boolean leads(long nowNs) {
    return ownIsLast && !known.mustLook() && (owners.lone() || nowNs <= untilNs);
  }

  /** While a version is on its way: what did not fit is read beside it. */
  Step whileWriting(Situation now, long nowNs) {
    boolean gather = overflowed && known.roundNeeded() && !now.gathering();
    return gather ? known.gather(nowNs) : Step.WAIT;
  }

  Step decide(Situation now, long nowNs) {
    if (now.gathering()) {
      awaitsRound = true;
      return Step.WAIT;
    }
    // However long it took to fail, a round counts, or a LIST that hangs would be all there is.
    boolean blind = now.round() == Round.FAILED && (awaitsRound || yieldUntilNs != NONE);
    awaitsRound = false;
    long dueAtNs = overflowed ? nowNs : putAtNs + tempo.intervalNs();
    if (known.roundNeeded() || (now.ownWork() && !blind && roundIsOld(nowNs))) {
      if (!now.ownWork() && owners.lone()) {
        return Step.WAIT;
      }
      long gatherAtNs =
          now.ownWork() || (helped && owners.others() >= FEW_OWNERS)
              ? dueAtNs - leadTimeNs()
              : lastRoundAtNs();
      return nowNs < gatherAtNs ? alarm.waitUntil(gatherAtNs) : known.gather(nowNs);
    }
    if (now.round() == Round.FAILED) {
      return decideBlind(now, nowNs);
    }
    yieldUntilNs = NONE;
    if (now.ownWork() || now.helpWork()) {
      return nowNs < dueAtNs ? alarm.waitUntil(dueAtNs) : Step.COMMIT;
    }
    if (known.roundBegunNs() >= lastRoundAtNs()) {
      untilNs = NEVER;
      return Step.WAIT;
    }
    helped = false;
    known.needRound();
    return alarm.waitUntil(Math.max(nowNs + 1, lastRoundAtNs()));
  }

  /** It cannot list: it announces, yields, then writes its own once. */
  private Step decideBlind(Situation now, long nowNs) {
    if (!now.ownWork()) {
      untilNs = NEVER;
      return Step.WAIT;
    }
    if (yieldUntilNs == NONE) {
      yieldUntilNs = nowNs + tempo.stepInNs() + tempo.drawNs(now.kind());
      untilNs = Math.max(untilNs, yieldUntilNs + Tempo.SECOND_NS);
      if (now.unannounced()) {
        return Step.ANNOUNCE;
      }
    }
    if (nowNs < yieldUntilNs) {
      return alarm.waitUntil(yieldUntilNs);
    }
    yieldUntilNs = NONE;
    return Step.COMMIT;
  }

  private boolean roundIsOld(long nowNs) {
    return nowNs - known.roundBegunNs() > Math.max(tempo.intervalNs(), 4 * tempo.times().roundNs());
  }

  /** When a leader whom nobody needed for a while looks for announcements for the last time. */
  private long lastRoundAtNs() {
    return known.foldedAtNs() + tempo.freshNs() + tempo.times().putNs();
  }

  /** From the LIST to the version it serves. */
  private long leadTimeNs() {
    return tempo.times().listNs() + (helped ? 3 : 1) * tempo.times().getNs();
  }

  // ---- observations

  /** A version of one's own was folded. */
  void onOwnFolded(boolean servedOthers) {
    ownIsLast = true;
    helped = servedOthers;
    yieldUntilNs = NONE;
    untilNs = lastRoundAtNs() + 2 * tempo.times().cycleNs() + Tempo.SECOND_NS;
  }

  /** A version of another was folded. */
  void onOtherFolded() {
    ownIsLast = false;
    helped = false;
    overflowed = false;
    yieldUntilNs = NONE;
  }

  /** A version was sent. */
  void onWriting(boolean moreToCome, long nowNs) {
    putAtNs = nowNs;
    known.needRound();
    overflowed = moreToCome;
  }

  /** The version that was sent is not, or not known to be, the next one. */
  void onFailed() {
    overflowed = false;
  }

  long fingerprint() {
    return Fingerprint.of(
        ownIsLast, helped, overflowed, putAtNs, awaitsRound, untilNs, yieldUntilNs);
  }
}
