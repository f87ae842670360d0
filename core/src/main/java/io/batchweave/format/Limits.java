package io.batchweave.format;

import java.util.regex.Pattern;

/** The limits of the formats; each is part of what "accepted" and "decodable" mean. */
public final class Limits {
  /** Length of a manifest version object, bytes. */
  public static final int VERSION_BYTES = 1 << 20;

  /** Length of one block, bytes; a block is never split. */
  public static final int BLOCK_BYTES = 256 << 10;

  /** Length of a snapshot object, bytes. */
  public static final int SNAPSHOT_BYTES = 512 << 20;

  /** Length of a segment object, bytes. */
  public static final int SEGMENT_BYTES = 4 << 20;

  /** Length of an announcement object, bytes: a block in its envelope. */
  public static final int ANNOUNCEMENT_BYTES = BLOCK_BYTES + 256;

  /** Length of the stream object, bytes. */
  public static final int STREAM_BYTES = 4 << 10;

  /** Length of a TGB's footer, bytes. */
  public static final int FOOTER_BYTES = 2 << 20;

  /** Length of one slice, bytes: lengths are 32-bit on the wire. */
  public static final long SLICE_BYTES = 0xFFFF_FFC0L;

  /** Samples or tokens of one slice: counts are 32-bit on the wire. */
  public static final long SLICE_COUNT = 0xFFFF_FFFEL;

  /** Entries of one produce block. */
  public static final int BLOCK_ENTRIES = 4_096;

  /** Blocks of one version. */
  public static final int VERSION_BLOCKS = 16_384;

  /** Counters of ignored blocks and the like. */
  public static final int COUNTERS = 64;

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

  /** Head versions whose announcements share a group (a folder). */
  public static final int ANNOUNCE_VERSIONS = 64;

  /** What a producer, group, session or checkpoint id looks like. */
  public static final Pattern NAME_PATTERN = Pattern.compile("[a-z0-9-]{1,64}");

  private Limits() {}
}
