package io.batchweave.ingest;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.CRC32C;

/**
 * One of several producers that share an input. A file belongs to the shard that a hash of its name
 * (relative to the argument that found it) says, so that files which come or go move no other.
 *
 * @param index from 0
 * @param count at least 1
 */
public record Shard(int index, int count) {
  /** Everything. */
  public static final Shard ALL = new Shard(0, 1);

  private static final Pattern TEXT = Pattern.compile("([0-9]{1,6})/([0-9]{1,6})");

  /** Checks the range. */
  public Shard {
    if (count < 1 || index < 0 || index >= count) {
      throw new BatchWeaveException(
          Kind.CONFIG, "no such shard: shard=" + index + "/" + count + "; use i/n with 0 <= i < n");
    }
  }

  /**
   * Reads {@code i/n}.
   *
   * @param text for example {@code 0/2}
   * @throws BatchWeaveException CONFIG
   */
  public static Shard parse(String text) {
    Matcher matcher = TEXT.matcher(text);
    if (!matcher.matches()) {
      throw new BatchWeaveException(
          Kind.CONFIG, "not a shard: shard=" + text + "; use i/n with 0 <= i < n");
    }
    return new Shard(Integer.parseInt(matcher.group(1)), Integer.parseInt(matcher.group(2)));
  }

  /**
   * Whether a file belongs to this shard.
   *
   * @param relativeName its name below the argument that found it, {@code /}-separated
   */
  public boolean holds(String relativeName) {
    CRC32C crc = new CRC32C();
    crc.update(relativeName.getBytes(StandardCharsets.UTF_8));
    return Integer.remainderUnsigned(mix((int) crc.getValue()), count) == index;
  }

  /**
   * Spreads what names differ in over all bits: a CRC is linear, so the low bits of numbered names
   * go together. The 32-bit finaliser of MurmurHash3 (Appleby, 2011).
   */
  private static int mix(int value) {
    int mixed = (value ^ (value >>> 16)) * 0x85EBCA6B;
    mixed = (mixed ^ (mixed >>> 13)) * 0xC2B2AE35;
    return mixed ^ (mixed >>> 16);
  }

  @Override
  public String toString() {
    return index + "/" + count;
  }
}
