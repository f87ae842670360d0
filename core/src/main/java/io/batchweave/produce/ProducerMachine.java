package io.batchweave.produce;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.commit.CommitMachine;
import io.batchweave.commit.CommitPolicy;
import io.batchweave.format.Block;
import io.batchweave.format.Limits;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SourceState;
import io.batchweave.format.StreamDescriptor;
import io.batchweave.log.Bits;
import io.batchweave.log.BlockOutcome;
import io.batchweave.log.Fingerprint;
import io.batchweave.log.Fold;
import io.batchweave.log.Folding;
import io.batchweave.log.FollowPolicy;
import io.batchweave.log.LogEvent;
import io.batchweave.log.LogFollower;
import io.batchweave.log.Machine;
import io.batchweave.log.ProducerState;
import io.batchweave.log.State;
import io.batchweave.log.Verdict;
import io.batchweave.store.Payload;
import io.batchweave.store.StoreRequest;
import io.batchweave.store.StoreResponse;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.UUID;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * One incarnation of a producer, without I/O: takes the id over by a fence, recovers the source
 * state, uploads batches and gets them committed in seq order. What became of a batch is said by
 * the fold alone: {@link #nextCommitted}.
 */
public final class ProducerMachine implements Machine<ProducerMachine> {
  /** How far the incarnation has come. */
  public enum Phase {
    /** Reads on to the head and proposes its fence. */
    OPENING,
    /** Owns the epoch, reads the source state. */
    RECOVERING,
    /** Takes batches. */
    LIVE,
    /** Has stopped for good: {@link #failure}. */
    FAILED
  }

  /**
   * A batch that the fold has accepted.
   *
   * @param seq its seq
   * @param step the step it became; {@link #UNKNOWN_STEP} where a snapshot passed over it
   */
  public record Committed(long seq, long step) {}

  /** The step is not known. */
  public static final long UNKNOWN_STEP = -1;

  private static final int OWNERS_OF_IDS = 2;

  /**
   * Its parts that ask, its committer's included: an id of a request says which by its remainder.
   */
  public static final int PARTS_OF_IDS = OWNERS_OF_IDS * CommitMachine.OWNERS_OF_IDS;

  private static final int COMMIT = 0;
  private static final int SELF = 1;
  private static final long STATE_TIMEOUT_NS = 600_000_000_000L;
  private static final long MIN_BACKOFF_NS = 50_000_000L;
  private static final long MAX_BACKOFF_NS = 5_000_000_000L;

  private final String producer;
  private final UUID incarnation;
  private final CommitMachine commit;
  private final BatchQueue queue;
  private final Deque<Committed> committed;
  private Phase phase = Phase.OPENING;
  private int epoch;
  private boolean fenceWritten;
  private boolean sealed;
  private long committedSeq;
  private Bytes sourceState = Bytes.EMPTY;
  private long nextRequestId;
  private long stateRequestId = -1;
  private int stateFailures;
  private long stateDueAtNs = Long.MIN_VALUE;
  private @Nullable String stateTrouble;
  private boolean stateGone;
  private @Nullable BatchWeaveException failure;

  /**
   * Creates an incarnation; it starts at the first {@link #onTime}.
   *
   * @param producer the producer's id
   * @param maxUploads data objects uploaded at a time
   * @param followPolicy how eagerly the log is read
   * @param bits incarnation, names, spacing: two incarnations must never share a seed
   */
  public ProducerMachine(String producer, int maxUploads, FollowPolicy followPolicy, Bits bits) {
    this(producer, maxUploads, followPolicy, Folding.OWN, bits);
  }

  /**
   * Creates an incarnation that may share with others what it reads of the log.
   *
   * @param producer the producer's id
   * @param maxUploads data objects uploaded at a time
   * @param followPolicy how eagerly the log is read
   * @param folding how versions are taken to states
   * @param bits incarnation, names, spacing: two incarnations must never share a seed
   */
  public ProducerMachine(
      String producer, int maxUploads, FollowPolicy followPolicy, Folding folding, Bits bits) {
    this.producer = producer;
    this.incarnation = bits.nextId();
    this.commit =
        new CommitMachine(
            new LogFollower(followPolicy, folding, new Bits(bits.nextLong())),
            new CommitPolicy("p." + producer, new Bits(bits.nextLong())),
            new Bits(bits.nextLong()));
    this.queue = new BatchQueue(producer, maxUploads, new Bits(bits.nextLong()));
    this.committed = new ArrayDeque<>();
  }

  private ProducerMachine(ProducerMachine other) {
    this.producer = other.producer;
    this.incarnation = other.incarnation;
    this.commit = other.commit.copy();
    this.queue = new BatchQueue(other.queue);
    this.committed = new ArrayDeque<>(other.committed);
    this.phase = other.phase;
    this.epoch = other.epoch;
    this.fenceWritten = other.fenceWritten;
    this.sealed = other.sealed;
    this.committedSeq = other.committedSeq;
    this.sourceState = other.sourceState;
    this.nextRequestId = other.nextRequestId;
    this.stateRequestId = other.stateRequestId;
    this.stateFailures = other.stateFailures;
    this.stateDueAtNs = other.stateDueAtNs;
    this.stateTrouble = other.stateTrouble;
    this.stateGone = other.stateGone;
    this.failure = other.failure;
  }

  /** How far the incarnation has come. */
  public Phase phase() {
    return phase;
  }

  /** Why it has stopped for good; null while it works. */
  public @Nullable BatchWeaveException failure() {
    return failure;
  }

  /** The last failed request while there is passing trouble, for messages; null otherwise. */
  public @Nullable String trouble() {
    if (stateTrouble != null) {
      return stateTrouble;
    }
    return queue.trouble() != null ? queue.trouble() : commit.trouble();
  }

  /** The stream; once it is LIVE. */
  public StreamDescriptor stream() {
    return commit.log().stream();
  }

  /** The epoch this incarnation owns; once it is LIVE. */
  public int epoch() {
    return epoch;
  }

  /** The source state it took over; once it is LIVE. */
  public Bytes sourceState() {
    return sourceState;
  }

  /** The seq of the next batch; once it is LIVE. */
  public long nextSeq() {
    return queue.nextSeq();
  }

  /** Every batch with a lower seq is in the log, as far as this incarnation has read. */
  public long committedSeq() {
    return committedSeq;
  }

  /** Whether everything added is in the log. */
  public boolean drained() {
    return queue.isEmpty();
  }

  /** Takes the next batch that the fold has accepted, in seq order; null when there is none. */
  public @Nullable Committed nextCommitted() {
    return committed.poll();
  }

  /** The bytes behind the handle of an upload that this machine has asked for. */
  public Payload payload(long handle) {
    return queue.payload(handle);
  }

  /**
   * Adds a batch; {@link #onTime} is called after it. Only while {@link Phase#LIVE}.
   *
   * @param tgb cut for the stream's grid
   * @param stateAfter where the source stands after it, at most {@link Limits#SOURCE_STATE_BYTES}
   * @return its seq
   */
  public long add(Tgb tgb, Bytes stateAfter) {
    if (phase != Phase.LIVE) {
      throw new IllegalStateException("takes no batch while " + phase);
    }
    commit.expectOffer();
    return queue.add(tgb, stateAfter);
  }

  @Override
  public void onResponse(long requestId, StoreResponse response, long nowNs, Requests requests) {
    long id = requestId / OWNERS_OF_IDS;
    if (requestId % OWNERS_OF_IDS == COMMIT) {
      commit.onResponse(id, response, nowNs, sub(COMMIT, requests));
    } else if (id == stateRequestId) {
      stateRequestId = -1;
      onSourceState(response, nowNs);
      commit.onTime(nowNs, sub(COMMIT, requests));
    } else {
      queue.onAnswer(id, response, nowNs);
    }
    advance(nowNs, requests);
  }

  @Override
  public void onTime(long nowNs, Requests requests) {
    commit.onTime(nowNs, sub(COMMIT, requests));
    advance(nowNs, requests);
  }

  @Override
  public long wakeAtNs() {
    return switch (phase) {
      case OPENING -> commit.wakeAtNs();
      case RECOVERING -> Math.min(commit.wakeAtNs(), stateDueAtNs);
      case LIVE -> Math.min(commit.wakeAtNs(), queue.wakeAtNs());
      case FAILED -> Long.MAX_VALUE;
    };
  }

  private static Requests sub(int owner, Requests requests) {
    return (id, request) -> requests.send(id * OWNERS_OF_IDS + owner, request);
  }

  private void advance(long nowNs, Requests requests) {
    // Each round takes what the commit machine folded and gives it what is next on offer; giving
    // may fold more (an answer that was already there), so go on until nothing moves.
    boolean moved = true;
    while (moved && phase != Phase.FAILED) {
      takeEvents();
      queue.written(commit.written());
      moved = false;
      switch (phase) {
        case OPENING -> moved = proposeFence();
        case RECOVERING -> recover(nowNs, requests);
        case LIVE -> moved = work(nowNs, requests);
        case FAILED -> {}
      }
      if (moved && phase != Phase.FAILED) {
        commit.onTime(nowNs, sub(COMMIT, requests));
      }
    }
  }

  private void fail(BatchWeaveException cause) {
    if (failure == null) {
      failure = cause;
      phase = Phase.FAILED;
    }
  }

  private void takeEvents() {
    for (LogEvent event = commit.nextEvent(); event != null; event = commit.nextEvent()) {
      switch (event) {
        case LogEvent.Folded folded -> folded.outcome().blocks().forEach(this::onBlock);
        case LogEvent.Jumped jumped -> onJump(commit.log().state());
      }
    }
    BatchWeaveException cause = commit.failure() != null ? commit.failure() : queue.failure();
    if (cause != null) {
      fail(cause);
    } else if (sealed && !queue.isEmpty()) {
      fail(sealedFailure());
    }
  }

  private void onBlock(BlockOutcome outcome) {
    if (!outcome.accepted() || phase == Phase.FAILED) {
      return;
    }
    switch (outcome.block()) {
      case Block.Fence fence when fence.producer().equals(producer) -> onFence(fence);
      case Block.Produce block when block.producer().equals(producer) -> {
        if (phase == Phase.LIVE) {
          for (int i = 0; i < block.entries().size(); i++) {
            committed.add(new Committed(block.firstSeq() + i, outcome.firstStep() + i));
          }
          acknowledge(block.firstSeq() + block.entries().size());
        }
      }
      case Block.Retire retire when retire.producer().equals(producer) -> fail(retired());
      case Block.Seal seal -> sealed = true;
      default -> {}
    }
  }

  private void onFence(Block.Fence fence) {
    if (fence.incarnation().equals(incarnation)) {
      own(fence.epoch());
    } else if (phase != Phase.OPENING) {
      fail(fenced(fence.epoch()));
    }
  }

  private void own(int ownedEpoch) {
    phase = Phase.RECOVERING;
    epoch = ownedEpoch;
    commit.offer(List.of());
  }

  private void acknowledge(long nextSeq) {
    committedSeq = nextSeq;
    queue.committedThrough(nextSeq - 1);
  }

  /** The versions between were trimmed: only the state says what became of them. */
  private void onJump(State state) {
    sealed |= state.sealed();
    ProducerState mine = state.producer(producer);
    if (mine == null) {
      return;
    }
    boolean owner = mine.incarnation().equals(incarnation);
    if (mine.retired()) {
      fail(retired());
    } else if (phase == Phase.OPENING && owner) {
      own(mine.epoch());
    } else if (!owner && (phase != Phase.OPENING || fenceWritten)) {
      // An own fence may have been folded and overtaken in between: then it must stay down.
      fail(fenced(mine.epoch()));
    } else if (phase == Phase.LIVE) {
      for (long seq = committedSeq; seq < mine.nextSeq(); seq++) {
        committed.add(new Committed(seq, UNKNOWN_STEP));
      }
      acknowledge(mine.nextSeq());
    }
  }

  /** True if there is something new on offer. */
  private boolean proposeFence() {
    if (!commit.headKnown() || commit.writing()) {
      return false;
    }
    State state = commit.log().state();
    ProducerState current = state.producer(producer);
    int nextEpoch = current == null ? 1 : current.epoch() + 1;
    Block.Fence fence = new Block.Fence(producer, nextEpoch, incarnation);
    Verdict verdict = Fold.accepts(state, fence);
    if (verdict == Verdict.RETIRED) {
      fail(retired());
      return false;
    }
    if (verdict == Verdict.OVER_LIMIT) {
      fail(
          new BatchWeaveException(
              Kind.LIMIT,
              "too many producers: live="
                  + state.liveProducers()
                  + " limit="
                  + Limits.PRODUCERS
                  + "; retire those that are gone"));
      return false;
    }
    boolean changed = !commit.offers().equals(List.of(fence));
    if (changed) {
      commit.offer(List.of(fence));
      fenceWritten = true;
    }
    return changed;
  }

  private void recover(long nowNs, Requests requests) {
    ProducerState mine = commit.log().state().producer(producer);
    if (mine == null) {
      throw new IllegalStateException("owned but unknown: " + producer);
    }
    switch (mine.sourceState()) {
      case SourceState.Inline(Bytes bytes) -> live(mine, bytes);
      case SourceState.External external when stateGone -> {
        if (commit.headKnown()) {
          fail(damagedState(external, "it does not exist"));
        }
      }
      case SourceState.External external -> {
        if (stateRequestId < 0 && nowNs >= stateDueAtNs) {
          stateRequestId = nextRequestId++;
          stateDueAtNs = nowNs + STATE_TIMEOUT_NS;
          sub(SELF, requests)
              .send(
                  stateRequestId,
                  new StoreRequest.Get(
                      ObjectNames.state(external.object()), null, Limits.SOURCE_STATE_BYTES));
        } else if (nowNs >= stateDueAtNs) {
          stateRequestId = -1;
        }
      }
    }
  }

  private void live(ProducerState mine, Bytes state) {
    sourceState = state;
    committedSeq = mine.nextSeq();
    queue.begin(epoch, mine.nextSeq());
    stateTrouble = null;
    phase = Phase.LIVE;
  }

  private void onSourceState(StoreResponse response, long nowNs) {
    ProducerState mine = commit.log().state().producer(producer);
    if (phase != Phase.RECOVERING
        || mine == null
        || !(mine.sourceState() instanceof SourceState.External external)) {
      return;
    }
    switch (response) {
      case StoreResponse.Found(Bytes body) -> {
        CRC32C crc = new CRC32C();
        crc.update(body.asByteBuffer());
        if (body.length() != external.lengthBytes() || (int) crc.getValue() != external.crc32c()) {
          fail(damagedState(external, "lengthBytes=" + body.length() + ", or its checksum"));
        } else {
          live(mine, body);
        }
      }
      case StoreResponse.NotFound gone -> {
        // A collector deletes it once a later owner's batch has replaced it; the log then says so.
        stateGone = true;
        stateDueAtNs = Long.MAX_VALUE;
        commit.look();
      }
      default -> {
        long boundNs = Math.min(MAX_BACKOFF_NS, MIN_BACKOFF_NS << Math.min(stateFailures, 8));
        stateFailures++;
        stateDueAtNs = nowNs + boundNs;
        stateTrouble = response.toString();
      }
    }
  }

  private boolean work(long nowNs, Requests requests) {
    queue.upload(nowNs, sub(SELF, requests), new RequestIds());
    List<Block> offers = queue.changedOffers();
    if (offers == null) {
      return false;
    }
    queue.upload(nowNs, sub(SELF, requests), new RequestIds());
    boolean changed = !offers.equals(commit.offers());
    commit.offer(offers);
    return changed;
  }

  private final class RequestIds implements Iterator<Long> {
    @Override
    public boolean hasNext() {
      return true;
    }

    @Override
    public Long next() {
      return nextRequestId++;
    }
  }

  private BatchWeaveException fenced(int otherEpoch) {
    String what =
        "producer taken over by another incarnation: producer="
            + producer
            + " epoch="
            + epoch
            + " now="
            + otherEpoch;
    return new BatchWeaveException(Kind.FENCED, what + pendingText() + "; stop this process");
  }

  private BatchWeaveException retired() {
    return new BatchWeaveException(
        Kind.CONFIG,
        "producer is retired for ever: producer=" + producer + pendingText() + "; use another id");
  }

  private BatchWeaveException sealedFailure() {
    return new BatchWeaveException(
        Kind.CONFIG,
        "stream is sealed: steps="
            + commit.log().state().nextStep()
            + pendingText()
            + "; nothing can be added any more");
  }

  private String pendingText() {
    return queue.isEmpty()
        ? ""
        : " committedSeq="
            + committedSeq
            + " notSeenInTheLog="
            + committedSeq
            + "-"
            + (queue.nextSeq() - 1);
  }

  private BatchWeaveException damagedState(SourceState.External external, String why) {
    return new BatchWeaveException(
        Kind.CORRUPT,
        "source state is not what was committed: object="
            + ObjectNames.state(external.object())
            + " expectedBytes="
            + external.lengthBytes()
            + " found: "
            + why
            + "; restore the object or start a new producer id");
  }

  @Override
  public ProducerMachine copy() {
    return new ProducerMachine(this);
  }

  @Override
  public long fingerprint() {
    return Fingerprint.of(
        producer,
        incarnation,
        commit.fingerprint(),
        queue.fingerprint(),
        List.copyOf(committed),
        phase,
        epoch,
        fenceWritten,
        sealed,
        committedSeq,
        sourceState,
        stateRequestId >= 0,
        stateFailures,
        stateDueAtNs,
        stateGone,
        failure == null);
  }
}
