package io.batchweave.ingest;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Where an ingest stands, exactly: committed with every batch as the producer's source state. What
 * follows is determined by it and the files.
 *
 * @param settings what must not change between runs
 * @param files every file of which something was consumed, in the order in which they were begun
 * @param position the file being read and where in it; null between files
 * @param totals over all runs
 */
public record IngestCursor(
    Settings settings, List<Consumed> files, @Nullable Position position, IngestTotals totals) {
  /** Copies the list. */
  public IngestCursor {
    files = List.copyOf(files);
  }

  /** Where an ingest begins. */
  static IngestCursor begin(Settings settings) {
    return new IngestCursor(settings, List.of(), null, IngestTotals.NONE);
  }

  /**
   * What a later run must say again: another reading of the same files could not go on.
   *
   * @param textField the JSONL field that holds the text; empty for plain text
   * @param shard which files are ours
   */
  public record Settings(String textField, Shard shard) {}

  /**
   * The consumed part of a file.
   *
   * @param path the file
   * @param lengthBytes how much was consumed, from the start; of JSONL always whole lines
   * @param fingerprint of those bytes
   */
  public record Consumed(String path, long lengthBytes, long fingerprint) {}

  /**
   * Where in a file.
   *
   * @param fileIndex in {@code files}
   * @param recordOffset JSONL: first byte of the line that is partly in the stream, or of the next
   *     line; plain text: the next byte
   * @param recordTokens JSONL: tokens of that line already in the stream; plain text: 0
   */
  public record Position(int fileIndex, long recordOffset, long recordTokens) {}
}
