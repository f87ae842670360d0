package io.batchweave.commit;

/**
 * What a {@link CommitMachine} can say of itself when it asks what to do.
 *
 * @param ownWork whether the first own block on offer would be accepted in the next version
 * @param waiting whether it may be later, but not now
 * @param kind what kind of block that is
 * @param unannounced whether some of the own blocks are to be announced, or announced again
 * @param announcedAtNs when the oldest undecided one was announced; {@code Long.MAX_VALUE} if none
 * @param announcement how the store answered to that
 * @param helpWork whether acceptable blocks of others are at hand
 * @param round how far reading the announcements has come
 * @param looking whether it is reading on to the head
 * @param writing whether a version is on its way
 */
record Situation(
    boolean ownWork,
    boolean waiting,
    Kind kind,
    boolean unannounced,
    long announcedAtNs,
    Announced announcement,
    boolean helpWork,
    NoticeBoard.Round round,
    boolean looking,
    boolean writing) {
  /** What kind of block is on offer. */
  enum Kind {
    /** Batches. */
    PRODUCE,
    /** A producer that starts: perhaps one of very many. */
    FENCE,
    /** An intent that several nodes may have at once, under one name. */
    SHARED
  }

  /** How the store answered to an announcement. */
  enum Announced {
    /** Not yet. */
    UNANSWERED,
    /** Nobody had announced it before. */
    CREATED,
    /** Another node had. */
    FOUND
  }

  boolean announced() {
    return announcedAtNs != Long.MAX_VALUE;
  }

  /** Whether the announcements are being read. */
  boolean gathering() {
    return round == NoticeBoard.Round.LISTING || round == NoticeBoard.Round.READING;
  }
}
