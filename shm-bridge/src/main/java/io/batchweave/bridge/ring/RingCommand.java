package io.batchweave.bridge.ring;

import java.util.List;

/** What a {@link RingMachine} wants done, in this order. */
public sealed interface RingCommand {
  /**
   * Create the next control file, state NEW.
   *
   * @param generation its number
   * @param session whom it serves
   * @param firstStep the step of n = 0
   * @param coordinates the slices of each region
   * @param localReaders ranks of the session on this node
   */
  record Create(
      long generation,
      SessionKey session,
      long firstStep,
      List<Coordinate> coordinates,
      int localReaders)
      implements RingCommand {
    /** Copies the list. */
    public Create {
      coordinates = List.copyOf(coordinates);
    }
  }

  /**
   * Write a descriptor: its step will lie there.
   *
   * @param n the step's number in the generation
   * @param region where
   */
  record Allocate(long n, StepRegion region) implements RingCommand {}

  /**
   * Store OPEN in the newest control file.
   *
   * @param generation its number
   */
  record Open(long generation) implements RingCommand {}

  /**
   * Get the bytes of a step and say {@code onFetchFinished} once nothing can write there any more.
   *
   * @param fetchId to be repeated
   * @param n the step's number in the generation
   * @param region where
   * @param mode whether the bytes may be there already
   */
  record Fetch(long fetchId, long n, StepRegion region, FetchMode mode) implements RingCommand {}

  /**
   * Cancel a fetch; its end is still to be reported.
   *
   * @param fetchId which
   */
  record Cancel(long fetchId) implements RingCommand {}

  /**
   * Publish a descriptor and wake the ranks.
   *
   * @param n the step's number in the generation
   * @param kind one of the KIND constants of {@link ControlDescriptor}
   * @param reason of FAILED, else 0
   * @param text of FAILED, else empty
   */
  record Publish(long n, int kind, int reason, String text) implements RingCommand {}

  /**
   * Store CLOSED, full fence, wake the ranks, then read every reader and say {@code onClosed}.
   *
   * @param generation its number
   * @param reason why
   */
  record Close(long generation, CloseReason reason) implements RingCommand {}

  /**
   * Tell a rank that it is attached.
   *
   * @param reader its reader file
   * @param generation the control file's number
   * @param firstN n of its first step
   * @param firstStep its first step
   */
  record Welcome(Id128 reader, long generation, long firstN, long firstStep)
      implements RingCommand {}

  /**
   * Tell a rank that it is not attached.
   *
   * @param reader its reader file
   * @param refusal why
   * @param steps leases in the way, for RING_HELD
   * @param bytes that are missing, for RING_HELD
   * @param text one line for people
   */
  record Refuse(Id128 reader, RingRefusal refusal, long steps, long bytes, String text)
      implements RingCommand {}

  /**
   * Forget a reader file that lost its lock: close and unlink it.
   *
   * @param reader which
   */
  record DropReader(Id128 reader) implements RingCommand {}

  /**
   * Unlink a control file that no lease needs any more.
   *
   * @param generation its number
   */
  record DropControl(long generation) implements RingCommand {}
}
