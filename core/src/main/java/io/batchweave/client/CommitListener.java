package io.batchweave.client;

/** Told of every batch that the fold has accepted, in seq order, once each. */
@FunctionalInterface
public interface CommitListener {
  /** The step is not known: the log was passed over by a snapshot. */
  long UNKNOWN_STEP = -1;

  /**
   * A batch is in the stream for ever. Called on the client's agent thread: must not block, nor
   * call a blocking method of the client.
   *
   * @param seq the batch's seq
   * @param step the step it became, or {@link #UNKNOWN_STEP}
   */
  void onCommitted(long seq, long step);
}
