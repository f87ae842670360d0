package io.batchweave.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.batchweave.Bytes;
import io.batchweave.format.Block;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class FingerprintTest {
  private record Pair(int left, int right) {}

  @Test
  void shouldTellValuesApartThatHashAlike() {
    assertEquals("Aa".hashCode(), "BB".hashCode());
    assertNotEquals(Fingerprint.of("Aa"), Fingerprint.of("BB"));
    assertEquals(new Pair(1, 0).hashCode(), new Pair(0, 31).hashCode());
    assertNotEquals(Fingerprint.of(new Pair(1, 0)), Fingerprint.of(new Pair(0, 31)));
    assertEquals(new UUID(5, 6).hashCode(), new UUID(6, 5).hashCode());
    assertNotEquals(
        Fingerprint.of(new Block.Fence("p", 1, new UUID(5, 6))),
        Fingerprint.of(new Block.Fence("p", 1, new UUID(6, 5))));
    assertNotEquals(
        Fingerprint.of(Bytes.wrap(new byte[] {1, 0})),
        Fingerprint.of(Bytes.wrap(new byte[] {0, 31})));
    assertNotEquals(Fingerprint.of(List.of(1, 2)), Fingerprint.of(List.of(2, 1)));
    assertNotEquals(Fingerprint.of(Map.of(1, 2)), Fingerprint.of(Map.of(2, 1)));
  }

  @Test
  void shouldBeEqualForEqualValues() {
    assertEquals(Fingerprint.of(new Pair(1, 2)), Fingerprint.of(new Pair(1, 2)));
    assertEquals(
        Fingerprint.of(Map.of("a", 1, "b", 2)),
        Fingerprint.of(new TreeMap<>(Map.of("b", 2, "a", 1))));
    assertEquals(Fingerprint.of(Set.of(1, 2)), Fingerprint.of(new HashSet<>(Set.of(2, 1))));
  }

  @Test
  void shouldNotRepeatAmongManySmallRecords() {
    Set<Long> seen = new HashSet<>();
    for (int left = 0; left < 1_000; left++) {
      for (int right = 0; right < 200; right++) {
        seen.add(Fingerprint.of(new Pair(left, right)));
      }
    }
    assertEquals(200_000, seen.size());
  }

  @Test
  void shouldRefuseWhatMayNotHashByValue() {
    assertThrows(IllegalArgumentException.class, () -> Fingerprint.of(new Object()));
    assertThrows(IllegalArgumentException.class, () -> Fingerprint.of((Object) new int[1]));
  }
}
