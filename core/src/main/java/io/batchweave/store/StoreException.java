package io.batchweave.store;

import io.batchweave.BatchWeaveException;
import java.io.Serial;
import org.jspecify.annotations.Nullable;

/**
 * The only exception with which a request to an {@link ObjectStore} ends. {@link #failure()} says
 * what is known about the effect, {@link #kind()} what the caller must do; the message names
 * operation, key, what the store said and the remedy.
 */
public final class StoreException extends BatchWeaveException {
  @Serial private static final long serialVersionUID = 1L;

  private final StoreFailure failure;
  private final StoreOperation operation;
  private final String key;
  private final String detail;
  private final int attempts;
  private final int httpStatus;

  /**
   * Creates one for a request that was sent once.
   *
   * @param failure what happened
   * @param operation what was asked
   * @param key key, prefix, or first key of the request
   * @param detail what the store said and the remedy, in one line
   */
  public StoreException(StoreFailure failure, StoreOperation operation, String key, String detail) {
    this(failure, operation, key, detail, 1, 0, null);
  }

  private StoreException(
      StoreFailure failure,
      StoreOperation operation,
      String key,
      String detail,
      int attempts,
      int httpStatus,
      @Nullable Throwable cause) {
    super(
        kindOf(failure, operation), message(failure, operation, key, detail, attempts, httpStatus));
    if (cause != null) {
      initCause(cause);
    }
    this.failure = failure;
    this.operation = operation;
    this.key = key;
    this.detail = detail;
    this.attempts = attempts;
    this.httpStatus = httpStatus;
  }

  /**
   * The same with its cause.
   *
   * @param cause what was caught
   */
  public StoreException withCause(Throwable cause) {
    return new StoreException(failure, operation, key, detail, attempts, httpStatus, cause);
  }

  /**
   * The same with the status of the answer.
   *
   * @param httpStatus the last status, 0 where there was none
   */
  public StoreException withHttpStatus(int httpStatus) {
    return new StoreException(failure, operation, key, detail, attempts, httpStatus, getCause());
  }

  /**
   * The same with the number of attempts made.
   *
   * @param attempts how often the request was sent, at least 1
   * @param note added to the detail; empty adds nothing
   */
  public StoreException withAttempts(int attempts, String note) {
    String text = note.isEmpty() ? detail : detail + "; " + note;
    return new StoreException(failure, operation, key, text, attempts, httpStatus, getCause());
  }

  private static Kind kindOf(StoreFailure failure, StoreOperation operation) {
    return switch (failure) {
      case UNCLEAR, THROTTLED ->
          operation == StoreOperation.PUT_IF_ABSENT ? Kind.UNKNOWN_OUTCOME : Kind.RETRYABLE;
      case CONFLICT, UNREACHABLE -> Kind.RETRYABLE;
      case ACCESS_DENIED, CONFIG, NOT_FOUND -> Kind.CONFIG;
      case BAD_ANSWER, RANGE -> Kind.CORRUPT;
      case FULL, TOO_LONG -> Kind.LIMIT;
      case CLOSED -> operation.mutating() ? Kind.UNKNOWN_OUTCOME : Kind.RETRYABLE;
    };
  }

  private static String message(
      StoreFailure failure,
      StoreOperation operation,
      String key,
      String detail,
      int attempts,
      int httpStatus) {
    StringBuilder text = new StringBuilder(128);
    text.append(operation.label()).append(" failed: ").append(detail);
    text.append(" (failure=").append(failure).append(" key=").append(key);
    if (httpStatus != 0) {
      text.append(" status=").append(httpStatus);
    }
    if (attempts != 1) {
      text.append(" attempts=").append(attempts);
    }
    return text.append(')').toString();
  }

  /** What is known about the effect. */
  public StoreFailure failure() {
    return failure;
  }

  /** What was asked. */
  public StoreOperation operation() {
    return operation;
  }

  /** Key, prefix, or first key of the request. */
  public String key() {
    return key;
  }

  /** What the store said and the remedy, without operation and key. */
  public String detail() {
    return detail;
  }

  /** How often the request was sent. */
  public int attempts() {
    return attempts;
  }

  /** Status of the last answer; 0 where there was none. */
  public int httpStatus() {
    return httpStatus;
  }
}
