package io.batchweave.commit;

import io.batchweave.commit.CommitPolicy.Step;
import io.batchweave.log.Fingerprint;

/**
 * What is known of the log and of the announcements, and since when: when one last looked at
 * either, how old the last version may be, and how fast versions come.
 */
final class Knowledge {
  static final long NEVER = Long.MIN_VALUE / 4;

  private static final long UNKNOWN_AGE_NS = 10_000_000_000L;

  private long atNs = NEVER;
  private long foldedAtNs = NEVER;
  private long unseenAgeNs;
  private long spacingNs = Long.MAX_VALUE;
  private int foldedSince;
  private long lookBegunNs = NEVER;
  private boolean mustLook = true;
  private long roundBegunNs = NEVER;
  private boolean roundNeeded;
  private boolean lookedAfterRound;

  Knowledge() {}

  Knowledge(Knowledge other) {
    this.atNs = other.atNs;
    this.foldedAtNs = other.foldedAtNs;
    this.unseenAgeNs = other.unseenAgeNs;
    this.spacingNs = other.spacingNs;
    this.foldedSince = other.foldedSince;
    this.lookBegunNs = other.lookBegunNs;
    this.mustLook = other.mustLook;
    this.roundBegunNs = other.roundBegunNs;
    this.roundNeeded = other.roundNeeded;
    this.lookedAfterRound = other.lookedAfterRound;
  }

  // ---- looking

  /** Begins a look at the head. */
  Step look(long nowNs) {
    noteLook(nowNs);
    lookedAfterRound = true;
    return Step.LOOK;
  }

  /** A look begins that no decision waits for. */
  void noteLook(long nowNs) {
    lookBegunNs = nowNs;
  }

  /** Begins a round of reading the announcements. */
  Step gather(long nowNs) {
    roundBegunNs = nowNs;
    roundNeeded = false;
    lookedAfterRound = false;
    return Step.GATHER;
  }

  /** Until a look has ended at the head, nothing is decided on what was known. */
  void doubt() {
    mustLook = true;
  }

  boolean mustLook() {
    return mustLook;
  }

  /** When the last look began. */
  long lookBegunNs() {
    return lookBegunNs;
  }

  /** When the last round began. */
  long roundBegunNs() {
    return roundBegunNs;
  }

  /** From now on the rounds that have begun do not count. */
  void needRound() {
    roundNeeded = true;
  }

  /** Whether no round has begun since one was needed, whatever the clock says. */
  boolean roundNeeded() {
    return roundNeeded;
  }

  /** Whether a look began after the last round. */
  boolean lookedAfterRound() {
    return lookedAfterRound;
  }

  // ---- the log

  /** A version was folded. */
  void onFolded(long nowNs) {
    foldedSince++;
    foldedAtNs = nowNs;
    unseenAgeNs = 0;
  }

  /** A look ended at the head: the log is known up to now. */
  void onLooked(long nowNs) {
    reached(nowNs);
    mustLook = false;
  }

  /** One's own version is the last. */
  void onCommitted(long nowNs) {
    reached(nowNs);
    unseenAgeNs = 0;
  }

  /** How often versions came, and how old the last one may have been when it was read. */
  private void reached(long nowNs) {
    if (foldedSince > 0) {
      if (atNs != NEVER) {
        long gapNs = nowNs - atNs;
        spacingNs = gapNs / foldedSince;
        unseenAgeNs = Math.max(0, gapNs / (foldedSince + 1) - (nowNs - foldedAtNs));
      } else {
        unseenAgeNs = UNKNOWN_AGE_NS;
      }
    }
    foldedSince = 0;
    atNs = nowNs;
  }

  /** Since when the log is known up to then. */
  long atNs() {
    return atNs;
  }

  /** When the last version was folded; {@link #NEVER} if none was. */
  long foldedAtNs() {
    return foldedAtNs;
  }

  /** How old the last version may be. */
  long ageNs(long nowNs) {
    return nowNs - foldedAtNs + unseenAgeNs;
  }

  /** How long it took from one version to the next; {@code Long.MAX_VALUE} if nobody knows. */
  long spacingNs() {
    return spacingNs;
  }

  long fingerprint() {
    return Fingerprint.of(
        atNs,
        foldedAtNs,
        unseenAgeNs,
        spacingNs,
        foldedSince,
        lookBegunNs,
        mustLook,
        roundBegunNs,
        roundNeeded,
        lookedAfterRound);
  }
}
