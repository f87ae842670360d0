package io.batchweave.format;

import java.util.regex.Pattern;

/** The limits of the formats; each is part of what "accepted" and "decodable" mean. */
public final class Limits {
  /** Length of a manifest version object, bytes. */
  public static final int VERSION_BYTES = 1 << 20;

  /** Length of one block, bytes; a block is never split. */
  public static final int BLOCK_BYTES = 256 << 10;

  /** Slices of a TGB. */
  public static final int SLICES = 65_536;

  /** Slices up to which the slice table is inlined in the manifest entry. */
  public static final int INLINE_SLICES = 256;

  /** Source state inside a block, bytes. */
  public static final int INLINE_SOURCE_STATE_BYTES = 4 << 10;

  /** Source state as an object of its own, bytes. */
  public static final int SOURCE_STATE_BYTES = 64 << 20;

  /** Producers that are not retired. */
  public static final int PRODUCERS = 65_536;

  /** Groups. */
  public static final int GROUPS = 1_024;

  /** Pins of all groups. */
  public static final int PINS = 4_096;

  /** Skips above the horizon. */
  public static final int SKIPS = 4_096;

  /** Length of a name part. */
  public static final int NAME_CHARS = 64;

  /** Length of a token, bytes. */
  public static final int TOKEN_BYTES = 256;

  /** Length of an origin, bytes of UTF-8. */
  public static final int ORIGIN_BYTES = 256;

  /** Steps in a segment. */
  public static final int SEGMENT_STEPS = 256;

  /** Versions in a group (a folder) of the manifest. */
  public static final int GROUP_VERSIONS = 512;

  /** What a producer, group, session or checkpoint id looks like. */
  public static final Pattern NAME_PATTERN = Pattern.compile("[a-z0-9-]{1,64}");

  private Limits() {}
}
