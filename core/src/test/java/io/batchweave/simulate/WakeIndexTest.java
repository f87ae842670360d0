package io.batchweave.simulate;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.batchweave.log.Bits;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

class WakeIndexTest {
  @Test
  void shouldNameTheEarliestAndOfEqualTimesTheLowestIndex() {
    Bits bits = new Bits(1);
    WakeIndex index = new WakeIndex();
    List<Long> wakes = new ArrayList<>();
    for (int i = 0; i < 5_000; i++) {
      if (wakes.size() < 100 && bits.nextBelow(4) == 0) {
        wakes.add(Long.MAX_VALUE);
      }
      if (!wakes.isEmpty()) {
        int who = (int) bits.nextBelow(wakes.size());
        long wakeNs = bits.nextBelow(5) == 0 ? Long.MAX_VALUE : bits.nextBelow(50) - 10;
        wakes.set(who, wakeNs);
        index.set(who, wakeNs);
        long earliest = Collections.min(wakes);
        assertEquals(earliest, index.earliestNs());
        if (earliest != Long.MAX_VALUE) {
          assertEquals(wakes.indexOf(earliest), index.earliest());
        }
      }
    }
  }

  @Test
  void shouldSayNeverWhenNobodyIsDue() {
    WakeIndex index = new WakeIndex();
    assertEquals(Long.MAX_VALUE, index.earliestNs());
    index.set(3, 7);
    assertEquals(7, index.earliestNs());
    assertEquals(3, index.earliest());
    index.set(3, Long.MAX_VALUE);
    assertEquals(Long.MAX_VALUE, index.earliestNs());
  }
}
