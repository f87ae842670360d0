package io.batchweave.bridge.ring;

/** How a region gets its bytes. */
public enum FetchMode {
  /** Nothing is there yet. */
  FRESH,
  /** A former generation may have left the right bytes: publish them if their checksums hold. */
  VERIFY_FIRST
}
