package io.batchweave.log;

import io.batchweave.format.Block;

/**
 * What became of one block.
 *
 * @param block the block
 * @param verdict accepted, or why it was ignored
 * @param firstStep step of its first entry if it is an accepted produce block, else -1
 */
public record BlockOutcome(Block block, Verdict verdict, long firstStep) {
  /** Whether the block took effect. */
  public boolean accepted() {
    return verdict.accepted();
  }
}
