package io.batchweave.store;

/** Why a request got no useful answer, and what that says about its effect. */
public enum StoreFailure {
  /** 503, 429, SlowDown: back off. A conditional write may still have landed. */
  THROTTLED(true),
  /** Timeout, reset, 5xx, a 412 after a retry: says nothing about the effect. */
  UNCLEAR(true),
  /** 409 ConditionalRequestConflict: not "exists"; the same version may be tried again. */
  CONFLICT(true),
  /** Could not connect at all, or the request was never sent: it had no effect. */
  UNREACHABLE(true),
  /** Credentials missing, expired, revoked, or not allowed. */
  ACCESS_DENIED(false),
  /** Wrong bucket, region, endpoint, option; or not what this store can do. */
  CONFIG(false),
  /** The answer is not what was asked for: wrong length, wrong range, wrong body. */
  BAD_ANSWER(false),
  /** No space left, quota exceeded. */
  FULL(false),
  /** There is no object of that key. */
  NOT_FOUND(false),
  /** The range begins, or for {@code getInto} ends, past the end of the object. */
  RANGE(false),
  /** The object is longer than the caller is willing to read. */
  TOO_LONG(false),
  /** The store was closed before or while the request ran. */
  CLOSED(false);

  private final boolean retryable;

  StoreFailure(boolean retryable) {
    this.retryable = retryable;
  }

  /** Whether the same request may succeed later without anybody changing a setting. */
  public boolean retryable() {
    return retryable;
  }
}
