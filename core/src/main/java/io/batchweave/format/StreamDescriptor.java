package io.batchweave.format;

import java.util.UUID;

/**
 * What the object {@code stream} says; written once, create-if-absent.
 *
 * @param streamId random; the parent of version 1
 * @param formatVersion the format the stream's writers keep to, {@link Envelope#FORMAT} today
 * @param dp data-parallel size of the grid
 * @param cp context-parallel size of the grid
 * @param capabilities bits; a reader that does not know one of the low 32 must stop (TOO_NEW), it
 *     may ignore the high 32; see {@link StreamCapabilities}
 */
public record StreamDescriptor(
    UUID streamId, int formatVersion, int dp, int cp, long capabilities) {
  /** The grid. */
  public Grid grid() {
    return new Grid(dp, cp);
  }
}
