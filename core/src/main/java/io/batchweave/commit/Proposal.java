package io.batchweave.commit;

import io.batchweave.format.Block;
import io.batchweave.log.State;
import org.jspecify.annotations.Nullable;

/** Makes the one block that an operator wants in the log. */
@FunctionalInterface
public interface Proposal {
  /**
   * Makes the block, once, from the state at the head.
   *
   * @param state the state; not to be kept
   * @return null if there is nothing to do
   * @throws io.batchweave.BatchWeaveException if what is wanted cannot be
   */
  @Nullable Block block(State state);
}
