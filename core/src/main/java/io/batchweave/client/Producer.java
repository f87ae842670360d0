package io.batchweave.client;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.StreamDescriptor;
import io.batchweave.produce.Tgb;

/**
 * Adds batches to a stream, each exactly once, together with the position of the source they came
 * from. After a crash open again with the same id, read {@link #sourceState} and go on from there.
 *
 * <p>The newest incarnation of an id owns it: an older one gets {@link Kind#FENCED} and must stop.
 * Thread-safe; seqs follow the order in which {@link #add} was entered.
 */
@SuppressWarnings({"DoNotCallSuggester", "ObjectToString", "UnusedMethod"})
public final class Producer implements AutoCloseable {
  private Producer() {}

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
    throw new UnsupportedOperationException(context.producerId());
  }

  /** The stream. */
  public StreamDescriptor descriptor() {
    throw new UnsupportedOperationException();
  }

  /** The epoch this incarnation owns, or owned. */
  public int epoch() {
    throw new UnsupportedOperationException();
  }

  /**
   * The source state as it was when this incarnation took over: committed together with the last
   * batch before {@link #nextSeq} of that moment; empty if there was none.
   */
  public Bytes sourceState() {
    throw new UnsupportedOperationException();
  }

  /** The seq the next {@link #add} will give; the first ever is 1. */
  public long nextSeq() {
    throw new UnsupportedOperationException();
  }

  /** Every batch with a lower seq is in the stream for ever. */
  public long committedSeq() {
    throw new UnsupportedOperationException();
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
    throw new UnsupportedOperationException(tgb + " " + sourceState);
  }

  /**
   * Waits until everything added is committed.
   *
   * @param timeoutNs longest wait, nanoseconds
   * @throws BatchWeaveException {@link Kind#RETRYABLE} when the time has passed (the batches stay
   *     pending); {@link Kind#FENCED} and the like if the producer has failed: every pending batch
   *     is then in the stream or not, which its message says where it is known
   */
  public void flush(long timeoutNs) {
    throw new UnsupportedOperationException("timeoutNs=" + timeoutNs);
  }

  /**
   * Waits until everything added is committed, then stops. Deletes nothing, ever.
   *
   * @throws BatchWeaveException {@link Kind#UNKNOWN_OUTCOME} naming the seqs when the time of the
   *     context has passed; the failure of the producer unless it was thrown before
   */
  @Override
  public void close() {
    throw new UnsupportedOperationException();
  }

  /** Stops at once, as a crash would: what is pending may or may not become a step. */
  public void abandon() {
    throw new UnsupportedOperationException();
  }
}
