package io.batchweave.log;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.Bytes;
import io.batchweave.format.Block;
import io.batchweave.format.ManifestVersion;
import io.batchweave.format.SegmentRecord;
import io.batchweave.format.SnapshotCodec;
import io.batchweave.format.TgbEntry;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Whatever order, number of copies and losses blocks arrive with: P1 (a block counts whole or not
 * at all), P2 (steps without gaps in one order) and P3 (each batch once, with its source state).
 * The oracle reads only the outcomes; it shares no code with the fold.
 */
@Timeout(120)
class FoldPropertyTest {
  private static final int CASES = 3_000;
  private static final int VERSIONS = 50;

  /** What the outcomes of a history add up to. */
  private static final class Oracle {
    final Set<Block> acceptedOnce = new HashSet<>();
    final Map<String, Long> nextSeq = new HashMap<>();
    final Map<String, Integer> epoch = new HashMap<>();
    final Map<String, Block.Produce> lastProduce = new HashMap<>();
    final Set<String> retired = new HashSet<>();
    final List<TgbEntry> steps = new ArrayList<>();
    final List<SegmentRecord> segments = new ArrayList<>();
    boolean sealed;
    int acceptedBlocks;

    void take(FoldOutcome outcome) {
      segments.addAll(outcome.completed());
      for (BlockOutcome block : outcome.blocks()) {
        if (!block.accepted()) {
          continue;
        }
        acceptedBlocks++;
        assertFalse(outcome.isVoid());
        assertTrue(acceptedOnce.add(block.block()), () -> "twice: " + block.block());
        switch (block.block()) {
          case Block.Fence b -> {
            assertFalse(retired.contains(b.producer()));
            assertEquals(epoch.getOrDefault(b.producer(), 0) + 1, b.epoch());
            epoch.put(b.producer(), b.epoch());
          }
          case Block.Produce b -> produced(b, block.firstStep());
          case Block.Retire b -> assertTrue(retired.add(b.producer()));
          case Block.Seal b -> {
            assertFalse(sealed);
            sealed = true;
          }
          default -> {}
        }
      }
    }

    private void produced(Block.Produce block, long firstStep) {
      assertFalse(sealed);
      assertFalse(retired.contains(block.producer()));
      assertEquals(epoch.get(block.producer()), block.epoch());
      assertEquals(nextSeq.getOrDefault(block.producer(), 1L), block.firstSeq());
      assertEquals(steps.size(), firstStep);
      nextSeq.put(block.producer(), block.firstSeq() + block.entries().size());
      lastProduce.put(block.producer(), block);
      steps.addAll(block.entries());
    }

    void compare(State state) {
      assertEquals(steps.size(), state.nextStep());
      assertEquals(sealed, state.sealed());
      epoch.forEach((id, e) -> compareProducer(id, e, state));
      List<TgbEntry> inOrder = new ArrayList<>();
      for (SegmentRecord segment : segments) {
        assertEquals(inOrder.size(), segment.firstStep());
        inOrder.addAll(segment.entries());
      }
      for (long step = state.unfinishedStep(); step < state.nextStep(); step++) {
        inOrder.add(state.entry(step));
      }
      assertEquals(steps, inOrder);
    }

    private void compareProducer(String id, int expectedEpoch, State state) {
      ProducerState producer = Objects.requireNonNull(state.producer(id));
      assertEquals(expectedEpoch, producer.epoch());
      assertEquals(nextSeq.getOrDefault(id, 1L), producer.nextSeq());
      assertEquals(retired.contains(id), producer.retired());
      Block.Produce last = lastProduce.get(id);
      if (last != null && !producer.retired()) {
        assertEquals(last.sourceState(), producer.sourceState());
      }
    }
  }

  @Test
  void shouldKeepThePromisesWhateverBlocksArrive() {
    int accepted = 0;
    int ignored = 0;
    Set<Verdict> seen = new HashSet<>();
    for (int seed = 0; seed < CASES; seed++) {
      BlockGenerator generator = new BlockGenerator(seed);
      State state = State.empty(LogWriter.STREAM);
      Oracle oracle = new Oracle();
      Set<Block> never = new HashSet<>();
      for (int v = 0; v < VERSIONS; v++) {
        ManifestVersion version = generator.version(state);
        long horizon = state.horizon();
        Invariants.Before before = Invariants.before(state, version);
        FoldOutcome outcome = Fold.apply(state, version);
        Invariants.after(before, state, outcome);
        Invariants.check(state, Invariants.Level.FULL);
        oracle.take(outcome);
        assertTrue(state.horizon() >= horizon);
        assertTrue(state.protectedStep() >= state.horizon());
        for (BlockOutcome block : outcome.blocks()) {
          seen.add(block.verdict());
          ignored += block.accepted() ? 0 : 1;
          assertFalse(
              block.accepted() && never.contains(block.block()), () -> "never: " + block.block());
        }
        for (Block block : v % 10 == 9 ? generator.pool() : List.<Block>of()) {
          if (Fold.outlook(state, block) == Fold.Outlook.NEVER) {
            never.add(block);
          } else {
            assertFalse(never.contains(block), () -> "was never: " + block);
          }
        }
        // What took effect can never do so again.
        outcome.blocks().stream()
            .filter(BlockOutcome::accepted)
            .forEach(
                b -> assertEquals(Fold.Outlook.NEVER, Fold.outlook(state, b.block()), b::toString));
      }
      oracle.compare(state);
      accepted += oracle.acceptedBlocks;
    }
    // The generator must reach both sides of every row, else this proves nothing.
    assertTrue(accepted > 100_000, "accepted=" + accepted);
    assertTrue(ignored > 100_000, "ignored=" + ignored);
    Set<Verdict> unseen = new HashSet<>(List.of(Verdict.values()));
    unseen.removeAll(seen);
    unseen.remove(Verdict.OVER_LIMIT); // has its own tests
    assertEquals(Set.of(), unseen);
  }

  /** Three producers' blocks over three epochs, shuffled, doubled, lost, packed at random. */
  @Test
  void shouldKeepThePromisesUnderPermutationDuplicationAndLoss() {
    int complete = 0;
    List<Block> blocks = honestBlocks();
    for (int seed = 0; seed < CASES; seed++) {
      BlockGenerator generator = new BlockGenerator(1_000_000 + seed);
      boolean lossy = seed % 2 == 0;
      State state = State.empty(LogWriter.STREAM);
      Oracle oracle = new Oracle();
      for (int round = 0; round < (lossy ? 3 : 40); round++) {
        List<Block> sent = new ArrayList<>();
        for (Block block : blocks) {
          long copies = lossy ? generator.below(3) : 1 + generator.below(2);
          for (long i = 0; i < copies; i++) {
            sent.add((int) generator.below(sent.size() + 1L), block);
          }
        }
        while (!sent.isEmpty()) {
          int count = (int) Math.min(sent.size(), 1 + generator.below(7));
          List<Block> part = List.copyOf(sent.subList(0, count));
          sent.subList(0, count).clear();
          ManifestVersion version = generator.version(state, part);
          Invariants.Before before = Invariants.before(state, version);
          FoldOutcome outcome = Fold.apply(state, version);
          Invariants.after(before, state, outcome);
          oracle.take(outcome);
        }
      }
      oracle.compare(state);
      if (oracle.steps.size() == 3 * 5) {
        complete++;
      }
    }
    // Blocks that keep being offered all get in, but for those whose epoch passed them by.
    assertTrue(complete > 0, "no history was complete");
  }

  private static List<Block> honestBlocks() {
    List<Block> blocks = new ArrayList<>();
    for (String producer : List.of("a", "b", "c")) {
      for (int epoch = 1; epoch <= 3; epoch++) {
        blocks.add(new Block.Fence(producer, epoch, new UUID(epoch, epoch)));
        for (long seq = 1; seq <= 5; seq++) {
          blocks.add(LogWriter.produce(producer, epoch, seq, 1));
        }
      }
    }
    return blocks;
  }

  /** One epoch, nothing lost for ever: everything gets in, exactly once, in the order of seqs. */
  @Test
  void shouldTakeEveryBatchWhenItIsOfferedOftenEnough() {
    List<Block> blocks = new ArrayList<>();
    blocks.add(new Block.Fence("p", 1, new UUID(1, 1)));
    for (long seq = 1; seq <= 8; seq += 2) {
      blocks.add(LogWriter.produce("p", 1, seq, 2));
    }
    for (int seed = 0; seed < CASES; seed++) {
      BlockGenerator generator = new BlockGenerator(2_000_000 + seed);
      State state = State.empty(LogWriter.STREAM);
      Oracle oracle = new Oracle();
      for (int round = 0; round < 200 && oracle.steps.size() < 8; round++) {
        List<Block> part = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
          part.add(blocks.get((int) generator.below(blocks.size())));
        }
        oracle.take(Fold.apply(state, generator.version(state, part)));
      }
      oracle.compare(state);
      assertEquals(8, oracle.steps.size(), "seed=" + seed);
    }
  }

  /** E11 and the invariant snapshot(v) = fold(all <= v), byte for byte, at every version. */
  @Test
  void shouldGiveTheSameBytesWhenTheFoldGoesOnFromASnapshot() {
    for (int seed = 0; seed < 60; seed++) {
      BlockGenerator generator = new BlockGenerator(3_000_000 + seed);
      State state = State.empty(LogWriter.STREAM);
      State other = State.empty(LogWriter.STREAM);
      for (int v = 0; v < VERSIONS; v++) {
        ManifestVersion version = generator.version(state);
        Fold.apply(state, version);
        Fold.apply(other, version);
        byte[] bytes = SnapshotCodec.encode(state.toRecord());
        assertArrayEquals(bytes, SnapshotCodec.encode(other.toRecord()));
        assertEquals(state.fingerprint(), other.fingerprint());
        other = State.of(SnapshotCodec.decode("snapshot", Bytes.wrap(bytes)));
        assertEquals(state.fingerprint(), other.fingerprint());
        assertEquals(state.pinCount, other.pinCount);
        assertEquals(state.liveProducers(), other.liveProducers());
      }
    }
  }

  @Test
  void shouldChangeTheFingerprintWithEveryVersion() {
    BlockGenerator generator = new BlockGenerator(4);
    State state = State.empty(LogWriter.STREAM);
    for (int v = 0; v < VERSIONS; v++) {
      long before = state.fingerprint();
      Fold.apply(state, generator.version(state));
      assertNotEquals(before, state.fingerprint());
    }
  }
}
