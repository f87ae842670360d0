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
  void shouldBeThatOfTheBytesPutTogether(int length) {
    byte[] bytes = new byte[length];
    SplittableRandom random = new SplittableRandom(length);
    random.nextBytes(bytes);
    for (int i = 0; i < 20; i++) {
      int cut = random.nextInt(length + 1);
      assertEquals(
          crc(bytes, 0, length),
          Crc32c.concatenate(crc(bytes, 0, cut), crc(bytes, cut, length), length - cut),
          "cut=" + cut);
    }
  }

  @Test
  void shouldKnowTheLengthOfZeros() {
    byte[] zeros = new byte[5000];
    assertEquals(
        crc(zeros, 0, 5000), Crc32c.concatenate(crc(zeros, 0, 1), crc(zeros, 0, 4999), 4999));
  }
}
