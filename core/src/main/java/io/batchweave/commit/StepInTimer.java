package io.batchweave.commit;

import io.batchweave.commit.Situation.Kind;
import io.batchweave.log.Fingerprint;

/**
 * How long whoever has announced waits for the others before it writes itself, and when it asks for
 * the next version meanwhile. It runs from the first announcement of the oldest undecided block.
 */
final class StepInTimer {
  private static final long NONE = Long.MAX_VALUE;

  private final Tempo tempo;
  private long announcedAtNs = NONE;
  private long stepInAtNs = NONE;
  private boolean extended;
  private boolean direct;
  private long peekAtNs = NONE;

  StepInTimer(Tempo tempo) {
    this.tempo = tempo;
  }

  StepInTimer(StepInTimer other, Tempo tempo) {
    this(tempo);
    this.announcedAtNs = other.announcedAtNs;
    this.stepInAtNs = other.stepInAtNs;
    this.extended = other.extended;
    this.direct = other.direct;
    this.peekAtNs = other.peekAtNs;
  }

  /**
   * Takes note of what is announced, before every decision.
   *
   * @param otherLeads whether somebody else is known to lead
   */
  void observe(Situation now, boolean otherLeads) {
    if (!now.announced()) {
      announcedAtNs = NONE;
      peekAtNs = NONE;
    } else if (announcedAtNs != now.announcedAtNs()) {
      begin(now, otherLeads);
    }
  }

  private void begin(Situation now, boolean otherLeads) {
    announcedAtNs = now.announcedAtNs();
    extended = false;
    direct = now.kind() == Kind.SHARED && !otherLeads;
    stepInAtNs =
        direct ? announcedAtNs : announcedAtNs + tempo.stepInNs() + tempo.drawNs(now.kind());
    RequestTimes times = tempo.times();
    peekAtNs = announcedAtNs + 2 * times.putNs() + times.roundNs() + 4 * tempo.paceNs() / 5;
  }

  /** When to write oneself. */
  long atNs(Situation now) {
    return switch (now.announcement()) {
      case UNANSWERED ->
          direct ? Math.max(stepInAtNs, announcedAtNs + tempo.stepInNs()) : stepInAtNs;
      case CREATED -> stepInAtNs;
      case FOUND ->
          now.kind() == Kind.SHARED
              ? Math.max(stepInAtNs, announcedAtNs + 2 * tempo.stepInNs())
              : stepInAtNs;
    };
  }

  /**
   * The time is over. If the log moved without one's block, whoever leads gets a second interval,
   * no third.
   *
   * @param foldedAtNs when the last version, another's, was folded
   * @return whether it was extended
   */
  boolean extend(Situation now, long foldedAtNs, long nowNs) {
    if (direct || extended || foldedAtNs <= announcedAtNs) {
      return false;
    }
    extended = true;
    long secondNs = Math.min(announcedAtNs + 2 * tempo.stepInNs(), foldedAtNs + tempo.stepInNs());
    stepInAtNs = Math.max(nowNs, secondNs + tempo.drawNs(now.kind()));
    peekAtNs = nowNs + tempo.paceNs() / 2;
    return true;
  }

  /** One's own version was lost to another's, which may hold the block: a little more time. */
  void onLost(long nowNs) {
    if (announcedAtNs != NONE) {
      stepInAtNs = Math.max(stepInAtNs, nowNs + tempo.paceNs() + tempo.drawNs(Kind.PRODUCE));
      peekAtNs = nowNs + tempo.paceNs() / 2;
    }
  }

  /** Another's version was folded: the next one comes no sooner than its pace. */
  void onOtherFolded(long nowNs) {
    peekAtNs =
        Math.max(peekAtNs == NONE ? Knowledge.NEVER : peekAtNs, nowNs + 3 * tempo.paceNs() / 4);
  }

  /** When to ask for the next version. */
  long peekAtNs() {
    return peekAtNs;
  }

  /** It is asked for now. */
  void peeked(long nowNs) {
    peekAtNs = nowNs + tempo.paceNs() / 3 + tempo.times().getNs();
  }

  long fingerprint() {
    return Fingerprint.of(announcedAtNs, stepInAtNs, extended, direct, peekAtNs);
  }
}
