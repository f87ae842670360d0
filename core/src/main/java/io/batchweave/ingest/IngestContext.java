package io.batchweave.ingest;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import java.util.List;

/** Configures an {@link Ingest}. Setters return this; {@link #conclude} checks. */
public final class IngestContext {
  /** Limit of a global batch, tokens: 256 MiB of int32. */
  public static final long BATCH_TOKENS = 64L << 20;

  private List<String> inputs = List.of();
  private String textField = "";
  private int sequenceLength = 1024;
  private int globalBatch = 8;
  private int microBatches = 1;
  private Shard shard = Shard.ALL;
  private OnError onError = OnError.FAIL;
  private IngestListener listener = IngestListener.NONE;

  /** Creates one with the defaults: plain text, 8 sequences of 1,024 tokens, everything. */
  public IngestContext() {}

  /**
   * Checks the settings.
   *
   * @throws BatchWeaveException CONFIG naming the setting
   */
  public IngestContext conclude() {
    if (inputs.isEmpty()) {
      throw config("inputs", inputs, "name at least one file, directory or pattern");
    }
    if (sequenceLength < 1) {
      throw config("seqLen", sequenceLength, "give at least 1");
    }
    if (globalBatch < 1) {
      throw config("globalBatch", globalBatch, "give at least 1");
    }
    if (microBatches < 1) {
      throw config("microBatches", microBatches, "give at least 1");
    }
    if ((long) sequenceLength * globalBatch > BATCH_TOKENS) {
      throw config(
          "seqLen*globalBatch",
          (long) sequenceLength * globalBatch,
          "a batch has at most " + BATCH_TOKENS + " tokens");
    }
    return this;
  }

  private static BatchWeaveException config(String name, Object value, String remedy) {
    return new BatchWeaveException(
        Kind.CONFIG, "bad ingest setting: " + name + "=" + value + "; " + remedy);
  }

  /** Files, directories and patterns. */
  public List<String> inputs() {
    return inputs;
  }

  /**
   * Sets the inputs.
   *
   * @param inputs files, directories and patterns; see the package
   */
  public IngestContext inputs(List<String> inputs) {
    this.inputs = List.copyOf(inputs);
    return this;
  }

  /** The JSONL field that holds the text; empty for plain text. */
  public String textField() {
    return textField;
  }

  /**
   * Makes every input JSONL.
   *
   * @param textField the field that holds the text; empty makes every input plain text
   */
  public IngestContext textField(String textField) {
    this.textField = textField;
    return this;
  }

  /** Tokens of a sequence. */
  public int sequenceLength() {
    return sequenceLength;
  }

  /**
   * Sets the tokens of a sequence.
   *
   * @param sequenceLength at least 1, a multiple of the grid's cp
   */
  public IngestContext sequenceLength(int sequenceLength) {
    this.sequenceLength = sequenceLength;
    return this;
  }

  /** Sequences of a global batch. */
  public int globalBatch() {
    return globalBatch;
  }

  /**
   * Sets the sequences of a global batch.
   *
   * @param globalBatch at least 1, a multiple of the grid's dp
   */
  public IngestContext globalBatch(int globalBatch) {
    this.globalBatch = globalBatch;
    return this;
  }

  /** Micro-batches of a slice. */
  public int microBatches() {
    return microBatches;
  }

  /**
   * Sets the micro-batches that every slice declares.
   *
   * @param microBatches at least 1, a divisor of the sequences of a slice
   */
  public IngestContext microBatches(int microBatches) {
    this.microBatches = microBatches;
    return this;
  }

  /** Which files are ours. */
  public Shard shard() {
    return shard;
  }

  /**
   * Sets which files are ours.
   *
   * @param shard one of n
   */
  public IngestContext shard(Shard shard) {
    this.shard = shard;
    return this;
  }

  /** What to do about a bad JSONL line. */
  public OnError onError() {
    return onError;
  }

  /**
   * Sets what to do about a bad JSONL line.
   *
   * @param onError stop or leave it out
   */
  public IngestContext onError(OnError onError) {
    this.onError = onError;
    return this;
  }

  /** Who is told. */
  public IngestListener listener() {
    return listener;
  }

  /**
   * Sets who is told.
   *
   * @param listener called on the ingest's thread
   */
  public IngestContext listener(IngestListener listener) {
    this.listener = listener;
    return this;
  }

  IngestCursor.Settings settings() {
    return new IngestCursor.Settings(textField, shard);
  }
}
