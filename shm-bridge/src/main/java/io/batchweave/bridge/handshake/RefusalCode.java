package io.batchweave.bridge.handshake;

import io.batchweave.BatchWeaveException.Kind;

/** Why a Hello was refused; each says what the rank must do. */
public enum RefusalCode {
  /** Say Hello again after a while; the text is the status to quote at the deadline. */
  NOT_YET(Kind.RETRYABLE),
  /** The Hello cannot be read, or a field is out of range. */
  MALFORMED(Kind.CONFIG),
  /** The rank was built for another shared-memory ABI. */
  ABI_MISMATCH(Kind.CONFIG),
  /** The daemon does not serve that stream. */
  UNKNOWN_STREAM(Kind.CONFIG),
  /** The training job's sizes do not divide the stream's grid. */
  GRID_MISMATCH(Kind.CONFIG),
  /** Another rank of the session announced other sizes, another stream or another group. */
  SIZES_DISAGREE(Kind.CONFIG),
  /** Every ring belongs to a session with live ranks. */
  NO_RING(Kind.CONFIG),
  /** Unreleased steps leave too little of the ring. */
  RING_HELD(Kind.LIMIT),
  /** The daemon cannot see the lock of the reader file. */
  LOCK_NOT_VISIBLE(Kind.CONFIG),
  /** The reader file is absent, of another format, or not the sender's. */
  READER_FILE(Kind.CONFIG),
  /** The token was written for another stream. */
  TOKEN_OF_OTHER_STREAM(Kind.CONFIG),
  /** The token disagrees with the session's start. */
  START_DISAGREES(Kind.CONFIG),
  /** A newer session of the group has taken over. */
  SUPERSEDED(Kind.FENCED),
  /** Another session of the group lives, and this one asked not to supersede it. */
  SESSION_LIVE(Kind.FENCED),
  /** The step asked for lies below the horizon. */
  RECLAIMED(Kind.RECLAIMED),
  /** The stream cannot be read, for a reason that will stay. */
  STREAM_FAILED(Kind.CORRUPT),
  /** The daemon is stopping: look for the next one. */
  CLOSING(Kind.RETRYABLE),
  /** The checkpoint cannot be registered: its step is beyond the head or not the newest. */
  CHECKPOINT(Kind.CONFIG);

  private final Kind kind;

  RefusalCode(Kind kind) {
    this.kind = kind;
  }

  /** What the rank must do. */
  public Kind kind() {
    return kind;
  }
}
