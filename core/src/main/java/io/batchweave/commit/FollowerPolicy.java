package io.batchweave.commit;

import io.batchweave.commit.CommitPolicy.Step;
import io.batchweave.commit.NoticeBoard.Round;
import io.batchweave.commit.Situation.Kind;
import io.batchweave.log.Fingerprint;

/**
 * The part of everybody else: it announces where somebody leads, and writes itself where nobody
 * does or where that brought nothing.
 */
final class FollowerPolicy {
  private static final int MAX_MISFORTUNE = 2;

  /** Whoever waits his turn glances at the log when this part of what is left is over. */
  private static final int GLANCES = 3;

  private static final long NONE = Long.MAX_VALUE;

  private final ActiveOwners owners;
  private final Tempo tempo;
  private final Knowledge known;
  private final Alarm alarm;
  private final StepInTimer timer;
  private long slotAtNs = NONE;
  private long glanceAtNs = NONE;
  private boolean drawn;
  private boolean outrun;
  private int misfortune;

  FollowerPolicy(ActiveOwners owners, Tempo tempo, Knowledge known, Alarm alarm) {
    this(owners, tempo, known, alarm, new StepInTimer(tempo));
  }

  private FollowerPolicy(
      ActiveOwners owners, Tempo tempo, Knowledge known, Alarm alarm, StepInTimer timer) {
    this.owners = owners;
    this.tempo = tempo;
    this.known = known;
    this.alarm = alarm;
    this.timer = timer;
  }

  FollowerPolicy(
      FollowerPolicy other, ActiveOwners owners, Tempo tempo, Knowledge known, Alarm alarm) {
    this(owners, tempo, known, alarm, new StepInTimer(other.timer, tempo));
    this.slotAtNs = other.slotAtNs;
    this.glanceAtNs = other.glanceAtNs;
    this.drawn = other.drawn;
    this.outrun = other.outrun;
    this.misfortune = other.misfortune;
  }

  // ---- decisions

  /** Takes note of what is announced, before every decision. */
  void observe(Situation now, boolean otherLeads) {
    timer.observe(now, otherLeads);
  }

  Step decide(Situation now, boolean ownIsLast, boolean otherLeads, long nowNs) {
    if (known.mustLook()) {
      return now.looking() ? Step.WAIT : known.look(nowNs);
    }
    if (now.announced() && now.unannounced()) {
      return Step.ANNOUNCE;
    }
    if (!now.announced() && slotAtNs == NONE) {
      if (!otherLeads && known.lookBegunNs() < nowNs - tempo.recentNs()) {
        return now.looking() ? Step.WAIT : known.look(nowNs);
      }
      boolean unlucky = outrun || (misfortune > 0 && owners.others() > 0);
      if (otherLeads || unlucky || now.kind() == Kind.SHARED) {
        return Step.ANNOUNCE;
      }
      if (now.looking()) {
        return Step.WAIT;
      }
      drawSlot(now, nowNs);
    } else if (now.announced()) {
      slotAtNs = timer.atNs(now);
      drawn = false;
    }
    if (nowNs < slotAtNs) {
      return untilSlot(now, nowNs);
    }
    return now.announced() ? stepIn(now, ownIsLast, nowNs) : writeAlone(now, nowNs);
  }

  private void drawSlot(Situation now, long nowNs) {
    long delayNs = now.kind() == Kind.FENCE ? tempo.drawNs(now.kind()) : 0;
    slotAtNs = nowNs + delayNs;
    drawn = delayNs > 0;
    planGlance(nowNs);
  }

  /** Of a crowd the first may write long before one's own turn: then it is time to announce. */
  private void planGlance(long nowNs) {
    long leftNs = slotAtNs - nowNs;
    glanceAtNs = leftNs > tempo.recentNs() ? nowNs + leftNs / GLANCES : NONE;
  }

  private Step untilSlot(Situation now, long nowNs) {
    if (!now.announced() && !now.looking()) {
      if (nowNs >= glanceAtNs) {
        planGlance(nowNs);
        return Step.PEEK;
      }
      alarm.waitUntil(glanceAtNs);
    }
    if (now.announced() && !now.looking()) {
      if (nowNs >= timer.peekAtNs()) {
        timer.peeked(nowNs);
        // Far behind, one answer leads to the next; near the head each is waited for.
        return nowNs - known.foldedAtNs() > 2 * tempo.paceNs() ? known.look(nowNs) : Step.PEEK;
      }
      alarm.waitUntil(timer.peekAtNs());
    }
    return alarm.waitUntil(slotAtNs);
  }

  /** Reads the announcements, then looks: the later the look, the fewer versions are lost. */
  private Step writeAlone(Situation now, long nowNs) {
    if (now.gathering()) {
      return Step.WAIT;
    }
    if (known.roundBegunNs() < slotAtNs) {
      if (now.looking()) {
        return Step.WAIT;
      }
      // Of a crowd another was most often quicker: then nothing need be read.
      boolean lookFirst = now.kind() == Kind.FENCE && known.lookBegunNs() < slotAtNs;
      return lookFirst ? known.look(nowNs) : known.gather(nowNs);
    }
    if (now.round() == Round.FAILED) {
      return Step.ANNOUNCE;
    }
    if (now.looking()) {
      return Step.WAIT;
    }
    return known.lookedAfterRound() ? Step.COMMIT : known.look(nowNs);
  }

  /** Looks, since most often that was it; only then reads the announcements of others. */
  private Step stepIn(Situation now, boolean ownIsLast, long nowNs) {
    if (now.looking()) {
      return Step.WAIT;
    }
    if (known.lookBegunNs() < slotAtNs) {
      return known.look(nowNs);
    }
    if (!ownIsLast && timer.extend(now, known.foldedAtNs(), nowNs)) {
      slotAtNs = timer.atNs(now);
      return untilSlot(now, nowNs);
    }
    if (now.gathering()) {
      return Step.WAIT;
    }
    return known.roundBegunNs() < slotAtNs ? known.gather(nowNs) : Step.COMMIT;
  }

  // ---- observations

  /** What was planned is no longer: the log moved, or one wrote oneself, or there is no work. */
  void forgetSlot() {
    slotAtNs = NONE;
    drawn = false;
    outrun = false;
  }

  /**
   * A version of another was folded: who waited his turn in a crowd was outrun, by who leads now.
   */
  void onOtherFolded(long nowNs) {
    outrun = drawn;
    drawn = false;
    slotAtNs = NONE;
    timer.onOtherFolded(nowNs);
  }

  /** One's own version was created. */
  void onCommitted() {
    misfortune = Math.max(0, misfortune - 1);
  }

  /** Another version stands in the place of one's own. */
  void onLost(long nowNs) {
    misfortune = MAX_MISFORTUNE;
    timer.onLost(nowNs);
  }

  long fingerprint() {
    return Fingerprint.of(slotAtNs, glanceAtNs, drawn, outrun, misfortune, timer.fingerprint());
  }
}
