package io.batchweave.ingest;

/** What to do about a JSONL line that gives no document. */
public enum OnError {
  /** Stop with an error that names file and line. */
  FAIL,
  /** Leave the line out, count it and tell the listener. */
  SKIP
}
