package io.batchweave.log;

import java.util.Locale;

/** What the fold says about one block. The order is not part of any format; the names are. */
public enum Verdict {
  /** It takes effect. */
  ACCEPTED,
  /** The version's header disagrees with the fold: all its blocks are ignored. */
  VOID_VERSION,
  /** A name that is not a name part, a step or count that makes no sense. */
  MALFORMED,
  /** A limit of the format would be exceeded. */
  OVER_LIMIT,
  /** The producer was never fenced. */
  UNKNOWN_PRODUCER,
  /** The producer is retired, for ever. */
  RETIRED,
  /** A fence whose epoch is not the next one, a batch whose epoch is not the current one. */
  WRONG_EPOCH,
  /** A fence by the incarnation that owns the current epoch. */
  SAME_INCARNATION,
  /** A batch that does not begin at the producer's next seq: doubled, or something is missing. */
  WRONG_SEQ,
  /** The stream is sealed. */
  SEALED,
  /** The thing has changed since, or not yet, or in this very version. */
  WRONG_BASE,
  /** Another launch of the group is live. */
  SESSION_LIVE,
  /** That launch is not live. */
  NO_SUCH_SESSION,
  /** No pin has that id. */
  NO_SUCH_PIN,
  /** The step is below the horizon or beyond the head. */
  STEP_OUT_OF_RANGE,
  /** The step is not later than that session's last pin. */
  PIN_NOT_NEWER,
  /** A session or pin may still ask for a step below. */
  STEP_PROTECTED,
  /** Without any session or pin nobody says what may go. */
  NOTHING_REGISTERED;

  private final String counterName = name().toLowerCase(Locale.ROOT).replace('_', '-');

  /** Whether the block takes effect. */
  public boolean accepted() {
    return this == ACCEPTED;
  }

  /** The name of the counter of blocks ignored for this reason. */
  public String counterName() {
    return counterName;
  }
}
