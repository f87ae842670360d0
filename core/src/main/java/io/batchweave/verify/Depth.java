package io.batchweave.verify;

/** How closely data objects are looked at. */
public enum Depth {
  /** That they are there, with the recorded length. */
  LENGTHS,
  /** Every byte. */
  BYTES
}
