package io.batchweave.ingest;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.client.Producer;
import io.batchweave.format.Grid;
import java.util.Arrays;

/**
 * Files to batches of a stream: reads on from where the producer's source state stands, cuts
 * batches, adds each with the cursor after it. Killed at any moment and run again, it goes on with
 * the batch after the last one committed, and the stream is byte for byte what an undisturbed run
 * would have made.
 */
public final class Ingest {
  private Ingest() {}

  /**
   * What there is to read.
   *
   * @param files number of files of the shard
   * @param bytes their bytes
   */
  public record Survey(int files, long bytes) {}

  /**
   * Looks at the inputs without reading them.
   *
   * @param context settings; concluded here
   * @throws BatchWeaveException CONFIG if an input is missing, unreadable or empty
   */
  public static Survey survey(IngestContext context) {
    context.conclude();
    try (FileSource source = FileSource.open(context.inputs(), context.shard())) {
      return new Survey(
          source.files().size(),
          source.files().stream().mapToLong(ByteSource.SourceFile::sizeBytes).sum());
    }
  }

  /**
   * Looks at the inputs and at whether the batches fit a stream, before a producer is opened: that
   * takes over from a running one, which no mistake of the command line should do.
   *
   * @param context settings; concluded here
   * @param grid the stream's
   * @throws BatchWeaveException CONFIG if an input is missing, unreadable or empty, or the batch
   *     does not fit the grid
   */
  public static Survey survey(IngestContext context, Grid grid) {
    Survey survey = survey(context);
    var _ =
        new SliceCutter(
            grid, context.globalBatch(), context.sequenceLength(), context.microBatches());
    return survey;
  }

  /**
   * Adds everything there is to the producer, the last batch padded. Batches are committed when the
   * producer's {@code flush} or {@code close} returns; neither is called here.
   *
   * @param context settings; concluded here
   * @param producer takes the batches
   * @return totals over all runs
   * @throws BatchWeaveException CONFIG if an input is missing, unreadable, empty or was changed
   *     after it was consumed, a line is bad, or the batch does not fit the grid; or as the
   *     producer fails
   */
  public static IngestTotals run(IngestContext context, Producer producer) {
    context.conclude();
    try (FileSource source = FileSource.open(context.inputs(), context.shard())) {
      return run(context, BatchSink.of(producer), source);
    }
  }

  static IngestTotals run(IngestContext context, BatchSink sink, ByteSource source) {
    context.conclude();
    SliceCutter cutter =
        new SliceCutter(
            sink.grid(), context.globalBatch(), context.sequenceLength(), context.microBatches());
    IngestCursor cursor = cursor(context, sink.sourceState());
    TokenReader reader =
        new TokenReader(
            source,
            cursor,
            new TokenReader.Settings(context.textField(), context.onError(), context.listener()));
    context
        .listener()
        .onStart(
            source.files().size(),
            source.files().stream().mapToLong(ByteSource.SourceFile::sizeBytes).sum(),
            cursor.totals());
    int[] tokens = new int[context.globalBatch() * context.sequenceLength()];
    IngestTotals totals = cursor.totals();
    int count = reader.read(tokens);
    while (count > 0) {
      Arrays.fill(tokens, count, tokens.length, ByteTokens.PADDING);
      totals =
          new IngestTotals(
              totals.batches() + 1,
              reader.files(),
              reader.documents(),
              totals.samples() + cutter.samples(count),
              totals.tokens() + count,
              totals.paddingTokens() + tokens.length - count,
              reader.bytes(),
              reader.skippedLines());
      String origin = SliceCutter.origin(reader.extents());
      Bytes state = IngestCursorCodec.encode(reader.cursor(totals));
      long seq = sink.add(cutter.cut(tokens, count, origin), state);
      context.listener().onBatch(seq, origin, totals);
      count = count == tokens.length ? reader.read(tokens) : 0;
    }
    return new IngestTotals(
        totals.batches(),
        totals.files(),
        totals.documents(),
        totals.samples(),
        totals.tokens(),
        totals.paddingTokens(),
        totals.bytes(),
        reader.skippedLines());
  }

  private static IngestCursor cursor(IngestContext context, Bytes state) {
    if (state.length() == 0) {
      return IngestCursor.begin(context.settings());
    }
    IngestCursor cursor = IngestCursorCodec.decode(state);
    if (!cursor.settings().equals(context.settings())) {
      throw new BatchWeaveException(
          Kind.CONFIG,
          "this producer ingested with other settings: textField='"
              + cursor.settings().textField()
              + "' shard="
              + cursor.settings().shard()
              + " now textField='"
              + context.textField()
              + "' shard="
              + context.shard()
              + "; use those again, or another producer id");
    }
    return cursor;
  }
}
