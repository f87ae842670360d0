package io.batchweave.log;

import io.batchweave.format.SegmentRecord;
import io.batchweave.format.VersionHeader;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What one version did to the state.
 *
 * @param version its number
 * @param header what it says about itself; not to be believed where the version is void
 * @param voidReason the header field that disagrees with the fold, or null if the version is sound
 * @param blocks one outcome per block, in order
 * @param firstStep the next step before it
 * @param nextStep the next step after it
 * @param completed segments that became full with it, by index
 */
public record FoldOutcome(
    long version,
    VersionHeader header,
    @Nullable String voidReason,
    List<BlockOutcome> blocks,
    long firstStep,
    long nextStep,
    List<SegmentRecord> completed) {
  /** Copies the lists. */
  public FoldOutcome {
    blocks = List.copyOf(blocks);
    completed = List.copyOf(completed);
  }

  /** Whether the version counts and chains, but none of its blocks. */
  public boolean isVoid() {
    return voidReason != null;
  }
}
