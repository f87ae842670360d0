package io.batchweave.produce;

import io.batchweave.log.Bits;
import io.batchweave.log.Fingerprint;

/**
 * One object on its way to the store, under a unique name: sent again until it is there, but never
 * while an earlier attempt has not been answered. So nothing reads the user's bytes any more once
 * the batch is committed.
 */
final class Upload {
  private static final long MIN_BACKOFF_NS = 100_000_000L;
  private static final long MAX_BACKOFF_NS = 10_000_000_000L;
  private static final long NOT_SENT = -1;

  final String key;
  final long handle;
  final long lengthBytes;
  private long requestId = NOT_SENT;
  private long dueAtNs = Long.MIN_VALUE;
  private int failures;
  private boolean done;

  Upload(String key, long handle, long lengthBytes) {
    this.key = key;
    this.handle = handle;
    this.lengthBytes = lengthBytes;
  }

  Upload(Upload other) {
    this(other.key, other.handle, other.lengthBytes);
    this.requestId = other.requestId;
    this.dueAtNs = other.dueAtNs;
    this.failures = other.failures;
    this.done = other.done;
  }

  boolean done() {
    return done;
  }

  boolean inFlight() {
    return requestId != NOT_SENT;
  }

  int failures() {
    return failures;
  }

  boolean isAnswer(long answeredRequestId) {
    return requestId != NOT_SENT && requestId == answeredRequestId;
  }

  /** When it must be sent (again); {@code Long.MAX_VALUE} once it is there. */
  long dueAtNs() {
    return done ? Long.MAX_VALUE : dueAtNs;
  }

  void sent(long newRequestId) {
    requestId = newRequestId;
    dueAtNs = Long.MAX_VALUE;
  }

  void succeeded() {
    done = true;
    requestId = NOT_SENT;
  }

  void failed(long nowNs, Bits bits) {
    requestId = NOT_SENT;
    long boundNs = Math.min(MAX_BACKOFF_NS, MIN_BACKOFF_NS << Math.min(failures, 10));
    dueAtNs = nowNs + boundNs / 2 + bits.nextBelow(boundNs / 2);
    failures++;
  }

  long fingerprint() {
    return Fingerprint.of(key, handle, inFlight(), dueAtNs, failures, done);
  }
}
