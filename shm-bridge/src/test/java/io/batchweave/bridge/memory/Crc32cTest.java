package io.batchweave.bridge.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.SplittableRandom;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class Crc32cTest {
  private static int crc(byte[] bytes, int from, int to) {
    CRC32C crc = new CRC32C();
    crc.update(bytes, from, to - from);
    return (int) crc.getValue();
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 7, 64, 1000, 65_536, 1_000_003})
  void shouldBeThatOfThePiecesInAnyOrder(int length) {
    byte[] bytes = new byte[length];
    SplittableRandom random = new SplittableRandom(length);
    random.nextBytes(bytes);
    for (int i = 0; i < 20; i++) {
      int first = random.nextInt(length + 1);
      int second = first + random.nextInt(length - first + 1);
      int together =
          Crc32c.shift(crc(bytes, second, length), 0)
              ^ Crc32c.shift(crc(bytes, 0, first), length - first)
              ^ Crc32c.shift(crc(bytes, first, second), length - second);
      assertEquals(crc(bytes, 0, length), together, "first=" + first + " second=" + second);
    }
  }

  @Test
  void shouldKnowTheLengthOfZeros() {
    byte[] zeros = new byte[5000];
    assertEquals(crc(zeros, 0, 5000), Crc32c.shift(crc(zeros, 0, 1), 4999) ^ crc(zeros, 0, 4999));
  }
}
