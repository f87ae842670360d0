package io.batchweave.read;

import io.batchweave.BatchWeaveException;
import io.batchweave.format.TgbEntry;

/** What is known about a step. "Not yet committed" and "sealed" are different answers. */
public sealed interface StepResult {
  /** Not committed as far as the head is known: wait. */
  record NotYet() implements StepResult {}

  /** Committed; its entry (segment or footer) is on its way: ask again after the next change. */
  record Loading() implements StepResult {}

  /**
   * Beyond the end of a sealed stream.
   *
   * @param endStep number of steps in the stream
   */
  record End(long endStep) implements StepResult {}

  /**
   * Below the horizon: deleted on purpose.
   *
   * @param horizon first step not reclaimed
   */
  record Reclaimed(long horizon) implements StepResult {}

  /**
   * Committed and described.
   *
   * @param step the step
   * @param entry its entry, with the complete slice table however large the grid
   */
  record Ready(long step, TgbEntry entry) implements StepResult {}

  /**
   * This step cannot be described (its footer is damaged); others may be fine.
   *
   * @param step the step
   * @param cause what is wrong, and where
   */
  record Failed(long step, BatchWeaveException cause) implements StepResult {}
}
