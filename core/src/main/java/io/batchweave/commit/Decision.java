package io.batchweave.commit;

import io.batchweave.format.Block;
import io.batchweave.log.Verdict;
import org.jspecify.annotations.Nullable;

/**
 * What the fold decided about a proposed block.
 *
 * @param block the block; null if there was nothing to do, which counts as accepted
 * @param verdict accepted, or why it never will be
 * @param version the version that accepted it; the head that rules it out if refused
 * @param nextStep the next step after that version
 */
public record Decision(@Nullable Block block, Verdict verdict, long version, long nextStep) {
  /** Whether the block took effect. */
  public boolean accepted() {
    return verdict.accepted();
  }
}
