package io.batchweave.ingest;

import io.batchweave.Bytes;
import io.batchweave.format.Grid;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Checks one producer's batches against its input: every input byte is in the stream exactly once,
 * in order, nothing else is. Give it the slices of that producer's steps in the order of the steps.
 * The inputs must be as they were when they were ingested, from the first run on: what was appended
 * between runs made other documents, which a single reading cannot foretell. Not thread-safe.
 */
public final class IngestVerifier implements AutoCloseable {
  private static final int EXPECTED_TOKENS = 64 << 10;

  private final ByteSource source;
  private final TokenReader reader;
  private final int[] expected = new int[EXPECTED_TOKENS];
  private int expectedAt;
  private int expectedEnd;
  private long batches;
  private long tokens;
  private long padding;
  private long bytes;
  private @Nullable String problem;

  /**
   * What was found.
   *
   * @param batches batches checked
   * @param tokens tokens that are no padding
   * @param paddingTokens padding
   * @param bytes input bytes found, each exactly once and in order
   * @param problem the first deviation, in words; null if everything is as it should be
   */
  public record Verdict(
      long batches, long tokens, long paddingTokens, long bytes, @Nullable String problem) {
    /** Whether every byte is there exactly once, in order. */
    public boolean holds() {
      return problem == null;
    }
  }

  /**
   * Reads the inputs again.
   *
   * @param context inputs, text field, shard and error handling as the producer had them
   * @throws io.batchweave.BatchWeaveException CONFIG as an ingest
   */
  public IngestVerifier(IngestContext context) {
    this(context, FileSource.open(context.conclude().inputs(), context.shard()));
  }

  IngestVerifier(IngestContext context, ByteSource source) {
    this.source = source;
    this.reader =
        new TokenReader(
            source,
            IngestCursor.begin(context.settings()),
            new TokenReader.Settings(context.textField(), context.onError(), IngestListener.NONE));
  }

  /**
   * Checks the next batch of the producer.
   *
   * @param step its step, for messages
   * @param grid the stream's grid
   * @param slices its slices in grid order
   * @throws io.batchweave.BatchWeaveException CORRUPT if these are not slices of an ingest
   */
  public void accept(long step, Grid grid, List<Bytes> slices) {
    int[] batch = SliceCutter.join("step " + step, grid, slices);
    batches++;
    for (int i = 0; i < batch.length && problem == null; i++) {
      if (batch[i] == ByteTokens.PADDING) {
        padding++;
      } else {
        accept(step, i, batch[i]);
      }
    }
  }

  private void accept(long step, int index, int token) {
    if (!more()) {
      problem =
          "more than the input: step="
              + step
              + " index="
              + index
              + " token="
              + token
              + " after bytes="
              + bytes;
    } else if (expected[expectedAt] != token) {
      problem =
          "not the input's next token: step="
              + step
              + " index="
              + index
              + " token="
              + token
              + " expected="
              + expected[expectedAt]
              + " after bytes="
              + bytes
              + " near "
              + SliceCutter.origin(reader.extents());
    } else {
      expectedAt++;
      tokens++;
      bytes += token < ByteTokens.BYTES ? 1 : 0;
    }
  }

  private boolean more() {
    if (expectedAt == expectedEnd) {
      expectedAt = 0;
      expectedEnd = reader.read(expected);
    }
    return expectedAt < expectedEnd;
  }

  /** What was found, when the last batch was given. */
  public Verdict verdict() {
    if (problem == null && more()) {
      problem =
          "the input has more than the stream: after bytes="
              + bytes
              + " near "
              + SliceCutter.origin(reader.extents());
    }
    return new Verdict(batches, tokens, padding, bytes, problem);
  }

  @Override
  public void close() {
    source.close();
  }
}
