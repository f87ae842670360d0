package io.batchweave.client;

import io.batchweave.BatchWeaveException;
import java.io.Serial;

/**
 * A launch, or a checkpoint of one, cannot be registered; the reason says what the caller must do.
 */
public final class SessionRefusedException extends BatchWeaveException {
  @Serial private static final long serialVersionUID = 1L;

  /** Why. */
  public enum Reason {
    /** Its step lies below the horizon. */
    BELOW_HORIZON(Kind.RECLAIMED),
    /** Its step lies beyond the head. */
    BEYOND_HEAD(Kind.CONFIG),
    /** Another launch is live, and this one asked not to supersede it. */
    LIVE(Kind.CONFIG),
    /** Another launch came after this one. */
    OVERTAKEN(Kind.FENCED),
    /** The session has a later checkpoint, or another one at that step. */
    NOT_NEWER(Kind.CONFIG),
    /** A limit of the stream would be exceeded. */
    OVER_LIMIT(Kind.LIMIT);

    private final Kind kind;

    Reason(Kind kind) {
      this.kind = kind;
    }
  }

  private final Reason reason;
  private final long step;

  /**
   * Creates one.
   *
   * @param reason why
   * @param step the horizon, the head or the later checkpoint, where the reason is about one; else
   *     -1
   * @param message what, {@code name=value}, remedy
   */
  public SessionRefusedException(Reason reason, long step, String message) {
    super(reason.kind, message);
    this.reason = reason;
    this.step = step;
  }

  /** Why. */
  public Reason reason() {
    return reason;
  }

  /** The horizon, the head or the later checkpoint, where the reason is about one; else -1. */
  public long step() {
    return step;
  }
}
