package io.batchweave.ingest;

/** Told how an ingest goes on, on its thread. */
public interface IngestListener {
  /** Hears nothing. */
  IngestListener NONE = new IngestListener() {};

  /**
   * The inputs were listed and what was consumed before was checked.
   *
   * @param files files of this shard
   * @param bytes their bytes
   * @param resumed totals committed by earlier runs
   */
  default void onStart(int files, long bytes, IngestTotals resumed) {}

  /**
   * A batch was handed to the producer; it is committed later.
   *
   * @param seq the batch's seq
   * @param origin where its data came from
   * @param totals over all runs, this batch included
   */
  default void onBatch(long seq, String origin, IngestTotals totals) {}

  /**
   * A JSONL line was left out.
   *
   * @param file the file
   * @param line from 1
   * @param reason why
   */
  default void onSkipped(String file, long line, String reason) {}
}
