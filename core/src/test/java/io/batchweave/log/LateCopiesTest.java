package io.batchweave.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.format.Block;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Copies of blocks that come late, and which checkpoints stay: histories that nobody ordered. */
@Timeout(300)
class LateCopiesTest {
  private static final int CASES = 400;
  private static final int VERSIONS = 60;

  /** Which checkpoint is older, for the eviction. */
  private static final Comparator<Kept> BY_VIEW_AND_STEP =
      Comparator.comparingLong(Kept::view).thenComparingLong(Kept::step).thenComparing(Kept::id);

  /** The mistake: after a rollback the checkpoints of the abandoned branch are the newest. */
  private static final Comparator<Kept> BY_STEP =
      Comparator.comparingLong(Kept::step).thenComparing(Kept::id);

  private record Kept(String id, long view, long step) {}

  /** Which checkpoints stay, by the table of blocks; shares no code with the fold. */
  private static final class Checkpoints {
    final Map<String, List<Kept>> groups = new HashMap<>();
    private final Comparator<Kept> age;

    Checkpoints(Comparator<Kept> age) {
      this.age = age;
    }

    void take(Block block) {
      switch (block) {
        case Block.Pin pin -> {
          List<Kept> kept = groups.computeIfAbsent(pin.group(), g -> new ArrayList<>());
          kept.add(new Kept(pin.id(), pin.view(), pin.step()));
          List<Kept> evictable =
              kept.stream()
                  .filter(one -> one.view() != PinState.OPERATOR)
                  .sorted(age.reversed())
                  .toList();
          evictable.stream().skip(pin.keep()).forEach(kept::remove);
        }
        case Block.OperatorPin pin ->
            groups
                .computeIfAbsent(pin.group(), g -> new ArrayList<>())
                .add(new Kept(pin.id(), PinState.OPERATOR, pin.step()));
        case Block.Unpin unpin ->
            groups
                .getOrDefault(unpin.group(), new ArrayList<>())
                .removeIf(one -> one.id().equals(unpin.id()));
        default -> {}
      }
    }

    boolean agrees(State state) {
      for (String group : state.groups()) {
        List<Kept> folded = new ArrayList<>();
        state.group(group).pins().forEach(p -> folded.add(new Kept(p.id(), p.view(), p.step())));
        List<Kept> expected = new ArrayList<>(groups.getOrDefault(group, List.of()));
        folded.sort(BY_VIEW_AND_STEP);
        expected.sort(BY_VIEW_AND_STEP);
        if (!folded.equals(expected)) {
          return false;
        }
      }
      return true;
    }
  }

  private static List<Block> accepted(FoldOutcome outcome) {
    return outcome.blocks().stream()
        .filter(BlockOutcome::accepted)
        .map(BlockOutcome::block)
        .toList();
  }

  /**
   * D15, D17: at every later version a copy of every block that took effect is refused, whatever
   * its kind and age, and the fold says that it always will be.
   */
  @Test
  void shouldRefuseEveryLateCopyAtEveryAge() {
    Set<Class<?>> kinds = new HashSet<>();
    long copies = 0;
    for (int i = 0; i < CASES; i++) {
      BlockGenerator generator = new BlockGenerator(i);
      State state = State.empty(new UUID(1, i));
      Set<Block> effective = new LinkedHashSet<>();
      for (int v = 0; v < VERSIONS; v++) {
        effective.addAll(accepted(Fold.apply(state, generator.version(state))));
        for (Block block : effective) {
          assertFalse(Fold.accepts(state, block).accepted(), () -> "again: " + block);
          assertEquals(Fold.Outlook.NEVER, Fold.outlook(state, block), block::toString);
          kinds.add(block.getClass());
          copies++;
        }
      }
      assertIdle(generator, state, List.copyOf(effective));
    }
    assertEquals(Block.class.getPermittedSubclasses().length, kinds.size(), kinds::toString);
    assertTrue(copies > 100L * CASES, "copies=" + copies);
  }

  /** All of them once more, in two versions: nothing moves but the counters. */
  private static void assertIdle(BlockGenerator generator, State state, List<Block> all) {
    State before = state.copy();
    for (int again = 0; again < 2; again++) {
      assertEquals(List.of(), accepted(Fold.apply(state, generator.version(state, all))));
    }
    assertEquals(before.nextStep(), state.nextStep());
    assertEquals(before.horizon(), state.horizon());
    assertEquals(before.skips(), state.skips());
    assertEquals(before.groups(), state.groups());
    before.groups().forEach(group -> assertEquals(before.group(group), state.group(group)));
    before.forEachProducer((id, producer) -> assertEquals(producer, state.producer(id)));
  }

  /**
   * D15: beyond the head, after a rollback, late: what the newest {@code keep} checkpoints need
   * stays; "newest" by step alone is told apart.
   */
  @Test
  void shouldKeepTheNewestCheckpointsByLaunchAndStep() {
    int byStepDiffers = 0;
    for (int i = 0; i < CASES; i++) {
      BlockGenerator generator = new BlockGenerator(i);
      State state = State.empty(new UUID(2, i));
      Checkpoints right = new Checkpoints(BY_VIEW_AND_STEP);
      Checkpoints wrong = new Checkpoints(BY_STEP);
      boolean differs = false;
      for (int v = 0; v < VERSIONS; v++) {
        for (Block block : accepted(Fold.apply(state, generator.version(state)))) {
          right.take(block);
          wrong.take(block);
        }
        assertTrue(right.agrees(state), () -> state + " " + right.groups);
        differs |= !wrong.agrees(state);
        for (List<Kept> kept : right.groups.values()) {
          for (Kept one : kept) {
            assertTrue(state.horizon() <= one.step() && one.step() <= state.nextStep());
          }
        }
      }
      byStepDiffers += differs ? 1 : 0;
    }
    assertTrue(byStepDiffers > 0, "the planted mistake was not found");
  }
}
