package io.batchweave.log;

import io.batchweave.store.StoreFailure;
import io.batchweave.store.StoreResponse;
import java.util.LinkedHashMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The requests of a follower that are not answered yet: how many may be, and when the next one may
 * go out after trouble. A request that failed is forgotten here; whoever still wants the thing asks
 * again.
 */
final class Flight {
  /**
   * Refusals and wrong answers in a row, of one thing, after which the follower gives up: that
   * others are there meanwhile says nothing about this one. Before anything ever worked one refusal
   * is enough: then it is the user's setting, not credentials being renewed.
   */
  static final int MAX_REFUSALS = 8;

  /**
   * Refusals are remembered of so many things, several times as many as are asked for at once: what
   * was refused before them all is asked for no more.
   */
  static final int REMEMBERED = 64;

  /**
   * One request on its way.
   *
   * @param ask what it is for
   * @param evidence highest version known to exist when it was sent
   * @param demand the newest call for the head when it was sent
   */
  record Sent(Ask ask, long evidence, long demand) {}

  private final FollowPolicy policy;
  private final Bits bits;
  private final TreeMap<Long, Sent> sent;
  private long nextId;
  private int window;
  private long backoffNs;
  private long notBeforeNs = Machine.AT_ONCE;

  /** In a row, of the things refused last that were not answered since, in that order. */
  private final LinkedHashMap<Ask, Integer> refusals;

  private boolean everWorked;
  private @Nullable String trouble;

  Flight(FollowPolicy policy, Bits bits) {
    this.policy = policy;
    this.bits = bits;
    this.sent = new TreeMap<>();
    this.refusals = new LinkedHashMap<>();
    this.window = policy.maxInFlight();
  }

  Flight(Flight other) {
    this.policy = other.policy;
    this.bits = other.bits.copy();
    this.sent = new TreeMap<>(other.sent);
    this.refusals = new LinkedHashMap<>(other.refusals);
    this.nextId = other.nextId;
    this.window = other.window;
    this.backoffNs = other.backoffNs;
    this.notBeforeNs = other.notBeforeNs;
    this.everWorked = other.everWorked;
    this.trouble = other.trouble;
  }

  Bits bits() {
    return bits;
  }

  boolean room(long nowNs) {
    return nowNs >= notBeforeNs && sent.size() < window;
  }

  boolean has(Ask ask) {
    for (Sent one : sent.values()) {
      if (one.ask().equals(ask)) {
        return true;
      }
    }
    return false;
  }

  long notBeforeNs() {
    return notBeforeNs;
  }

  @Nullable String trouble() {
    return trouble;
  }

  /** Notes a request and says under which id to send it. */
  long send(Ask ask, long evidence, long demand) {
    long id = nextId++;
    sent.put(id, new Sent(ask, evidence, demand));
    return id;
  }

  /** The request of an answer; null for an answer that nobody waits for. */
  @Nullable Sent answered(long requestId) {
    return sent.remove(requestId);
  }

  /** Lets answers that are still to come be ignored. */
  void forgetAll() {
    sent.clear();
  }

  void succeeded(Ask ask) {
    backoffNs = 0;
    refusals.remove(ask);
    everWorked = true;
    trouble = null;
    window = Math.min(policy.maxInFlight(), window + 1);
  }

  /** Slows down; false when there is no use in asking again. */
  boolean failed(Ask ask, StoreResponse.Failed failed, long nowNs) {
    trouble =
        "key=" + ask.request().key() + " failure=" + failed.failure() + ": " + failed.detail();
    int inRow = 0;
    Integer before = refusals.remove(ask);
    if (!failed.failure().retryable()) {
      inRow = before == null ? 1 : before + 1;
      refusals.putLast(ask, inRow);
      if (refusals.size() > REMEMBERED) {
        refusals.pollFirstEntry();
      }
    }
    if (failed.failure() == StoreFailure.THROTTLED) {
      window = Math.max(1, window / 2);
    }
    backoffNs = Math.min(policy.maxBackoffNs(), Math.max(policy.minBackoffNs(), 2 * backoffNs));
    notBeforeNs = nowNs + backoffNs - bits.nextBelow(backoffNs / 4 + 1);
    boolean patient = everWorked || failed.failure() == StoreFailure.BAD_ANSWER;
    return inRow < (patient ? MAX_REFUSALS : 1);
  }

  /**
   * A hash of it, ids aside.
   *
   * @param demand the newest call for the head
   */
  long fingerprint(long demand) {
    long hash =
        Fingerprint.of(
            window, backoffNs, notBeforeNs, refusals, everWorked, bits.fingerprint(), sent.size());
    for (Sent one : sent.values()) {
      hash =
          Fingerprint.add(hash, Fingerprint.of(one.ask(), one.evidence(), one.demand() == demand));
    }
    return hash;
  }
}
