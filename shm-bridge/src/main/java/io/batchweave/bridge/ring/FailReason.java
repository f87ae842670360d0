package io.batchweave.bridge.ring;

import io.batchweave.BatchWeaveException.Kind;

/** Why a step is FAILED: permanent causes only. */
public enum FailReason {
  /** The object cannot be what was written. */
  CORRUPT(1, Kind.CORRUPT),
  /** The step lies below the horizon. */
  RECLAIMED(2, Kind.RECLAIMED),
  /** The ring is too small for the step. */
  LIMIT(3, Kind.LIMIT),
  /** The data object does not exist. */
  MISSING(4, Kind.CORRUPT),
  /** Credentials, grid or settings are wrong. */
  CONFIG(5, Kind.CONFIG),
  /** A newer format. */
  TOO_NEW(6, Kind.TOO_NEW),
  /** The session was superseded or ended. */
  FENCED(7, Kind.FENCED);

  private final int code;
  private final Kind kind;

  FailReason(int code, Kind kind) {
    this.code = code;
    this.kind = kind;
  }

  /** Its number in the descriptor. */
  public int code() {
    return code;
  }

  /** What the caller must do. */
  public Kind kind() {
    return kind;
  }

  /**
   * The reason of a number in a descriptor.
   *
   * @param code as the daemon stored it
   * @return CORRUPT for an unknown one
   */
  public static FailReason of(int code) {
    for (FailReason reason : values()) {
      if (reason.code == code) {
        return reason;
      }
    }
    return CORRUPT;
  }
}
