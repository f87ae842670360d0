package io.batchweave.bridge.rank;

import io.batchweave.BatchWeaveException;
import io.batchweave.bridge.ring.Id128;
import io.batchweave.format.Grid;

/** How a rank says Hello to the daemon and is told where to read. One thread uses it. */
public interface Attacher extends AutoCloseable {
  /** No step named: the token says where to begin, else the session's start. */
  long NO_STEP = -1;

  /**
   * What is said.
   *
   * @param identity which rank this is
   * @param reader the reader file, created, locked and mapped
   * @param previous the reader file of the attachment that this one replaces, or {@link Id128#NONE}
   * @param nextStep the step after the last one taken, or {@link #NO_STEP}
   * @param viewVersion the session's view, as the daemon told it before; 0 when it has not
   */
  record Request(
      RankIdentity identity, Id128 reader, Id128 previous, long nextStep, long viewVersion) {}

  /**
   * Where to read.
   *
   * @param controlFile name of the control file in the daemon directory
   * @param dataFile name of the data file in the daemon directory
   * @param generationId id of the generation, to be found in the control file
   * @param firstN n of the rank's first step
   * @param firstStep the rank's first step
   * @param streamId the stream's UUID
   * @param viewVersion manifest version that is the session's view; 0 when none is registered
   * @param grid what the stream is cut for; the job's may be smaller
   */
  record Attached(
      String controlFile,
      String dataFile,
      Id128 generationId,
      long firstN,
      long firstStep,
      Id128 streamId,
      long viewVersion,
      Grid grid) {}

  /**
   * Says Hello until the daemon has decided.
   *
   * @param request what to say
   * @param deadlineNs when to give up, on the client's clock
   * @throws BatchWeaveException RETRYABLE when no daemon answered before the deadline or it is
   *     ending, otherwise the kind of its refusal
   */
  Attached attach(Request request, long deadlineNs);

  /**
   * A model checkpoint of the rank's session.
   *
   * @param viewVersion the session's view
   * @param id the checkpoint's name
   * @param step the next step to read when training goes on from it
   * @param keep how many checkpoints of the group stay, the newest
   */
  record Registration(long viewVersion, String id, long step, int keep) {}

  /**
   * Registers a checkpoint.
   *
   * @param identity which rank this is
   * @param registration the checkpoint
   * @param deadlineNs when to give up, on the client's clock
   * @return manifest version at which it was seen to be registered
   * @throws BatchWeaveException RETRYABLE when it was not decided before the deadline, otherwise
   *     the kind of the refusal
   */
  long register(RankIdentity identity, Registration registration, long deadlineNs);

  /**
   * Asks how the stream stands at its head.
   *
   * @param identity which rank this is
   * @param viewVersion the session's view
   * @param deadlineNs when to give up, on the client's clock
   * @throws BatchWeaveException as {@link #register}
   */
  StreamStatus status(RankIdentity identity, long viewVersion, long deadlineNs);

  /**
   * Whether a daemon that holds its lock also runs: a stopped one does not.
   *
   * @return false only when it certainly does not
   */
  boolean isResponding();

  @Override
  void close();
}
