package io.batchweave.store.s3;

/**
 * How large the parts are in which a range is asked for, and how much of it is under way at once.
 *
 * <p>The client keeps every part whole, in native memory, from its first byte until it is written.
 * So of one range at most {@link #windowBytes} are asked for ahead of what is written: 64 MiB,
 * however large the range.
 *
 * <p>A range of up to 128 MiB comes in four parts at most, one of 256 MiB in eight. The client
 * makes Java objects for every part, which nobody can turn off: about 0.8 KiB each. Parts grow no
 * larger than half the window, because one that is written while none arrives loses time; so beyond
 * 256 MiB, it is the number of parts that grows, and with it what a fetch leaves to the collector,
 * 25 KiB for each GiB. Small ranges keep small parts, which arrive side by side: but for the first,
 * which the client asks for alone, to hear from the answer how long the object is. So what would be
 * two parts, one after the other, is one.
 *
 * <p>Public so that benchmarks ask the bare client for the same parts.
 */
public final class PartSizes {
  private static final int MOST_PARTS = 4;
  private static final long MIB = 1L << 20;

  /** How much of a range may be under way. */
  private static final long WINDOW_BYTES = 64 * MIB;

  /** Two of them fill the window: one is written while the other arrives. */
  private static final int PARTS_PER_WINDOW = 2;

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
    while (mayDouble(part) && part * MOST_PARTS < rangeBytes) {
      part *= 2;
    }
    boolean two = part < rangeBytes && rangeBytes <= 2 * part;
    return two && mayDouble(part) ? 2 * part : part;
  }

  private static boolean mayDouble(long partBytes) {
    return PARTS_PER_WINDOW * 2 * partBytes <= WINDOW_BYTES;
  }

  /**
   * How much of a range may be asked for ahead of what is written. Room for two parts at least: the
   * client begins a part where any of it fits, so less would not stop it, but one part would wait
   * for the other.
   *
   * @param partBytes one of the sizes
   */
  public long windowBytes(long partBytes) {
    return Math.max(WINDOW_BYTES, PARTS_PER_WINDOW * partBytes);
  }

  /**
   * How much memory a range takes at most while it is read: whole parts, as far as it is asked for.
   *
   * @param rangeBytes its length
   */
  public long underWayBytes(long rangeBytes) {
    long part = of(rangeBytes);
    return Math.min(Math.ceilDiv(rangeBytes, part) * part, windowBytes(part));
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
