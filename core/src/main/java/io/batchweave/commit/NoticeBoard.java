package io.batchweave.commit;

import io.batchweave.BatchWeaveException;
import io.batchweave.Bytes;
import io.batchweave.format.Announcement;
import io.batchweave.format.AnnouncementCodec;
import io.batchweave.format.AnnouncementName;
import io.batchweave.format.Block;
import io.batchweave.format.Limits;
import io.batchweave.format.ObjectNames;
import io.batchweave.log.Fingerprint;
import io.batchweave.log.Machine.Requests;
import io.batchweave.log.ProducerState;
import io.batchweave.log.State;
import io.batchweave.store.ListedObject;
import io.batchweave.store.StoreFailure;
import io.batchweave.store.StoreRequest;
import io.batchweave.store.StoreResponse;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The announcements of others, as a committer knows them: rounds of LIST and GET, and the deletion
 * of what the fold has decided.
 *
 * <p>Holds at most {@value #MAX_HELD_BYTES} bytes of blocks, those first whose owners waited
 * longest, and only such as could be part of the next version: what a name alone rules out is never
 * read.
 */
final class NoticeBoard {
  /** How far the last round has come. */
  enum Round {
    /** There was none. */
    NONE,
    /** The groups are being listed. */
    LISTING,
    /** What is new is being read. */
    READING,
    /** What is there is known; reads that took too long still count when they arrive. */
    DONE,
    /** A LIST failed: nobody knows what is there. */
    FAILED
  }

  private static final int LIST_LIMIT = 16_384;
  private static final int MAX_READS = 1_024;
  private static final long MAX_HELD_BYTES = 2L * Limits.VERSION_BYTES;
  private static final int DELETE_KEYS = 1_000;
  private static final long LIST_TIMEOUT_NS = 2_000_000_000L;
  private static final long NONE = Long.MAX_VALUE;

  /** What a request is for. */
  private sealed interface Errand {
    /** A group that belongs to a round. */
    record Listing(String prefix, long round, long sentAtNs) implements Errand {}

    /** An announcement. */
    record Reading(String key, long sentAtNs) implements Errand {}

    /** A group that nobody needs any more. */
    record Sweeping() implements Errand {}

    /** Keys that go. */
    record Deleting() implements Errand {}
  }

  private final TreeMap<String, Notice> notices;
  private final TreeMap<Long, Errand> errands;
  private long nextId;
  private long roundNumber;
  private Round round = Round.NONE;
  private int listsToCome;
  private int readsToCome;
  private long heldBytes;
  private long deadlineNs = NONE;
  private @Nullable String trouble;

  NoticeBoard() {
    this.notices = new TreeMap<>();
    this.errands = new TreeMap<>();
  }

  NoticeBoard(NoticeBoard other) {
    this.notices = new TreeMap<>(other.notices);
    this.errands = new TreeMap<>(other.errands);
    this.nextId = other.nextId;
    this.roundNumber = other.roundNumber;
    this.round = other.round;
    this.listsToCome = other.listsToCome;
    this.readsToCome = other.readsToCome;
    this.heldBytes = other.heldBytes;
    this.deadlineNs = other.deadlineNs;
    this.trouble = other.trouble;
  }

  Round round() {
    return round;
  }

  boolean inProgress() {
    return round == Round.LISTING || round == Round.READING;
  }

  @Nullable String trouble() {
    return trouble;
  }

  /**
   * Starts a round: lists the group of the head, and the one before while that is still young.
   *
   * @param youngVersions for how many versions of a group the one before counts
   */
  void begin(State state, int youngVersions, long nowNs, Requests requests) {
    long version = state.version();
    roundNumber++;
    round = Round.LISTING;
    deadlineNs = nowNs + LIST_TIMEOUT_NS;
    listsToCome = 0;
    forgetUnreachable(state);
    list(version, nowNs, requests);
    boolean young = version % Limits.ANNOUNCE_VERSIONS < youngVersions;
    if (young && version >= Limits.ANNOUNCE_VERSIONS) {
      list(version - Limits.ANNOUNCE_VERSIONS, nowNs, requests);
    }
  }

  private void list(long version, long nowNs, Requests requests) {
    String prefix = ObjectNames.announceGroup(version);
    listsToCome++;
    send(
        new Errand.Listing(prefix, roundNumber, nowNs),
        new StoreRequest.ListPrefix(prefix, LIST_LIMIT),
        requests);
  }

  private void send(Errand errand, StoreRequest request, Requests requests) {
    long id = nextId++;
    errands.put(id, errand);
    requests.send(id, request);
  }

  /** Lets a round end whose time is over. */
  void onTime(long nowNs) {
    if (nowNs < deadlineNs) {
      return;
    }
    if (round == Round.LISTING) {
      trouble = "no answer to a LIST of announcements";
      end(Round.FAILED);
    } else if (round == Round.READING) {
      end(Round.DONE);
    }
  }

  long wakeAtNs() {
    return deadlineNs;
  }

  private void end(Round how) {
    round = how;
    deadlineNs = NONE;
    if (how == Round.DONE) {
      trouble = null;
    }
  }

  /**
   * Takes an answer.
   *
   * @param own names of the machine's own announcements, which need not be read
   */
  void onResponse(
      long requestId,
      StoreResponse response,
      State state,
      Set<String> own,
      CommitPolicy policy,
      long nowNs,
      Requests requests) {
    Errand errand = errands.remove(requestId);
    if (response instanceof StoreResponse.Failed failed
        && failed.failure() == StoreFailure.THROTTLED) {
      policy.onThrottled();
    }
    switch (errand) {
      case null -> {}
      case Errand.Listing listing -> {
        if (listing.round() == roundNumber && round == Round.LISTING) {
          if (response instanceof StoreResponse.Listed listed) {
            policy.onListed(nowNs - listing.sentAtNs());
            merge(listing.prefix(), listed);
            listsToCome--;
            if (listsToCome == 0) {
              read(state, own, policy, nowNs, requests);
            }
          } else {
            trouble = response.toString();
            end(Round.FAILED);
          }
        }
      }
      case Errand.Reading reading -> {
        if (response instanceof StoreResponse.Found) {
          policy.onGot(nowNs - reading.sentAtNs());
        }
        onRead(reading.key(), response, state);
        readsToCome--;
        if (round == Round.READING && readsToCome == 0) {
          end(Round.DONE);
        }
      }
      case Errand.Sweeping sweeping -> {
        if (response instanceof StoreResponse.Listed listed) {
          delete(listed.objects().stream().map(ListedObject::key).toList(), requests);
        }
      }
      case Errand.Deleting deleting -> {}
    }
  }

  private void merge(String prefix, StoreResponse.Listed listed) {
    Map<String, Notice> before = new HashMap<>();
    var known = notices.subMap(prefix, prefix + Character.MAX_VALUE);
    before.putAll(known);
    known.clear();
    for (ListedObject object : listed.objects()) {
      String key = object.key();
      Notice old = before.remove(key);
      AnnouncementName name = old != null ? old.name() : ObjectNames.parseAnnouncement(key);
      if (name != null) {
        notices.put(
            key,
            old != null ? old : new Notice(key, name, object.sizeBytes(), null, Notice.Use.LISTED));
      }
    }
    // What a LIST shows no more has been decided, or has a hole: it is found again if it matters.
    before.values().forEach(this::forget);
  }

  private void forget(Notice notice) {
    if (notice.use() == Notice.Use.HELD || notice.use() == Notice.Use.ASKED) {
      heldBytes -= notice.lengthBytes();
    }
  }

  private void read(
      State state, Set<String> own, CommitPolicy policy, long nowNs, Requests requests) {
    round = Round.READING;
    deadlineNs = nowNs + policy.readPatienceNs();
    int reads = 0;
    for (Notice notice : reachable(state)) {
      if (notice.use() != Notice.Use.LISTED || own.contains(nameOf(notice.key()))) {
        continue;
      }
      boolean full = heldBytes + notice.lengthBytes() > MAX_HELD_BYTES && heldBytes > 0;
      if (full || reads == MAX_READS || notice.lengthBytes() > Limits.ANNOUNCEMENT_BYTES) {
        continue;
      }
      reads++;
      readsToCome++;
      heldBytes += notice.lengthBytes();
      notices.put(notice.key(), notice.with(Notice.Use.ASKED, null));
      send(
          new Errand.Reading(notice.key(), nowNs),
          new StoreRequest.Get(notice.key(), null, Limits.ANNOUNCEMENT_BYTES),
          requests);
    }
    if (readsToCome == 0) {
      end(Round.DONE);
    }
  }

  private void onRead(String key, StoreResponse response, State state) {
    Notice notice = notices.get(key);
    if (notice == null || notice.use() != Notice.Use.ASKED) {
      return;
    }
    if (response instanceof StoreResponse.Found(Bytes body)) {
      Block block = decode(key, body, state);
      if (block == null) {
        forget(notice);
      }
      notices.put(key, notice.with(block == null ? Notice.Use.USELESS : Notice.Use.HELD, block));
    } else {
      forget(notice);
      if (response instanceof StoreResponse.NotFound) {
        notices.remove(key);
      } else {
        notices.put(key, notice.with(Notice.Use.LISTED, null));
      }
    }
  }

  /** The block of an announcement; null if it cannot be, whoever wrote it. */
  private static @Nullable Block decode(String key, Bytes body, State state) {
    try {
      Announcement announcement = AnnouncementCodec.decode(key, body);
      Block block = announcement.block();
      boolean right =
          announcement.streamId().equals(state.streamId())
              && nameOf(key).equals(nameOf(ObjectNames.announcement(0, block)));
      return right ? block : null;
    } catch (BatchWeaveException | IllegalArgumentException e) {
      return null;
    }
  }

  /** What stands behind the group in a key. */
  static String nameOf(String key) {
    return key.substring(key.lastIndexOf('/') + 1);
  }

  /** Blocks at hand that may go into the next version, each owner's in order. */
  List<Block> held(State state) {
    List<Block> blocks = new ArrayList<>();
    for (Notice notice : reachable(state)) {
      if (notice.block() != null) {
        blocks.add(notice.block());
      }
    }
    return blocks;
  }

  private void forgetUnreachable(State state) {
    Set<String> kept = Set.copyOf(reachable(state).stream().map(Notice::key).toList());
    for (Map.Entry<String, Notice> entry : notices.entrySet()) {
      Notice notice = entry.getValue();
      if (notice.use() == Notice.Use.HELD
          && !kept.contains(notice.key())
          && !(notice.name() instanceof AnnouncementName.Operator)) {
        forget(notice);
        entry.setValue(notice.with(Notice.Use.LISTED, null));
      }
    }
  }

  /**
   * The announcements that, one after the other, the fold may accept now, judged by their names;
   * owners by least recent last version.
   */
  private List<Notice> reachable(State state) {
    Map<String, List<Notice>> owners = new HashMap<>();
    for (Notice notice : notices.values()) {
      if (notice.use() != Notice.Use.USELESS && !notice.decided(state)) {
        owners.computeIfAbsent(Owners.of(notice.name()), o -> new ArrayList<>(1)).add(notice);
      }
    }
    List<String> order = new ArrayList<>(owners.keySet());
    order.sort(
        Comparator.comparingLong((String owner) -> Owners.lastVersion(state, owner))
            .thenComparing(Comparator.naturalOrder()));
    List<Notice> reachable = new ArrayList<>(notices.size());
    for (String owner : order) {
      List<Notice> candidates = Objects.requireNonNull(owners.get(owner));
      if (owner.startsWith("p.")) {
        follow(state.producer(owner.substring(2)), candidates, reachable);
      } else {
        reachable.addAll(candidates);
      }
    }
    return reachable;
  }

  /** Follows one producer's seqs and epochs from where the state stands. */
  private static void follow(
      @Nullable ProducerState producer, List<Notice> candidates, List<Notice> reachable) {
    int epoch = producer == null ? 0 : producer.epoch();
    long nextSeq = producer == null ? ProducerState.FIRST_SEQ : producer.nextSeq();
    candidates.sort(
        Comparator.comparingInt(NoticeBoard::epochOf)
            .thenComparingLong(NoticeBoard::firstSeqOf)
            .thenComparing(Notice::key));
    for (Notice notice : candidates) {
      switch (notice.name()) {
        case AnnouncementName.Fence fence -> {
          if (fence.epoch() == epoch + 1) {
            epoch++;
            reachable.add(notice);
          }
        }
        case AnnouncementName.Produce produce -> {
          if (produce.epoch() == epoch && produce.firstSeq() == nextSeq) {
            nextSeq = produce.lastSeq() + 1;
            reachable.add(notice);
          }
        }
        case AnnouncementName.Operator other -> reachable.add(notice);
      }
    }
  }

  private static int epochOf(Notice notice) {
    return switch (notice.name()) {
      case AnnouncementName.Fence fence -> fence.epoch();
      case AnnouncementName.Produce produce -> produce.epoch();
      case AnnouncementName.Operator other -> Integer.MAX_VALUE;
    };
  }

  private static long firstSeqOf(Notice notice) {
    return notice.name() instanceof AnnouncementName.Produce produce ? produce.firstSeq() : -1;
  }

  /**
   * Deletes what the fold has decided, if there is enough of it to be worth a request; only after
   * one's own version is folded.
   */
  void cleanUp(State state, Requests requests) {
    List<String> gone = new ArrayList<>();
    for (Notice notice : notices.values()) {
      if (notice.decided(state)) {
        gone.add(notice.key());
      }
    }
    if (gone.size() >= CommitPolicy.WORTH_A_DELETE) {
      for (String key : gone) {
        forget(Objects.requireNonNull(notices.remove(key)));
      }
      delete(gone, requests);
    }
  }

  /** Deletes the groups three and four before that of a version: nothing depends on them. */
  void sweep(long version, Requests requests) {
    for (int back = 3; back <= 4; back++) {
      long old = version - (long) back * Limits.ANNOUNCE_VERSIONS;
      if (old >= 0) {
        send(
            new Errand.Sweeping(),
            new StoreRequest.ListPrefix(ObjectNames.announceGroup(old), LIST_LIMIT),
            requests);
        notices.headMap(ObjectNames.announceGroup(old + Limits.ANNOUNCE_VERSIONS)).clear();
      }
    }
  }

  private void delete(List<String> keys, Requests requests) {
    for (int from = 0; from < keys.size(); from += DELETE_KEYS) {
      List<String> some =
          List.copyOf(keys.subList(from, Math.min(keys.size(), from + DELETE_KEYS)));
      send(new Errand.Deleting(), new StoreRequest.Delete(some), requests);
    }
  }

  /**
   * A hash of it: ids aside, and batches and fences that the fold has decided, while there is too
   * little to be deleted: their names say so, so they are never read, nor undecided again.
   *
   * @param state null before there is one
   */
  long fingerprint(@Nullable State state) {
    List<Notice> alive = new ArrayList<>(notices.size());
    for (Notice notice : notices.values()) {
      boolean dead =
          state != null
              && notices.size() < CommitPolicy.WORTH_A_DELETE
              && !(notice.name() instanceof AnnouncementName.Operator)
              && notice.decided(state);
      if (!dead) {
        alive.add(notice);
      }
    }
    long hash = Fingerprint.of(alive, round, listsToCome, readsToCome, deadlineNs, errands.size());
    for (Errand errand : errands.values()) {
      long one =
          errand instanceof Errand.Listing listing
              ? Fingerprint.of(listing.prefix(), listing.sentAtNs(), listing.round() == roundNumber)
              : Fingerprint.of(errand);
      hash = Fingerprint.add(hash, one);
    }
    return hash;
  }
}
