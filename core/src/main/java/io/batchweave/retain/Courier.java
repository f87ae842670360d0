package io.batchweave.retain;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.log.Bits;
import io.batchweave.log.Fingerprint;
import io.batchweave.log.Machine;
import io.batchweave.store.StoreFailure;
import io.batchweave.store.StoreResponse;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Carries errands: a few at once, deletes at a limited rate, again after passing trouble, until one
 * has failed too often.
 */
final class Courier {
  private static final long TIMEOUT_NS = 60_000_000_000L;
  private static final long MIN_BACKOFF_NS = 50_000_000L;
  private static final long MAX_BACKOFF_NS = 10_000_000_000L;
  private static final long SECOND_NS = 1_000_000_000L;

  private record Waiting(Errand errand, int attempts) {}

  private record Sent(Errand errand, int attempts, long sentAtNs) {}

  private final CollectPolicy policy;
  private final Bits bits;
  private final ArrayDeque<Waiting> waiting;
  private final TreeMap<Long, Sent> sent;
  private long nextId;
  private long notBeforeNs = Machine.AT_ONCE;
  private long deleteNotBeforeNs = Machine.AT_ONCE;
  private long requests;
  private @Nullable String trouble;

  Courier(CollectPolicy policy, Bits bits) {
    this.policy = policy;
    this.bits = bits;
    this.waiting = new ArrayDeque<>();
    this.sent = new TreeMap<>();
  }

  Courier(Courier other) {
    this.policy = other.policy;
    this.bits = other.bits.copy();
    this.waiting = new ArrayDeque<>(other.waiting);
    this.sent = new TreeMap<>(other.sent);
    this.nextId = other.nextId;
    this.notBeforeNs = other.notBeforeNs;
    this.deleteNotBeforeNs = other.deleteNotBeforeNs;
    this.requests = other.requests;
    this.trouble = other.trouble;
  }

  void add(Errand errand) {
    waiting.add(new Waiting(errand, 0));
  }

  /** Whether nothing waits and nothing is on its way. */
  boolean idle() {
    return waiting.isEmpty() && sent.isEmpty();
  }

  /** Errands that are not done. */
  int size() {
    return waiting.size() + sent.size();
  }

  long requests() {
    return requests;
  }

  @Nullable String trouble() {
    return trouble;
  }

  /** Drops everything: answers still to come are ignored. */
  void forgetAll() {
    waiting.clear();
    sent.clear();
  }

  void pump(long nowNs, Machine.Requests out) {
    expire(nowNs);
    while (!waiting.isEmpty() && sent.size() < policy.maxInFlight() && nowNs >= notBeforeNs) {
      Waiting next = waiting.getFirst();
      if (next.errand() instanceof Errand.DeleteObjects delete) {
        if (nowNs < deleteNotBeforeNs) {
          return;
        }
        deleteNotBeforeNs = nowNs + delete.objects().size() * SECOND_NS / policy.deletesPerSecond();
      }
      waiting.removeFirst();
      long id = nextId++;
      sent.put(id, new Sent(next.errand(), next.attempts() + 1, nowNs));
      requests++;
      out.send(id, next.errand().request());
    }
  }

  private void expire(long nowNs) {
    while (!sent.isEmpty() && nowNs - oldestNs() >= TIMEOUT_NS) {
      Sent late = sent.pollFirstEntry().getValue();
      again(late, StoreFailure.UNCLEAR, "no answer", nowNs);
    }
  }

  private long oldestNs() {
    return sent.firstEntry().getValue().sentAtNs();
  }

  /**
   * Takes an answer.
   *
   * @return the errand that it answers; null if it is to be asked again, or nobody asked
   * @throws BatchWeaveException when there is no use in asking again
   */
  @Nullable Errand answered(long requestId, StoreResponse response, long nowNs) {
    Sent request = sent.remove(requestId);
    if (request == null) {
      return null;
    }
    if (response instanceof StoreResponse.Failed failed) {
      if (failed.failure() == StoreFailure.TOO_LONG) {
        return request.errand();
      }
      again(request, failed.failure(), failed.detail(), nowNs);
      return null;
    }
    trouble = null;
    return request.errand();
  }

  private void again(Sent request, StoreFailure failure, String detail, long nowNs) {
    String key = request.errand().request().key();
    trouble = "key=" + key + " failure=" + failure + ": " + detail;
    if (!failure.retryable() || request.attempts() >= policy.maxAttempts()) {
      throw new BatchWeaveException(
          failure.retryable() ? Kind.RETRYABLE : Kind.CONFIG,
          "collection given up: key="
              + key
              + " attempts="
              + request.attempts()
              + " failure="
              + failure
              + " detail="
              + detail
              + "; what was deleted is gone, run it again for the rest");
    }
    long boundNs = Math.min(MAX_BACKOFF_NS, MIN_BACKOFF_NS << Math.min(request.attempts(), 16));
    notBeforeNs = nowNs + boundNs / 2 + bits.nextBelow(boundNs / 2);
    waiting.addFirst(new Waiting(request.errand(), request.attempts()));
  }

  long wakeAtNs() {
    long wakeNs = sent.isEmpty() ? Long.MAX_VALUE : oldestNs() + TIMEOUT_NS;
    if (!waiting.isEmpty() && sent.size() < policy.maxInFlight()) {
      boolean delete = waiting.getFirst().errand() instanceof Errand.DeleteObjects;
      wakeNs = Math.min(wakeNs, delete ? Math.max(notBeforeNs, deleteNotBeforeNs) : notBeforeNs);
    }
    return wakeNs;
  }

  long fingerprint() {
    return Fingerprint.of(
        new ArrayList<>(waiting), sent, nextId, notBeforeNs, deleteNotBeforeNs, bits.fingerprint());
  }
}
