package io.batchweave.bridge.memory;

/** The checksum of bytes put together, from those of the pieces. */
public final class Crc32c {
  private static final int POLYNOMIAL = 0x82F63B78;

  /** One, as a polynomial whose first bit is its last coefficient. */
  private static final int ONE = 1 << 31;

  /** The powers x^(2^k) modulo the polynomial. */
  private static final int[] POWERS = powers();

  private Crc32c() {}

  private static int[] powers() {
    int[] powers = new int[32];
    powers[0] = ONE >>> 1;
    for (int k = 1; k < powers.length; k++) {
      powers[k] = multiply(powers[k - 1], powers[k - 1]);
    }
    return powers;
  }

  /** Product modulo the polynomial; the first factor is not 0. */
  private static int multiply(int a, int b) {
    int product = 0;
    int shifted = b;
    for (int bit = ONE; ; bit >>>= 1) {
      if ((a & bit) != 0) {
        product ^= shifted;
        if ((a & (bit - 1)) == 0) {
          return product;
        }
      }
      shifted = (shifted & 1) != 0 ? (shifted >>> 1) ^ POLYNOMIAL : shifted >>> 1;
    }
  }

  /**
   * What the checksum of some bytes adds to that of a whole: the checksums of the pieces of
   * something, each shifted by what is behind it, are the checksum of the whole by exclusive or, in
   * any order.
   *
   * @param checksum of the bytes
   * @param behindBytes how many bytes are behind them in the whole
   */
  public static int shift(int checksum, long behindBytes) {
    int power = ONE;
    int k = 3; // a byte is eight bits
    for (long left = behindBytes; left != 0; left >>>= 1, k++) {
      if ((left & 1) != 0) {
        power = multiply(POWERS[k & 31], power);
      }
    }
    return multiply(power, checksum);
  }
}
