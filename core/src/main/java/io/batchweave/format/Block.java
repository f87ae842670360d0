package io.batchweave.format;

import java.util.List;
import java.util.UUID;

/**
 * One producer's (or operator's) contribution inside a manifest version. When a block is accepted
 * and what it does is decided by {@code io.batchweave.log.Fold} alone; here it is bytes and fields.
 *
 * <p>{@code base} is the version of the last change of the thing a block is about (0 if never
 * changed): it makes every late copy of the block unacceptable.
 */
public sealed interface Block {
  /** Takes a producer's next epoch for one incarnation. */
  record Fence(String producer, int epoch, UUID incarnation) implements Block {}

  /** Appends TGBs with contiguous seqs from {@code firstSeq}, and the source state after them. */
  record Produce(
      String producer, int epoch, long firstSeq, List<TgbEntry> entries, SourceState sourceState)
      implements Block {
    /** Copies the list. */
    public Produce {
      entries = List.copyOf(entries);
    }
  }

  /** Ends a producer for ever. */
  record Retire(String producer, long base) implements Block {}

  /** Registers a launch of a group. */
  record OpenSession(String group, String sessionId, long startStep, Takeover takeover, long base)
      implements Block {}

  /** Ends a launch. */
  record EndSession(String group, String sessionId, long base) implements Block {}

  /**
   * Registers a model checkpoint of a live session; the newest {@code keep} (at least 1) of the
   * group stay. {@code view} is the version that registered the session: an id alone may come back
   * with a later launch, and then a late copy of a pin could count for the wrong one.
   */
  record Pin(String group, String sessionId, long view, String id, long step, int keep)
      implements Block {}

  /** Registers a checkpoint by hand; neither evicts nor is evicted. */
  record OperatorPin(String group, String id, long step, long base) implements Block {}

  /** Removes a checkpoint. */
  record Unpin(String group, String id, long base) implements Block {}

  /** Sessions that start at this version or later pass over steps [from, to). */
  record Skip(long from, long to, long base) implements Block {}

  /** Moves the horizon: steps below {@code step} may be deleted. */
  record Reclaim(long step, long base) implements Block {}

  /** Ends the stream at the next step. */
  record Seal() implements Block {}

  /** What a new session does to a live one of its group. */
  enum Takeover {
    /** The new session is refused while another is live. */
    REFUSE,
    /** The new session ends the live one. */
    SUPERSEDE
  }
}
