package io.batchweave.log;

/**
 * A live launch of a group.
 *
 * @param sessionId its id
 * @param view the version that registered it: which skips it passes over
 * @param startStep the first step it asks for
 * @param lastPin step of its last pin; -1 if none
 */
public record SessionState(String sessionId, long view, long startStep, long lastPin) {
  /** Lowest step that this launch may still ask for. */
  public long protectedStep() {
    return Math.max(startStep, lastPin);
  }
}
