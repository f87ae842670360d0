package io.batchweave;

import java.io.Serial;

/**
 * The one unchecked exception of BatchWeave. Its {@link Kind} says what the caller must do; the
 * message says what happened, where ({@code name=value}) and what to do about it. Nobody matches on
 * message text.
 */
public class BatchWeaveException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1L;

  /** What the caller must do. */
  public enum Kind {
    /** Passing trouble (throttled, timed out, unreachable): the same call may succeed later. */
    RETRYABLE,
    /** Another incarnation, session or launch has taken over: stop, do not restart. */
    FENCED,
    /** Bytes that cannot be what was written: stop and repair. */
    CORRUPT,
    /** The step lies below the horizon: it was deleted on purpose. */
    RECLAIMED,
    /** The stream is sealed and the caller has read all of it. */
    END_OF_STREAM,
    /** The user's setting, argument, credential or input is wrong: change it. */
    CONFIG,
    /** The request may or may not have taken effect: look before doing it again. */
    UNKNOWN_OUTCOME,
    /** A newer format or an unknown block kind: upgrade this program. */
    TOO_NEW,
    /** A limit of the format or of the configuration would be exceeded. */
    LIMIT
  }

  private final Kind kind;

  /**
   * Creates one.
   *
   * @param kind what the caller must do
   * @param message what happened, {@code name=value} details, and the remedy
   */
  public BatchWeaveException(Kind kind, String message) {
    super(message);
    this.kind = kind;
  }

  /**
   * Creates one with its cause.
   *
   * @param kind what the caller must do
   * @param message what happened, {@code name=value} details, and the remedy
   * @param cause what was caught
   */
  public BatchWeaveException(Kind kind, String message, Throwable cause) {
    super(message, cause);
    this.kind = kind;
  }

  /** What happened, where, and the remedy; never null. */
  @Override
  public String getMessage() {
    return String.valueOf(super.getMessage());
  }

  /** What the caller must do. */
  public Kind kind() {
    return kind;
  }

  /** Whether it is passing trouble: after a look at how things stand, the same may succeed. */
  public boolean isPassing() {
    return kind == Kind.RETRYABLE || kind == Kind.UNKNOWN_OUTCOME;
  }
}
