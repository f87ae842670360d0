package io.batchweave.ingest;

/** The tokens of one open file, from where the cursor stands. */
interface FileTokens {
  /**
   * Writes tokens until the target is full or the file ends.
   *
   * @return how many; less than the room only where the file ends
   */
  int next(int[] target, int from, int to);

  /** How much of the file is consumed, counted from its start. */
  long consumedBytes();

  /** Fingerprint of the consumed part. */
  long fingerprint();

  /** Offset of the record that is partly written, or of the next one. */
  long recordOffset();

  /** Tokens of that record already written. */
  long recordTokens();

  /** Whether everything of the file is written, its ends of documents included. */
  boolean finished();
}
