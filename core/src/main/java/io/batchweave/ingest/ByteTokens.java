package io.batchweave.ingest;

/** The byte-level vocabulary; {@code package-info} says what the tokens mean. */
public final class ByteTokens {
  /** Tokens 0 to 255 are the input bytes themselves. */
  public static final int BYTES = 256;

  /** Ends a document. */
  public static final int END_OF_DOCUMENT = 256;

  /** Fills up the last batch of a run. */
  public static final int PADDING = 257;

  /** Number of tokens. */
  public static final int VOCABULARY = 258;

  /** Name of the tensor in a slice. */
  public static final String TENSOR = "tokens";

  private ByteTokens() {}
}
