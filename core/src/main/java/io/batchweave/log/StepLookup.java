package io.batchweave.log;

import io.batchweave.format.TgbEntry;

/** What is known of a step. */
public sealed interface StepLookup {
  /**
   * It is there.
   *
   * @param entry where its bytes are
   */
  record Entry(TgbEntry entry) implements StepLookup {}

  /**
   * Not committed yet: wait.
   *
   * @param nextStep the first step that is not
   */
  record NotYet(long nextStep) implements StepLookup {}

  /**
   * The stream is sealed and ends before it.
   *
   * @param nextStep the number of steps
   */
  record End(long nextStep) implements StepLookup {}

  /**
   * It was deleted on purpose.
   *
   * @param horizon the first step that was not
   */
  record Reclaimed(long horizon) implements StepLookup {}

  /**
   * Its segment has to be read first; the follower was told so by this very question. Ask again
   * after its next event.
   *
   * @param index of the segment
   */
  record NeedSegment(long index) implements StepLookup {}
}
