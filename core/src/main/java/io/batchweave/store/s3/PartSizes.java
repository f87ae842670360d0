package io.batchweave.store.s3;

/**
 * How large the parts are in which a range is asked for.
 *
 * <p>A range comes in four parts at most, up to the size where the client no longer reuses its
 * buffers: larger ranges have larger parts. The client makes Java objects for every part, which
 * nobody can turn off; so what a fetch leaves to the collector does not depend on its size. Small
 * ranges keep small parts, which arrive side by side: but for the first, which the client asks for
 * alone, to hear from the answer how long the object is. So what would be two parts, one after the
 * other, is one.
 *
 * <p>Public so that benchmarks ask the bare client for the same parts.
 */
public final class PartSizes {
  private static final int MOST_PARTS = 4;
  private static final long MIB = 1L << 20;

  /** The client keeps buffers in blocks of 16 parts, if a block fits into what it may take. */
  private static final int PARTS_PER_BLOCK = 16;

  /** What the client sets aside of its limit. */
  private static final long RESERVED_BYTES = 128 * MIB;

  /** Above it the client asks the system for every buffer anew, which halves its speed. */
  private static final long LARGEST_REUSED_BYTES = 64 * MIB;

  private final long smallestBytes;
  private final long memoryLimitBytes;

  /**
   * Creates one.
   *
   * @param smallestBytes size of the parts of small ranges
   * @param memoryLimitBytes what the client may take for buffers
   */
  public PartSizes(long smallestBytes, long memoryLimitBytes) {
    this.smallestBytes = smallestBytes;
    this.memoryLimitBytes = memoryLimitBytes;
  }

  /**
   * Size of the parts of a range; one of a few sizes.
   *
   * @param rangeBytes its length
   */
  public long of(long rangeBytes) {
    long part = smallestBytes;
    while (2 * part <= LARGEST_REUSED_BYTES && part * MOST_PARTS < rangeBytes) {
      part *= 2;
    }
    boolean two = part < rangeBytes && rangeBytes <= 2 * part;
    return two && 2 * part <= LARGEST_REUSED_BYTES ? 2 * part : part;
  }

  /**
   * What goes up in one request, at most: two parts. A split upload takes two requests more than it
   * has parts, and the service then puts these together.
   */
  public long wholeUploadBytes() {
    return 2 * smallestBytes;
  }

  /**
   * What a client for parts of a size may take for buffers: as it was told, and at least a block.
   *
   * @param partBytes one of the sizes
   */
  public long memoryLimitBytes(long partBytes) {
    return partBytes <= LARGEST_REUSED_BYTES
        ? Math.max(memoryLimitBytes, PARTS_PER_BLOCK * partBytes + RESERVED_BYTES)
        : memoryLimitBytes;
  }
}
