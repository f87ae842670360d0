package io.batchweave.simulate;

/**
 * A promise that did not hold.
 *
 * @param seed the seed that shows it
 * @param promise what was promised
 * @param process who was told or did it; "store" for the contents of the store
 * @param version the version it is about; 0 if none
 * @param detail what was found
 */
public record Violation(long seed, Promise promise, String process, long version, String detail) {
  @Override
  public String toString() {
    return promise
        + ": "
        + promise.broken()
        + ": seed="
        + seed
        + " process="
        + process
        + (version == 0 ? "" : " version=" + version)
        + " "
        + detail;
  }
}
