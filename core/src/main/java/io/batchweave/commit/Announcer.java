package io.batchweave.commit;

import io.batchweave.Bytes;
import io.batchweave.format.Announcement;
import io.batchweave.format.AnnouncementCodec;
import io.batchweave.format.Block;
import io.batchweave.format.Limits;
import io.batchweave.format.ObjectNames;
import io.batchweave.log.Fingerprint;
import io.batchweave.log.Machine.Requests;
import io.batchweave.log.State;
import io.batchweave.store.StoreFailure;
import io.batchweave.store.StoreRequest;
import io.batchweave.store.StoreResponse;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The machine's own announcements: which of the offered blocks are announced, since when, and in
 * which group. An announcement is an object created if absent, so the same intent of many nodes is
 * one object.
 */
final class Announcer {
  /** Own blocks that may be announced and undecided at a time; more wait and gather. */
  static final int MAX_ANNOUNCED = 4;

  private static final long TIMEOUT_NS = 5_000_000_000L;
  private static final long MIN_RETRY_NS = 50_000_000L;
  private static final long MAX_RETRY_NS = 5_000_000_000L;
  private static final long NONE = Long.MAX_VALUE;

  /** What came of the request. */
  private enum Standing {
    SENT,
    CREATED,
    FOUND,
    FAILED
  }

  private record Posted(
      long group, long firstAtNs, long requestId, long dueAtNs, int failures, Standing standing) {}

  private final Map<String, Posted> posted;
  private List<Block> offers = List.of();
  private List<String> names = List.of();
  private long nextId;

  Announcer() {
    this.posted = new LinkedHashMap<>();
  }

  Announcer(Announcer other) {
    this.posted = new LinkedHashMap<>(other.posted);
    this.offers = other.offers;
    this.names = other.names;
    this.nextId = other.nextId;
  }

  /** Replaces what is on offer. */
  void offer(List<Block> newOffers) {
    offers = newOffers;
    names =
        newOffers.stream()
            .limit(MAX_ANNOUNCED)
            .map(block -> NoticeBoard.nameOf(ObjectNames.announcement(0, block)))
            .toList();
    posted.keySet().retainAll(names);
  }

  /** Names of what is announced. */
  Set<String> names() {
    return posted.keySet();
  }

  /** Whether something on offer is to be announced, or announced again. */
  boolean wanted(long headVersion, long nowNs) {
    long group = headVersion / Limits.ANNOUNCE_VERSIONS;
    for (String name : names) {
      if (due(posted.get(name), group, nowNs)) {
        return true;
      }
    }
    return false;
  }

  private static boolean due(@org.jspecify.annotations.Nullable Posted one, long group, long now) {
    return one == null || now >= one.dueAtNs() || one.group() < group - 1;
  }

  /**
   * Announces what {@link #wanted}.
   *
   * @return the blocks that went out
   */
  List<Block> announce(State state, long nowNs, Requests requests) {
    long group = state.version() / Limits.ANNOUNCE_VERSIONS;
    List<Block> sent = new ArrayList<>(1);
    for (int i = 0; i < names.size(); i++) {
      Posted before = posted.get(names.get(i));
      if (!due(before, group, nowNs)) {
        continue;
      }
      Block block = offers.get(i);
      long id = nextId++;
      posted.put(
          names.get(i),
          new Posted(
              group,
              before == null ? nowNs : before.firstAtNs(),
              id,
              nowNs + TIMEOUT_NS,
              before == null ? 0 : before.failures(),
              Standing.SENT));
      requests.send(
          id,
          new StoreRequest.PutIfAbsent(
              ObjectNames.announcement(state.version(), block),
              Bytes.wrap(AnnouncementCodec.encode(new Announcement(state.streamId(), block)))));
      sent.add(block);
    }
    return sent;
  }

  /** Takes an answer. */
  void onResponse(long requestId, StoreResponse response, CommitPolicy policy, long nowNs) {
    for (Map.Entry<String, Posted> entry : posted.entrySet()) {
      Posted one = entry.getValue();
      if (one.requestId() == requestId && one.standing() == Standing.SENT) {
        entry.setValue(
            switch (response) {
              case StoreResponse.Created created -> settled(one, Standing.CREATED);
              case StoreResponse.Exists exists -> settled(one, Standing.FOUND);
              default -> failed(one, response, policy, nowNs);
            });
      }
    }
  }

  private static Posted settled(Posted one, Standing standing) {
    return new Posted(one.group(), one.firstAtNs(), one.requestId(), NONE, 0, standing);
  }

  private static Posted failed(
      Posted one, StoreResponse response, CommitPolicy policy, long nowNs) {
    if (response instanceof StoreResponse.Failed failed
        && failed.failure() == StoreFailure.THROTTLED) {
      policy.onThrottled();
    }
    long pauseNs = Math.min(MAX_RETRY_NS, MIN_RETRY_NS << Math.min(one.failures(), 7));
    return new Posted(
        one.group(),
        one.firstAtNs(),
        one.requestId(),
        nowNs + pauseNs,
        one.failures() + 1,
        Standing.FAILED);
  }

  /** When the first of the announced blocks was announced; {@code Long.MAX_VALUE} if none is. */
  long firstAtNs() {
    long firstAtNs = NONE;
    for (Posted one : posted.values()) {
      firstAtNs = Math.min(firstAtNs, one.firstAtNs());
    }
    return firstAtNs;
  }

  /** Whether the oldest announcement was there before: another node announced the same. */
  boolean found() {
    for (Posted one : posted.values()) {
      return one.standing() == Standing.FOUND;
    }
    return false;
  }

  /** Whether the oldest announcement is answered. */
  boolean answered() {
    for (Posted one : posted.values()) {
      return one.standing() != Standing.SENT;
    }
    return false;
  }

  /** When the next announcement after a time has to be repeated. */
  long nextDueNs(long nowNs) {
    long nextNs = NONE;
    for (Posted one : posted.values()) {
      if (one.dueAtNs() > nowNs) {
        nextNs = Math.min(nextNs, one.dueAtNs());
      }
    }
    return nextNs;
  }

  /** A hash of it, ids aside. */
  long fingerprint() {
    long hash = Fingerprint.of(names, posted.size());
    for (Map.Entry<String, Posted> entry : posted.entrySet()) {
      Posted one = entry.getValue();
      hash =
          Fingerprint.add(
              hash,
              Fingerprint.of(
                  entry.getKey(),
                  one.group(),
                  one.firstAtNs(),
                  one.dueAtNs(),
                  one.failures(),
                  one.standing()));
    }
    return hash;
  }
}
