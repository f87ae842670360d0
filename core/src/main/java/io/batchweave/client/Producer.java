package io.batchweave.client;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.Limits;
import io.batchweave.format.StreamDescriptor;
import io.batchweave.log.Bits;
import io.batchweave.log.FollowPolicy;
import io.batchweave.produce.ProducerMachine;
import io.batchweave.produce.ProducerMachine.Committed;
import io.batchweave.produce.ProducerMachine.Phase;
import io.batchweave.produce.Tgb;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Adds batches to a stream, each exactly once, together with the position of the source they came
 * from. After a crash open again with the same id, read {@link #sourceState} and go on from there.
 *
 * <p>The newest incarnation of an id owns it: an older one gets {@link Kind#FENCED} and must stop.
 * Thread-safe; seqs follow the order in which {@link #add} was entered.
 */
public final class Producer implements AutoCloseable {
  private final ProducerContext context;
  private final MachineAgent agent;
  private final ProducerMachine machine;
  private final DrivenMachine driven;
  private final Signal signal;

  // Guarded by the signal.
  private final Deque<Long> pendingLengths = new ArrayDeque<>();
  private final Deque<Added> added = new ArrayDeque<>();
  private boolean handingOver;
  private long pendingBytes;
  private long nextSeq;
  private long committedSeq;
  private long lastProgressNs;
  private boolean live;
  private boolean closed;
  private boolean failureReported;
  private String trouble = "none";
  private Phase phase = Phase.OPENING;
  private @Nullable BatchWeaveException failure;

  private record Added(Tgb tgb, Bytes sourceState) {}

  private Producer(ProducerContext context) {
    this.context = context;
    MachineAgent shared = context.agent();
    this.agent =
        shared != null
            ? shared
            : MachineAgent.start(
                "batchweave-producer-" + context.producerId(), context.nanoClock());
    this.signal = new Signal(context.nanoClock());
    this.machine =
        new ProducerMachine(
            context.producerId(),
            context.maxUploads(),
            FollowPolicy.DEFAULT,
            new Bits(context.seed()));
    this.driven =
        new DrivenMachine(agent, machine, context.store(), machine::payload, new Events());
  }

  /**
   * Takes over the producer id: returns when this incarnation's own fence is in the log and the
   * source state after it has been read.
   *
   * @param context settings; concluded here
   * @throws BatchWeaveException {@link Kind#CONFIG} if the root is no stream, the producer is
   *     retired or a setting is wrong; {@link Kind#FENCED} if another incarnation took over
   *     meanwhile; {@link Kind#LIMIT} with too many producers; {@link Kind#RETRYABLE} when the time
   *     of the context has passed; {@link Kind#CORRUPT}, {@link Kind#TOO_NEW}
   */
  public static Producer open(ProducerContext context) {
    Producer producer = new Producer(context.conclude());
    boolean opened = false;
    try {
      producer.start();
      opened = true;
      return producer;
    } finally {
      if (!opened) {
        producer.abandon();
      }
    }
  }

  private void start() {
    long deadlineNs = signal.deadlineNs(context.openTimeoutNs());
    agent.drive(driven);
    if (!signal.await(() -> live || failure != null, deadlineNs)) {
      throw new BatchWeaveException(
          Kind.RETRYABLE,
          "producer did not open in time: producer="
              + context.producerId()
              + " timeoutMs="
              + context.openTimeoutNs() / 1_000_000
              + " store="
              + context.store().url()
              + " phase="
              + phase
              + " lastTrouble="
              + trouble
              + " "
              + driven.waitsFor());
    }
    throwFailure();
  }

  /** What the agent tells; on its thread. */
  private final class Events implements DrivenMachine.Observer {
    @Override
    public void afterEvent() {
      int count = 0;
      for (Committed batch = machine.nextCommitted();
          batch != null;
          batch = machine.nextCommitted()) {
        context.commitListener().onCommitted(batch.seq(), batch.step());
        count++;
      }
      int committed = count;
      String newTrouble = machine.trouble();
      signal.update(() -> {
        committed(committed);
        trouble = newTrouble == null ? "none" : newTrouble;
        failure = machine.failure();
        phase = machine.phase();
        if (!live && machine.phase() == Phase.LIVE) {
          live = true;
          nextSeq = machine.nextSeq();
          committedSeq = nextSeq;
          lastProgressNs = context.nanoClock().nanoTime();
        }
      });
    }

    @Override
    public void onFailure(Throwable thrown) {
      signal.update(() ->
          failure =
              thrown instanceof BatchWeaveException known
                  ? known
                  : new BatchWeaveException(
                      Kind.UNKNOWN_OUTCOME,
                      "producer stopped by a defect: producer="
                          + context.producerId()
                          + " cause="
                          + thrown
                          + "; open it again",
                      thrown));
    }
  }

  private void committed(int count) {
    if (count > 0) {
      committedSeq += count;
      lastProgressNs = context.nanoClock().nanoTime();
    }
    for (int i = 0; i < count; i++) {
      pendingBytes -= pendingLengths.removeFirst();
    }
  }

  /** The stream. */
  public StreamDescriptor descriptor() {
    return machine.stream();
  }

  /** The producer's id. */
  public String producerId() {
    return context.producerId();
  }

  /** The epoch this incarnation owns, or owned. */
  public int epoch() {
    return machine.epoch();
  }

  /**
   * The source state as it was when this incarnation took over: committed together with the last
   * batch before {@link #nextSeq} of that moment; empty if there was none.
   */
  public Bytes sourceState() {
    return machine.sourceState();
  }

  /** The seq the next {@link #add} will give; the first ever is 1. */
  public long nextSeq() {
    return signal.under(() -> nextSeq);
  }

  /** Every batch with a lower seq is in the stream for ever. */
  public long committedSeq() {
    return signal.under(() -> committedSeq);
  }

  /**
   * The last trouble with the store that has not been overcome yet; {@code none} if all is well.
   */
  public String trouble() {
    return signal.under(() -> trouble);
  }

  /**
   * Adds a batch: it will become a step, after all earlier ones of this producer. Waits while more
   * bytes or batches are pending than the context allows.
   *
   * @param tgb the batch; its bytes must not change until it is committed
   * @param sourceState where the source stands after this batch; what {@link #sourceState} returns
   *     to the next incarnation if this is the last batch committed
   * @return the batch's seq
   * @throws BatchWeaveException {@link Kind#CONFIG} if the grid is not the stream's or the stream
   *     is sealed (such a batch is not in the stream), {@link Kind#LIMIT} for too large a state,
   *     {@link Kind#RETRYABLE} when nothing moved for the time of the context; {@link Kind#FENCED}
   *     and the like if the producer has failed
   */
  public long add(Tgb tgb, Bytes sourceState) {
    requireFits(tgb, sourceState);
    return signal.under(() -> addWhenThereIsRoom(tgb, sourceState));
  }

  private void requireFits(Tgb tgb, Bytes sourceState) {
    if (!tgb.grid().equals(descriptor().grid())) {
      throw new BatchWeaveException(
          Kind.CONFIG,
          "TGB of another grid: tgb="
              + tgb.grid()
              + " stream="
              + descriptor().grid()
              + "; cut it for the stream's grid");
    }
    if (sourceState.length() > Limits.SOURCE_STATE_BYTES) {
      throw new BatchWeaveException(
          Kind.LIMIT,
          "source state too large: lengthBytes="
              + sourceState.length()
              + " limit="
              + Limits.SOURCE_STATE_BYTES
              + "; keep less of the source in memory");
    }
  }

  private long addWhenThereIsRoom(Tgb tgb, Bytes sourceState) {
    long lengthBytes = tgb.lengthBytes() + sourceState.length();
    while (!hasRoomFor(lengthBytes)) {
      throwFailure();
      requireOpen();
      long progressNs = lastProgressNs;
      long deadlineNs = Math.max(progressNs, progressNs + context.stallTimeoutNs());
      boolean moved =
          signal.await(() -> lastProgressNs != progressNs || failure != null || closed, deadlineNs);
      if (!moved) {
        throw stalled("no room for a batch");
      }
    }
    throwFailure();
    requireOpen();
    if (pendingLengths.isEmpty()) {
      lastProgressNs = context.nanoClock().nanoTime();
    }
    if (!handingOver) {
      agent.execute(this::handOver);
      handingOver = true;
    }
    added.addLast(new Added(tgb, sourceState));
    pendingLengths.addLast(lengthBytes);
    pendingBytes += lengthBytes;
    return nextSeq++;
  }

  /** Gives the machine all that was added since; on the agent's thread. */
  private void handOver() {
    List<Added> batches =
        signal.under(() -> {
          List<Added> all = List.copyOf(added);
          added.clear();
          handingOver = false;
          return all;
        });
    if (machine.phase() == Phase.LIVE) {
      batches.forEach(batch -> machine.add(batch.tgb(), batch.sourceState()));
      driven.poke();
    }
  }

  private boolean hasRoomFor(long lengthBytes) {
    return pendingLengths.isEmpty()
        || (pendingLengths.size() < context.maxPendingBatches()
            && pendingBytes + lengthBytes <= context.maxPendingBytes());
  }

  private BatchWeaveException stalled(String what) {
    return new BatchWeaveException(
        Kind.RETRYABLE,
        what
            + ": producer="
            + context.producerId()
            + " pendingBatches="
            + pendingLengths.size()
            + " pendingBytes="
            + pendingBytes
            + " committedSeq="
            + committedSeq
            + " store="
            + context.store().url()
            + " lastTrouble="
            + trouble
            + " "
            + driven.waitsFor()
            + "; the batches stay pending");
  }

  private void throwFailure() {
    BatchWeaveException cause = failure;
    if (cause != null) {
      failureReported = true;
      throw cause;
    }
  }

  private void requireOpen() {
    if (closed) {
      throw new IllegalStateException("producer is closed: producer=" + context.producerId());
    }
  }

  /**
   * Waits until everything added is committed.
   *
   * @param timeoutNs longest wait, nanoseconds
   * @throws BatchWeaveException {@link Kind#RETRYABLE} when the time has passed (the batches stay
   *     pending); {@link Kind#FENCED} and the like if the producer has failed: the message says
   *     which pending batches were not seen in the log
   */
  public void flush(long timeoutNs) {
    long deadlineNs = signal.deadlineNs(timeoutNs);
    boolean done =
        signal.await(() -> pendingLengths.isEmpty() || failure != null || closed, deadlineNs);
    signal.update(() -> {
      if (!pendingLengths.isEmpty() || failure != null) {
        throwFailure();
        if (!done) {
          throw stalled("not committed in time");
        }
      }
    });
  }

  /**
   * Waits until everything added is committed, then stops. Deletes nothing, ever.
   *
   * @throws BatchWeaveException {@link Kind#UNKNOWN_OUTCOME} naming the seqs when the time of the
   *     context has passed; the failure of the producer unless it was thrown before
   */
  @Override
  public void close() {
    if (signal.under(() -> closed)) {
      return;
    }
    long deadlineNs = signal.deadlineNs(context.closeTimeoutNs());
    try {
      var _ = signal.await(() -> pendingLengths.isEmpty() || failure != null || closed, deadlineNs);
    } finally {
      abandon();
    }
    signal.update(() -> {
      if (failure != null) {
        if (!failureReported) {
          throwFailure();
        }
      } else if (!pendingLengths.isEmpty()) {
        throw new BatchWeaveException(
            Kind.UNKNOWN_OUTCOME,
            "closed before the log decided: producer="
                + context.producerId()
                + " seqs="
                + committedSeq
                + "-"
                + (nextSeq - 1)
                + " lastTrouble="
                + trouble
                + "; open again and read the source state");
      }
    });
  }

  /** Stops at once, as a crash would: what is pending may or may not become a step. */
  public void abandon() {
    signal.update(() -> closed = true);
    driven.stop();
    if (context.agent() == null) {
      agent.close();
    }
  }
}
