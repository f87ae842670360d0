package io.batchweave.store;

import java.util.Map;

/**
 * What went through a {@link MeteredStore} up to one moment.
 *
 * @param operations figures of every operation
 * @param failures how often each failure was answered
 */
public record StoreMeter(
    Map<StoreOperation, Operation> operations, Map<StoreFailure, Long> failures) {
  /** Copies the maps. */
  public StoreMeter {
    operations = Map.copyOf(operations);
    failures = Map.copyOf(failures);
  }

  /**
   * Figures of one operation; all but {@code inFlight} only grow.
   *
   * @param requests calls made
   * @param failed calls that ended without a value
   * @param inFlight calls not yet answered
   * @param bytes payload bytes written or read by calls that succeeded
   * @param items keys listed or deleted
   * @param durationNs time from call to answer, summed over all answered calls
   */
  public record Operation(
      long requests, long failed, long inFlight, long bytes, long items, long durationNs) {}

  /**
   * Figures of one operation.
   *
   * @param operation which
   */
  public Operation of(StoreOperation operation) {
    return operations.getOrDefault(operation, new Operation(0, 0, 0, 0, 0, 0));
  }

  /** Bytes read by {@code get} and {@code getInto}. */
  public long bytesRead() {
    return of(StoreOperation.GET).bytes() + of(StoreOperation.GET_INTO).bytes();
  }

  /** Bytes written by {@code put} and {@code putIfAbsent}. */
  public long bytesWritten() {
    return of(StoreOperation.PUT).bytes() + of(StoreOperation.PUT_IF_ABSENT).bytes();
  }

  /** Calls of all operations. */
  public long requests() {
    return operations.values().stream().mapToLong(Operation::requests).sum();
  }
}
