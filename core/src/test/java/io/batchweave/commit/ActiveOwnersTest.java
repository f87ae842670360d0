package io.batchweave.commit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.format.Block;
import io.batchweave.format.VersionHeader;
import io.batchweave.log.Bits;
import io.batchweave.log.BlockOutcome;
import io.batchweave.log.FoldOutcome;
import io.batchweave.log.Verdict;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class ActiveOwnersTest {
  private static final UUID ID = new UUID(1, 2);

  private static FoldOutcome version(long version, List<BlockOutcome> blocks) {
    VersionHeader header = new VersionHeader(ID, version, ID, ID, 0, 0, ID, 0, 100);
    return new FoldOutcome(version, header, null, blocks, 0, 0, List.of());
  }

  private static BlockOutcome fence(String producer, Verdict verdict) {
    return new BlockOutcome(new Block.Fence(producer, 1, ID), verdict, -1);
  }

  @Test
  void shouldCountWhoHasABlockInTheNewestVersions() {
    Bits bits = new Bits(3);
    ActiveOwners owners = new ActiveOwners("p.self");
    Map<String, Long> last = new HashMap<>();
    long mostOthers = 0;
    for (long version = 1; version < 2_000; version++) {
      List<BlockOutcome> blocks = new ArrayList<>();
      boolean foreign = false;
      // Crowds and quiet times, so that owners come, go and come back.
      long crowd = (version / 200) % 2 == 0 ? 500 : 3;
      for (long i = bits.nextBelow(9); i > 0; i--) {
        String name = "p" + bits.nextBelow(crowd);
        boolean accepted = bits.nextBelow(5) > 0;
        blocks.add(fence(name, accepted ? Verdict.ACCEPTED : Verdict.RETIRED));
        if (accepted) {
          last.put(name, version);
          foreign = true;
        }
      }
      blocks.add(fence("self", Verdict.ACCEPTED));
      assertEquals(foreign, owners.onFolded(version(version, blocks)));
      long newest = version;
      long others = last.values().stream().filter(v -> v > newest - 64).count();
      assertEquals(others, owners.others(), "at version " + version);
      assertEquals(others, new ActiveOwners(owners).others());
      mostOthers = Math.max(mostOthers, others);
    }
    assertTrue(mostOthers > 150, "others=" + mostOthers);
  }

  @Test
  void shouldCallNobodyLoneBeforeItHasWrittenAFewVersions() {
    ActiveOwners owners = new ActiveOwners("p.self");
    for (int i = 0; i < 3; i++) {
      assertEquals(false, owners.lone());
      owners.onCommitted();
    }
    assertTrue(owners.lone());
    owners.onFolded(version(1, List.of(fence("other", Verdict.ACCEPTED))));
    assertEquals(false, owners.lone());
    owners.onFolded(version(65, List.of()));
    assertTrue(owners.lone());
  }
}
