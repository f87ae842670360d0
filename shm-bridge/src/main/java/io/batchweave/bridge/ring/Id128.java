package io.batchweave.bridge.ring;

/**
 * 128 random bits: the name of a reader file, the id of a generation.
 *
 * @param high the first 64 bits
 * @param low the last 64 bits
 */
public record Id128(long high, long low) implements Comparable<Id128> {
  /** No id. */
  public static final Id128 NONE = new Id128(0, 0);

  /**
   * Reads 32 hex digits.
   *
   * @param text exactly 32 of 0-9a-f
   */
  public static Id128 parse(String text) {
    return new Id128(
        Long.parseUnsignedLong(text, 0, 16, 16), Long.parseUnsignedLong(text, 16, 32, 16));
  }

  @Override
  public int compareTo(Id128 other) {
    int byHigh = Long.compareUnsigned(high, other.high);
    return byHigh != 0 ? byHigh : Long.compareUnsigned(low, other.low);
  }

  /** 32 hex digits. */
  @Override
  public String toString() {
    return hex(high) + hex(low);
  }

  private static String hex(long value) {
    String digits = Long.toHexString(value);
    return "0".repeat(16 - digits.length()) + digits;
  }
}
