package io.batchweave.commit;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.Block;
import io.batchweave.format.Limits;
import io.batchweave.format.ManifestCodec;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.VersionHeader;
import io.batchweave.log.Bits;
import io.batchweave.log.Fingerprint;
import io.batchweave.log.Fold;
import io.batchweave.log.Fold.Outlook;
import io.batchweave.log.LogEvent;
import io.batchweave.log.LogFollower;
import io.batchweave.log.Machine;
import io.batchweave.log.SnapshotWriter;
import io.batchweave.log.State;
import io.batchweave.store.StoreFailure;
import io.batchweave.store.StoreRequest;
import io.batchweave.store.StoreResponse;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Extends the log by the blocks on offer: reads on to the head, builds the next version, creates it
 * if nobody did. Whatever the answer, only the fold says what became of a block: {@link
 * #nextEvent}. When to look and when to write is decided by a {@link CommitPolicy}.
 *
 * <p>Embedded by the machines of producers and operators, which replace their {@linkplain #offer
 * offer} as the log moves, drain {@link #nextEvent} after every call, and pass on its requests
 * under ids of their own.
 */
public final class CommitMachine implements Machine<CommitMachine> {
  /** A PUT that got no answer for so long is unclear; its answer is then ignored. */
  static final long PUT_TIMEOUT_NS = 60_000_000_000L;

  /** Refusals in a row (credentials, settings, space) after which the machine gives up. */
  static final int MAX_REFUSALS = 8;

  private static final long SNAPSHOT_RETRY_NS = 1_000_000_000L;
  private static final long IDS_PER_SNAPSHOT = 1L << 20;
  private static final int MAX_TIMED = 64;

  /** Its parts that ask: an id of a request says which by its remainder. */
  public static final int OWNERS_OF_IDS = 5;

  private static final int FOLLOWER = 0;
  private static final int SELF = 1;
  private static final int SNAPSHOT = 2;
  private static final int BOARD = 3;
  private static final int ANNOUNCER = 4;

  /** A read of the follower whose time counts. */
  private record Timed(boolean list, long sentAtNs) {}

  private record Put(long requestId, long version, Bytes body, List<Block> blocks, long sentAtNs) {}

  private final LogFollower follower;
  private final CommitPolicy policy;
  private final Bits bits;
  private final Deque<LogEvent> events;
  private final Map<UUID, Long> ownCommits;
  private final NoticeBoard board;
  private final Announcer announcer;
  private final TreeMap<Long, Timed> timedReads;
  private List<Block> offers = List.of();
  private List<Block> written = List.of();
  private @Nullable Put put;
  private long nextRequestId;
  private boolean looking;
  private boolean expecting;
  private long announceAtNs = Long.MAX_VALUE;
  private @Nullable SnapshotWriter snapshotWriter;
  private long snapshotGeneration;
  private long snapshotRetryAtNs = Long.MIN_VALUE;
  private long snapshotWakeAtNs = Long.MAX_VALUE;
  private @Nullable String snapshotTrouble;
  private int refusals;
  private @Nullable String trouble;
  private @Nullable BatchWeaveException failure;

  /**
   * Creates a machine that opens the log at its first {@link #onTime}.
   *
   * @param follower fresh; owned from now on
   * @param policy fresh; owned from now on
   * @param bits the source of commit ids; two machines must never share a seed
   */
  public CommitMachine(LogFollower follower, CommitPolicy policy, Bits bits) {
    this.follower = follower;
    this.policy = policy;
    this.bits = bits;
    this.events = new ArrayDeque<>();
    this.ownCommits = new HashMap<>();
    this.board = new NoticeBoard();
    this.announcer = new Announcer();
    this.timedReads = new TreeMap<>();
    this.looking = true;
  }

  private CommitMachine(CommitMachine other) {
    this.follower = other.follower.copy();
    this.policy = other.policy.copy();
    this.bits = other.bits.copy();
    this.events = new ArrayDeque<>(other.events);
    this.ownCommits = new HashMap<>(other.ownCommits);
    this.board = new NoticeBoard(other.board);
    this.announcer = new Announcer(other.announcer);
    this.timedReads = new TreeMap<>(other.timedReads);
    this.offers = other.offers;
    this.written = other.written;
    this.put = other.put;
    this.nextRequestId = other.nextRequestId;
    this.looking = other.looking;
    this.expecting = other.expecting;
    this.announceAtNs = other.announceAtNs;
    this.snapshotWriter = other.snapshotWriter == null ? null : other.snapshotWriter.copy();
    this.snapshotGeneration = other.snapshotGeneration;
    this.snapshotRetryAtNs = other.snapshotRetryAtNs;
    this.snapshotWakeAtNs = other.snapshotWakeAtNs;
    this.snapshotTrouble = other.snapshotTrouble;
    this.refusals = other.refusals;
    this.trouble = other.trouble;
    this.failure = other.failure;
  }

  /**
   * Replaces what is on offer. A block already {@linkplain #written} may be left out only once the
   * fold has decided it. {@link #onTime} is called after it.
   *
   * @param blocks in the order in which they apply, each at most {@link Limits#BLOCK_BYTES}
   */
  public void offer(List<Block> blocks) {
    if (!offers.equals(blocks)) {
      offers = List.copyOf(blocks);
      announcer.offer(offers);
      written = written.stream().filter(offers::contains).toList();
    }
  }

  /**
   * Says that there will soon be something to offer, so that the head may be known by then; {@link
   * #onTime} is called after it.
   */
  public void expectOffer() {
    expecting = true;
  }

  /** What is on offer. */
  public List<Block> offers() {
    return offers;
  }

  /** Asks to read on to the head, whether there is work or not; {@link #onTime} is called after. */
  public void look() {
    looking = true;
    follower.requireHead();
  }

  /** Whether the state is that of the head, as of the last look. */
  public boolean headKnown() {
    return follower.isOpen() && !looking && follower.headKnown();
  }

  /** The log as far as it is folded; nothing may be asked of it that changes it. */
  public LogFollower log() {
    return follower;
  }

  /** Takes the next event of the log; null when there is none. */
  public @Nullable LogEvent nextEvent() {
    return events.poll();
  }

  /**
   * Which of the blocks on offer went out, in a version or an announcement, landed or not: others
   * may commit them at any time from now on, so they are offered like this or not at all.
   */
  public List<Block> written() {
    return written;
  }

  /** Whether a version of this machine is on its way. */
  public boolean writing() {
    return put != null;
  }

  /** Why the machine has stopped for good; null while it works. */
  public @Nullable BatchWeaveException failure() {
    return failure;
  }

  /** The last failed request while there is passing trouble, for messages; null otherwise. */
  public @Nullable String trouble() {
    if (trouble != null) {
      return trouble;
    }
    if (board.trouble() != null) {
      return board.trouble();
    }
    boolean waiting = follower.isOpen() && follower.snapshots().blocking();
    return waiting && snapshotTrouble != null ? snapshotTrouble : follower.trouble();
  }

  @Override
  public void onResponse(long requestId, StoreResponse response, long nowNs, Requests requests) {
    long id = requestId / OWNERS_OF_IDS;
    switch ((int) (requestId % OWNERS_OF_IDS)) {
      case FOLLOWER -> {
        Timed timed = timedReads.remove(id);
        if (timed != null && !(response instanceof StoreResponse.Failed)) {
          policy.onRead(timed.list(), nowNs - timed.sentAtNs());
        }
        follower.onResponse(id, response, nowNs, sub(FOLLOWER, nowNs, requests));
      }
      case SELF -> {
        if (put == null || put.requestId() != id) {
          return;
        }
        onPut(put, response, nowNs, requests);
      }
      case BOARD -> {
        if (failure != null || !follower.isOpen()) {
          return;
        }
        board.onResponse(
            id,
            response,
            follower.state(),
            announcer.names(),
            policy,
            nowNs,
            sub(BOARD, nowNs, requests));
      }
      case ANNOUNCER -> announcer.onResponse(id, response, policy, nowNs);
      default -> onSnapshotAnswer(id, response, nowNs, requests);
    }
    advance(nowNs, requests);
  }

  @Override
  public void onTime(long nowNs, Requests requests) {
    follower.onTime(nowNs, sub(FOLLOWER, nowNs, requests));
    advance(nowNs, requests);
  }

  @Override
  public long wakeAtNs() {
    if (failure != null) {
      return Long.MAX_VALUE;
    }
    long ownNs = Math.min(policy.wakeAtNs(), board.wakeAtNs());
    if (put != null) {
      ownNs = Math.min(ownNs, put.sentAtNs() + PUT_TIMEOUT_NS);
    } else {
      ownNs = Math.min(ownNs, announceAtNs);
    }
    return Math.min(follower.wakeAtNs(), Math.min(ownNs, snapshotWakeAtNs));
  }

  private Requests sub(int owner, long nowNs, Requests requests) {
    return (id, request) -> {
      boolean list = request instanceof StoreRequest.ListPrefix;
      if (owner == FOLLOWER && (list || request instanceof StoreRequest.Get)) {
        timedReads.put(id, new Timed(list, nowNs));
        if (timedReads.size() > MAX_TIMED) {
          timedReads.pollFirstEntry();
        }
      }
      requests.send(id * OWNERS_OF_IDS + owner, request);
    };
  }

  private void advance(long nowNs, Requests requests) {
    snapshotWakeAtNs = Long.MAX_VALUE;
    takeEvents(nowNs);
    if (failure != null || !follower.isOpen()) {
      return;
    }
    board.onTime(nowNs);
    if (put != null && nowNs - put.sentAtNs() >= PUT_TIMEOUT_NS) {
      put = null;
      trouble = "no answer to a PUT for " + PUT_TIMEOUT_NS / 1_000_000_000L + " s";
      policy.onUnclear(nowNs);
    }
    if (looking && follower.headKnown()) {
      looking = false;
      policy.onLooked(nowNs);
    }
    if (expecting && !looking) {
      expecting = false;
      if (put == null && policy.looksAhead(nowNs)) {
        lookOn(nowNs, requests);
      }
    }
    boolean moved = true;
    while (moved && failure == null) {
      moved = step(nowNs, requests);
    }
  }

  /** Does what the policy wants; true if it is to be asked again at once. */
  private boolean step(long nowNs, Requests requests) {
    Situation situation = situation(nowNs);
    switch (policy.decide(situation, nowNs)) {
      case WAIT -> {
        return false;
      }
      case LOOK -> {
        if (looking) {
          return false;
        }
        lookOn(nowNs, requests);
      }
      case PEEK -> {
        follower.requireNext();
        follower.onTime(nowNs, sub(FOLLOWER, nowNs, requests));
        takeEvents(nowNs);
      }
      case GATHER ->
          board.begin(follower.state(), policy.youngVersions(), nowNs, sub(BOARD, nowNs, requests));
      case ANNOUNCE -> {
        List<Block> sent =
            announcer.announce(follower.state(), nowNs, sub(ANNOUNCER, nowNs, requests));
        wrote(sent);
        return !sent.isEmpty();
      }
      case COMMIT -> {
        if (waitsForSnapshot(nowNs, requests)) {
          return false;
        }
        commit(nowNs, requests);
        return put != null;
      }
    }
    return true;
  }

  private void lookOn(long nowNs, Requests requests) {
    look();
    follower.onTime(nowNs, sub(FOLLOWER, nowNs, requests));
    takeEvents(nowNs);
  }

  private Situation situation(long nowNs) {
    State state = follower.state();
    Outlook outlook = offers.isEmpty() ? Outlook.NEVER : Fold.outlook(state, offers.getFirst());
    boolean ownWork = outlook == Outlook.ACCEPTABLE;
    announceAtNs = ownWork ? announcer.nextDueNs(nowNs) : Long.MAX_VALUE;
    boolean gathered = board.round() == NoticeBoard.Round.DONE && put == null;
    Situation.Announced announcement =
        !announcer.answered()
            ? Situation.Announced.UNANSWERED
            : announcer.found() ? Situation.Announced.FOUND : Situation.Announced.CREATED;
    return new Situation(
        ownWork,
        outlook == Outlook.LATER,
        kind(),
        ownWork && announcer.wanted(state.version(), nowNs),
        announcer.firstAtNs(),
        announcement,
        gathered && !ownWork && othersAcceptable(state),
        board.round(),
        looking,
        put != null);
  }

  private Situation.Kind kind() {
    if (offers.isEmpty()) {
      return Situation.Kind.PRODUCE;
    }
    return switch (offers.getFirst()) {
      case Block.Produce produce -> Situation.Kind.PRODUCE;
      case Block.Fence fence -> Situation.Kind.FENCE;
      default -> Situation.Kind.SHARED;
    };
  }

  private boolean othersAcceptable(State state) {
    for (Block block : board.held(state)) {
      if (Fold.accepts(state, block).accepted()) {
        return true;
      }
    }
    return false;
  }

  private void wrote(List<Block> blocks) {
    List<Block> all = new ArrayList<>(written);
    for (Block block : blocks) {
      if (offers.contains(block) && !all.contains(block)) {
        all.add(block);
      }
    }
    written = List.copyOf(all);
  }

  private void takeEvents(long nowNs) {
    for (LogEvent event = follower.nextEvent(); event != null; event = follower.nextEvent()) {
      if (event instanceof LogEvent.Folded folded) {
        requireSound(folded);
        boolean own = ownCommits.containsKey(folded.outcome().header().commitId());
        policy.onFolded(folded.outcome(), own, nowNs);
      } else {
        policy.onJumped(follower.state());
      }
      events.add(event);
    }
    if (!ownCommits.isEmpty()) {
      ownCommits.values().removeIf(version -> version <= follower.state().version());
    }
    if (failure == null) {
      failure = follower.failure();
    }
  }

  private void requireSound(LogEvent.Folded folded) {
    if (ownCommits.containsKey(folded.outcome().header().commitId()) && folded.outcome().isVoid()) {
      failure =
          new BatchWeaveException(
              Kind.CORRUPT,
              "own version is void: version="
                  + folded.outcome().version()
                  + " disagreement="
                  + folded.outcome().voidReason()
                  + "; this process folded other bytes than the store holds: stop it and verify"
                  + " the stream");
    }
  }

  private void commit(long nowNs, Requests requests) {
    State state = follower.state();
    VersionDraft draft = VersionDraft.assemble(state, offers, board.held(state));
    if (draft.blocks().isEmpty()) {
      return;
    }
    VersionHeader header =
        state.nextHeader(
            bits.nextId(),
            follower.snapshots().newestVersion(),
            policy.paceMillis(draft.overflowed()));
    Bytes body = Bytes.wrap(ManifestCodec.encode(header, draft.blocks()));
    put = new Put(nextRequestId++, header.version(), body, draft.blocks(), nowNs);
    wrote(draft.blocks());
    ownCommits.put(header.commitId(), header.version());
    policy.onWriting(draft.overflowed(), nowNs);
    sub(SELF, nowNs, requests)
        .send(
            put.requestId(),
            new StoreRequest.PutIfAbsent(ObjectNames.version(header.version()), body));
  }

  /** Whether a snapshot must exist before the next version, and does not yet. */
  private boolean waitsForSnapshot(long nowNs, Requests requests) {
    if (!follower.snapshots().blocking()) {
      return false;
    }
    if (nowNs >= snapshotRetryAtNs) {
      startSnapshot(nowNs, requests);
    }
    snapshotWakeAtNs = snapshotWriter == null ? snapshotRetryAtNs : Long.MAX_VALUE;
    return true;
  }

  private void startSnapshot(long nowNs, Requests requests) {
    if (snapshotWriter == null) {
      snapshotWriter = follower.snapshotWriter();
      snapshotGeneration++;
      snapshotRetryAtNs = nowNs + SNAPSHOT_RETRY_NS;
      snapshotWriter.onTime(nowNs, snapshotRequests(nowNs, requests));
    }
  }

  private Requests snapshotRequests(long nowNs, Requests requests) {
    long firstId = snapshotGeneration * IDS_PER_SNAPSHOT;
    Requests sub = sub(SNAPSHOT, nowNs, requests);
    return (id, request) -> sub.send(firstId + id, request);
  }

  private void onSnapshotAnswer(long id, StoreResponse response, long nowNs, Requests requests) {
    SnapshotWriter writer = snapshotWriter;
    if (writer == null || id / IDS_PER_SNAPSHOT != snapshotGeneration) {
      return;
    }
    writer.onResponse(id % IDS_PER_SNAPSHOT, response, nowNs, snapshotRequests(nowNs, requests));
    switch (writer.status()) {
      case WRITING -> {}
      case WRITTEN -> follower.snapshotWritten(writer.version(), writer.lengthBytes());
      case DONE -> {
        follower.snapshotWritten(writer.version(), writer.lengthBytes());
        snapshotWriter = null;
      }
      case FAILED -> {
        BatchWeaveException cause = writer.failure();
        snapshotTrouble = cause == null ? "unknown" : String.valueOf(cause.getMessage());
        snapshotWriter = null;
      }
    }
  }

  private void onPut(Put answered, StoreResponse response, long nowNs, Requests requests) {
    put = null;
    long tookNs = nowNs - answered.sentAtNs();
    if (!(response instanceof StoreResponse.Failed)) {
      refusals = 0;
      trouble = null;
    }
    switch (response) {
      case StoreResponse.Created created -> {
        follower.committed(answered.version(), answered.body(), nowNs);
        follower.onTime(nowNs, sub(FOLLOWER, nowNs, requests));
        takeEvents(nowNs);
        policy.onCommitted(tookNs, nowNs);
        if (failure == null) {
          cleanUp(answered.version(), nowNs, requests);
        }
        if (failure == null && follower.snapshots().due()) {
          startSnapshot(nowNs, requests);
        }
      }
      case StoreResponse.Exists exists -> policy.onLost(tookNs, nowNs);
      case StoreResponse.Failed failed -> onPutFailed(failed, nowNs);
      default -> policy.onUnclear(nowNs);
    }
  }

  private void cleanUp(long version, long nowNs, Requests requests) {
    board.cleanUp(follower.state(), sub(BOARD, nowNs, requests));
    if (version % Limits.ANNOUNCE_VERSIONS == 0) {
      board.sweep(version, sub(BOARD, nowNs, requests));
    }
  }

  private void onPutFailed(StoreResponse.Failed failed, long nowNs) {
    trouble = failed.detail();
    if (failed.failure() == StoreFailure.THROTTLED) {
      policy.onThrottled();
    }
    if (failed.failure() == StoreFailure.CONFLICT) {
      policy.onConflict(nowNs);
      return;
    }
    policy.onUnclear(nowNs);
    refusals = failed.failure().retryable() ? 0 : refusals + 1;
    if (refusals >= MAX_REFUSALS) {
      failure =
          new BatchWeaveException(
              failed.failure() == StoreFailure.FULL ? Kind.LIMIT : Kind.CONFIG,
              "the store refuses to commit: refusals=" + refusals + " last=" + failed.detail());
    }
  }

  @Override
  public CommitMachine copy() {
    return new CommitMachine(this);
  }

  @Override
  public long fingerprint() {
    return Fingerprint.of(
        policy.fingerprint(),
        bits.fingerprint(),
        List.copyOf(events),
        ownCommits,
        offers,
        written,
        put == null ? 0 : Fingerprint.of(put.body(), put.blocks(), put.sentAtNs()),
        looking,
        expecting,
        board.fingerprint(follower.isOpen() ? follower.state() : null),
        announcer.fingerprint(),
        List.copyOf(timedReads.values()),
        refusals,
        snapshotGeneration,
        snapshotRetryAtNs,
        snapshotWriter == null ? 0 : snapshotWriter.fingerprint(),
        failure == null,
        follower.fingerprint());
  }
}
