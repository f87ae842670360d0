package io.batchweave.simulate;

/** What must hold after every seed, each a named predicate. */
public enum Promise {
  /** P1: a step that a reader was told is the log's entry for it. */
  READ_IS_THE_LOG("a reader was told another entry than the log holds for the step"),
  /** P2: the ranks of a launch pass over what its view skips, and over nothing else. */
  STEPS_OF_THE_VIEW("a rank read a step that its view skips, or passed over one that it does not"),
  /** P1: two readers get the same bytes for one step and place, those that the producer made. */
  SAME_BYTES_FOR_ALL("a reader got other bytes for a step than its producer made"),
  /** P1: the data of every step at or above the horizon is there, as long as it was recorded. */
  EVERY_STEP_READABLE("the data of a committed step is missing or differs"),
  /** P2: versions contiguous and chained, steps contiguous: the invariants of the state. */
  LOG_SOUND("the log breaks an invariant of its state"),
  /** No version is void: everybody folded the same bytes. */
  NO_VOID_VERSION("a version disagrees with the fold of those before it"),
  /** No number is ever free again; nothing goes that a step at or above the horizon needs. */
  NOTHING_REMOVED("an object of the log, or data it names, was deleted or replaced"),
  /** P5: the horizon never passes what a session or pin may still ask for. */
  RETAINED("a step that somebody registered for was given up"),
  /** P3: acknowledged implies in the log for ever, at that step, with the acknowledged object. */
  ACKNOWLEDGED_IS_IN_THE_LOG("an acknowledged batch is not in the log"),
  /** P3: one process hears of a batch once, in the order of seqs. */
  ACKNOWLEDGED_ONCE_IN_ORDER("a batch was acknowledged twice or out of order"),
  /** P3: reported failed implies never in the log. */
  FAILED_IS_NEVER_IN_THE_LOG("what was reported as failed is in the log"),
  /** P3: a seq, once offered, is bound to one data object within its epoch. */
  SEQ_BOUND_TO_ONE_OBJECT("a seq was offered with two data objects"),
  /** P3: the batch with seq n is the n-th of the source, whoever made it. */
  EACH_BATCH_ONCE_IN_ORDER("the batches of a source are not once each and in order"),
  /** P3: the source state in the log is that after the last batch in it. */
  SOURCE_STATE_MATCHES("the source state does not match the batches in the log"),
  /** An incarnation owns at most one epoch: one that lost it stays down. */
  INCARNATION_OWNS_ONCE("an incarnation took a second epoch"),
  /** FENCED is said only to whom another incarnation has replaced. */
  FENCED_ONLY_BY_ANOTHER("a producer was told FENCED although nobody took its epoch"),
  /** What an operator was told about a block is what the log says. */
  DECISION_IS_THE_FOLD("an operator was told something else than the log says"),
  /** snapshot(v) = fold(all versions <= v), byte for byte. */
  SNAPSHOT_IS_THE_FOLD("a snapshot is not the fold of the versions up to it"),
  /** A segment that a snapshot relies on holds the entries of the log. */
  SEGMENT_IS_THE_LOG("a segment below a snapshot is not what the log says"),
  /** END is said only of a sealed stream, beyond its last step. */
  END_ONLY_WHEN_SEALED("a reader was told END for a step that may come or is there"),
  /** Nobody stops for good without a reason. */
  NO_UNEXPECTED_STOP("a process stopped for good without a reason"),
  /** No machine sends more requests than its work needs. */
  REQUESTS_BOUNDED("a process sends requests without end"),
  /** Once faults cease, all work is done within bounded time. */
  PROGRESS("work is not done although faults have ceased");

  private final String broken;

  Promise(String broken) {
    this.broken = broken;
  }

  /** What it means that it does not hold. */
  public String broken() {
    return broken;
  }
}
