package io.batchweave.store;

/** Told how far a read into a file has come, so that the bytes can be looked at meanwhile. */
@FunctionalInterface
public interface WriteProgress {
  /** Does not listen. */
  WriteProgress UNHEARD = writtenBytes -> {};

  /**
   * The first bytes of the range lie in the file and are not written again by this attempt. Less
   * than before means that another attempt begins. A hint: a store may say little or nothing, and
   * only the future says that all went well. Called by one thread at a time, before the future
   * completes; must neither block nor throw.
   *
   * @param writtenBytes of the range, from its start
   */
  void onWritten(long writtenBytes);
}
