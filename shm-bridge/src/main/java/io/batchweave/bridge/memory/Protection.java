package io.batchweave.bridge.memory;

/** What a mapping allows. */
public enum Protection {
  /** Loads only: the segment is read-only and so are the pages. */
  READ,
  /** Loads and stores. */
  READ_WRITE
}
