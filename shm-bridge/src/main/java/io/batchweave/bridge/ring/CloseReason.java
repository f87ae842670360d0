package io.batchweave.bridge.ring;

/** Why a generation was closed; every rank attaches again and is told what to do. */
public enum CloseReason {
  /** The next daemon found it. */
  DAEMON_RESTART(1),
  /** A local rank came with another coordinate. */
  COORDINATE(2),
  /** A local rank asked for an older step. */
  OLDER_STEP(3),
  /** A newer launch of the group took the ring. */
  NEW_SESSION(4),
  /** Another try after FAILED. */
  RETRY(5),
  /** The daemon ends in good order. */
  SHUTDOWN(6),
  /** The session ended or was superseded in the manifest. */
  SESSION_END(7);

  private final int code;

  CloseReason(int code) {
    this.code = code;
  }

  /** Its number in the state word. */
  public int code() {
    return code;
  }

  /**
   * The reason of a number in the state word.
   *
   * @param code as a peer stored it
   * @return DAEMON_RESTART for an unknown one: what a rank does is the same
   */
  public static CloseReason of(int code) {
    for (CloseReason reason : values()) {
      if (reason.code == code) {
        return reason;
      }
    }
    return DAEMON_RESTART;
  }
}
