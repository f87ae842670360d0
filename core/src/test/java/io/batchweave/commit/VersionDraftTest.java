package io.batchweave.commit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.format.Block;
import io.batchweave.format.DataObject;
import io.batchweave.format.Limits;
import io.batchweave.format.ManifestCodec;
import io.batchweave.format.ManifestVersion;
import io.batchweave.format.SourceState;
import io.batchweave.format.TgbEntry;
import io.batchweave.format.VersionHeader;
import io.batchweave.log.Fold;
import io.batchweave.log.State;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class VersionDraftTest {
  private static final UUID WHO = new UUID(9, 9);

  private final State state = State.empty(new UUID(1, 2));

  private void commit(List<Block> blocks) {
    VersionHeader header = state.nextHeader(new UUID(5, state.version()), 0, 100);
    assertFalse(
        Fold.apply(state, new ManifestVersion(header, blocks, new UUID(6, state.version()), 1))
            .isVoid());
  }

  private static Block full(String producer, long firstSeq) {
    List<TgbEntry> entries = new ArrayList<>();
    for (long seq = firstSeq; seq < firstSeq + 2_000; seq++) {
      DataObject object = new DataObject(producer, 1, seq, seq, seq);
      entries.add(new TgbEntry(object, seq, 0, 128, 32, 1, List.of()));
    }
    return new Block.Produce(producer, 1, firstSeq, entries, SourceState.NONE);
  }

  private void fence(int producers) {
    List<Block> fences = new ArrayList<>();
    for (int i = 0; i < producers; i++) {
      fences.add(new Block.Fence("p" + i, 1, new UUID(7, i)));
    }
    commit(fences);
  }

  private List<Block> fullBlocks(int producers) {
    List<Block> blocks = new ArrayList<>();
    for (int i = 0; i < producers; i++) {
      blocks.add(full("p" + i, Objects.requireNonNull(state.producer("p" + i)).nextSeq()));
    }
    return blocks;
  }

  /** B7: at the level of one version after the other. */
  @Test
  void shouldLetNobodyStarveWhenMoreFullBlocksWaitThanAVersionHolds() {
    int producers = 17;
    fence(producers);
    Map<String, Integer> committed = new HashMap<>();
    int longestWait = 0;
    for (int round = 0; round < 60; round++) {
      List<Block> all = fullBlocks(producers);
      VersionDraft draft = VersionDraft.assemble(state, all.subList(0, 1), all.subList(1, 17));
      assertTrue(draft.overflowed());
      int lengthBytes = ManifestCodec.EMPTY_VERSION_BYTES;
      for (Block block : draft.blocks()) {
        lengthBytes += ManifestCodec.encodedLength(block);
        Integer before = committed.put(CommitPolicy.ownerOf(block), round);
        longestWait = Math.max(longestWait, round - (before == null ? -1 : before));
      }
      assertTrue(lengthBytes <= Limits.VERSION_BYTES, "lengthBytes=" + lengthBytes);
      commit(draft.blocks());
    }
    assertEquals(producers, committed.size());
    assertTrue(longestWait <= 3, "versions until one's turn: " + longestWait);
  }

  @Test
  void shouldTakeOneBlockOfEachBeforeTheSecondOfAny() {
    fence(3);
    List<Block> own = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      own.add(full("p0", 1 + 2_000L * i));
    }
    VersionDraft draft = VersionDraft.assemble(state, own, List.of(full("p1", 1), full("p2", 1)));
    assertTrue(draft.overflowed());
    assertTrue(
        draft.blocks().stream().map(CommitPolicy::ownerOf).distinct().count() == 3,
        "all three are served");
  }

  @Test
  void shouldLeaveOutWhatTheFoldWouldNotAccept() {
    fence(1);
    Block zombie = new Block.Produce("p0", 2, 1, List.of(), SourceState.NONE);
    VersionDraft draft =
        VersionDraft.assemble(
            state, List.of(new Block.Seal()), List.of(zombie, new Block.Fence("p0", 1, WHO)));
    assertEquals(List.of(new Block.Seal()), draft.blocks());
    assertFalse(draft.overflowed());
  }
}
