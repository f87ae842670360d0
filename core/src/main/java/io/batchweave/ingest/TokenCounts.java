package io.batchweave.ingest;

/** Running counts of one reader. */
final class TokenCounts {
  long documents;
  long bytes;
  long skippedLines;
}
