package io.batchweave.format;

import java.util.ArrayList;
import java.util.List;

/**
 * The bits of {@link StreamDescriptor#capabilities}. The low 32 say what a reader must know, the
 * high 32 what was learned about the store when the stream was made; these are told to people and
 * decide nothing: a store may change behind its address.
 *
 * <pre>
 *   bit   63 … 37   36          35           34          33              32            31 … 0
 *         0         LIFECYCLE   VERSIONING   CHECKSUMS   UNSOUND_STORE   CREATE_RACE   none yet
 *         |------------- learned about the store, may be ignored ---------------|  |-required-|
 * </pre>
 */
public final class StreamCapabilities {
  /** The bits among the low 32 that this program knows. */
  static final long REQUIRED = 0;

  /** The store passed the create race when the stream was made. */
  public static final long CREATE_RACE = 1L << 32;

  /** The store failed it, and the stream was made all the same: nothing is promised on it. */
  public static final long UNSOUND_STORE = 1L << 33;

  /** The store verifies checksums that are sent with an upload. */
  public static final long CHECKSUMS = 1L << 34;

  /** The store keeps what is deleted. */
  public static final long VERSIONING = 1L << 35;

  /** Rules of the store's own delete objects. */
  public static final long LIFECYCLE = 1L << 36;

  private StreamCapabilities() {}

  /**
   * The names of the bits that are set and known.
   *
   * @param capabilities of a stream
   */
  public static List<String> names(long capabilities) {
    List<String> names = new ArrayList<>();
    add(names, capabilities, CREATE_RACE, "create-race");
    add(names, capabilities, UNSOUND_STORE, "unsound-store");
    add(names, capabilities, CHECKSUMS, "checksums");
    add(names, capabilities, VERSIONING, "versioning");
    add(names, capabilities, LIFECYCLE, "lifecycle-rules");
    return names;
  }

  private static void add(List<String> names, long capabilities, long bit, String name) {
    if ((capabilities & bit) != 0) {
      names.add(name);
    }
  }
}
