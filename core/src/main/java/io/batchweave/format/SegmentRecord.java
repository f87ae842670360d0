package io.batchweave.format;

import java.util.List;
import java.util.UUID;

/**
 * The immutable index of {@link Limits#SEGMENT_STEPS} steps. Its bytes are determined by the log.
 *
 * @param streamId the stream's id
 * @param index k: it holds the steps [k*256, (k+1)*256)
 * @param entries exactly 256, in the order of steps
 */
public record SegmentRecord(UUID streamId, long index, List<TgbEntry> entries) {
  /** Copies the list. */
  public SegmentRecord {
    entries = List.copyOf(entries);
  }

  /** The first step in it. */
  public long firstStep() {
    return index * Limits.SEGMENT_STEPS;
  }
}
