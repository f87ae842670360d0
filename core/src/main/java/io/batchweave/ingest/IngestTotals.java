package io.batchweave.ingest;

/**
 * What an ingest did; the cursor carries its sum over all runs.
 *
 * @param batches TGBs
 * @param files files of which something was read
 * @param documents documents that were finished
 * @param samples sequences with at least one token that is no padding
 * @param tokens tokens that are no padding: bytes and ends of documents
 * @param paddingTokens padding
 * @param bytes input bytes that became tokens
 * @param skippedLines JSONL lines left out
 */
public record IngestTotals(
    long batches,
    long files,
    long documents,
    long samples,
    long tokens,
    long paddingTokens,
    long bytes,
    long skippedLines) {
  /** Nothing yet. */
  public static final IngestTotals NONE = new IngestTotals(0, 0, 0, 0, 0, 0, 0, 0);

  /**
   * What came since then.
   *
   * @param before earlier totals of the same ingest
   */
  public IngestTotals minus(IngestTotals before) {
    return new IngestTotals(
        batches - before.batches,
        files - before.files,
        documents - before.documents,
        samples - before.samples,
        tokens - before.tokens,
        paddingTokens - before.paddingTokens,
        bytes - before.bytes,
        skippedLines - before.skippedLines);
  }
}
