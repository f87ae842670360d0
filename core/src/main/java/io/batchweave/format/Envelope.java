package io.batchweave.format;

/** What every object of the log begins with. */
public final class Envelope {
  /** The format this program writes. */
  public static final int FORMAT = 1;

  private Envelope() {}
}
