package io.batchweave.log;

import io.batchweave.store.StoreRequest;
import io.batchweave.store.StoreResponse;

/**
 * A protocol without I/O: events and the time go in, requests come out. No thread, future, clock or
 * random source lives inside; random bits come from a {@link Bits} whose state is part of the
 * machine's. One agent drives machines against a real store, the simulator against a modelled one,
 * the explorer through every interleaving.
 *
 * <p>Not thread-safe: one thread drives a machine.
 *
 * @param <M> the machine's own type
 */
public interface Machine<M extends Machine<M>> {
  /** Where a machine puts its requests. */
  interface Requests {
    /**
     * Asks for a request to be carried out; the answer comes back under the same id.
     *
     * @param requestId unique within the machine
     * @param request what to do
     */
    void send(long requestId, StoreRequest request);
  }

  /**
   * Takes the answer to a request.
   *
   * @param requestId the id under which the request was sent
   * @param response the answer; late, doubled and unknown ids are ignored
   * @param nowNs the current monotonic time in nanoseconds
   * @param requests takes what is to be sent next
   */
  void onResponse(long requestId, StoreResponse response, long nowNs, Requests requests);

  /**
   * Does what is due at this time; called at the start, after an input from outside and whenever
   * {@link #wakeAtNs} has come.
   *
   * @param nowNs the current monotonic time in nanoseconds
   * @param requests takes what is to be sent next
   */
  void onTime(long nowNs, Requests requests);

  /** Due whatever the time; far enough from the edge that a time can be taken from it. */
  long AT_ONCE = Long.MIN_VALUE / 2;

  /**
   * The time of the next {@link #onTime}: at once if it has passed ({@link #AT_ONCE}), {@code
   * Long.MAX_VALUE} when only events matter. Clocks may be negative: compare, do not assume.
   */
  long wakeAtNs();

  /** A deep copy that shares no mutable state. */
  M copy();

  /**
   * A hash of the whole state, equal for machines that behave alike from here on. The ids of
   * requests may be left out where they only tell requests apart: then machines are alike whose
   * unanswered requests, in the order in which they were sent, are.
   */
  long fingerprint();
}
