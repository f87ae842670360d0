package io.batchweave.store;

/** What a conditional create found. */
public enum PutOutcome {
  /** This very request created the object. */
  CREATED,
  /** The key existed before this request; its bytes are unchanged. */
  EXISTS
}
