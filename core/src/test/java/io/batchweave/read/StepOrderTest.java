package io.batchweave.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.Bytes;
import io.batchweave.format.Block;
import io.batchweave.format.Block.Takeover;
import io.batchweave.log.Bits;
import io.batchweave.log.Fold;
import io.batchweave.log.LogWriter;
import io.batchweave.log.SessionState;
import io.batchweave.log.SkipState;
import io.batchweave.log.State;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class StepOrderTest {
  private static final int CASES = 300;
  private static final int CHANGES = 40;
  private static final long STEPS = 60;

  private final TreeMap<String, Bytes> objects = new TreeMap<>();

  private static Block skip(State state, long from, long to) {
    return new Block.Skip(from, to, state.lastSkipVersion());
  }

  private LogWriter log(long seed) {
    LogWriter log = new LogWriter(objects, seed);
    log.commit(new Block.Fence("p", 1, new UUID(1, 1)));
    for (long seq = 1; seq <= STEPS; seq++) {
      log.commit(LogWriter.produce("p", 1, seq, 1));
    }
    return log;
  }

  private static List<Long> order(State state, long view, long fromStep) {
    List<Long> steps = new ArrayList<>();
    OptionalLong next = StepOrder.firstFrom(state, view, fromStep);
    while (next.getAsLong() < state.nextStep()) {
      steps.add(next.getAsLong());
      next = StepOrder.firstFrom(state, view, next.getAsLong() + 1);
    }
    return steps;
  }

  @Test
  void shouldPassOverWhatTheViewSkips() {
    LogWriter log = log(1);
    log.commit(skip(log.state(), 3, 5));
    long view = log.state().version();
    log.commit(skip(log.state(), 5, 7));
    State state = log.state();
    assertEquals(List.of(2L, 5L, 6L), order(state, view, 2).subList(0, 3));
    assertEquals(List.of(2L, 7L, 8L), order(state, view + 1, 2).subList(0, 3));
    assertEquals(List.of(2L, 3L, 4L), order(state, view - 1, 2).subList(0, 3));
    assertEquals(List.of(2L, 3L, 4L), order(state, 0, 2).subList(0, 3));
    assertEquals(OptionalLong.of(5), StepOrder.firstFrom(state, view, 3));
  }

  @Test
  void shouldSayNothingBeforeTheViewIsFolded() {
    State state = log(1).state();
    assertEquals(OptionalLong.empty(), StepOrder.firstFrom(state, state.version() + 1, 4));
    assertEquals(OptionalLong.of(4), StepOrder.firstFrom(state, state.version(), 4));
  }

  @Test
  void shouldPassOverStepsThatAreStillToCome() {
    LogWriter log = log(1);
    log.commit(skip(log.state(), STEPS - 1, STEPS + 3));
    assertEquals(
        OptionalLong.of(STEPS + 3),
        StepOrder.firstFrom(log.state(), log.state().version(), STEPS - 1));
  }

  /**
   * E11: skips before, in and after the version of a session, reclaims between: whoever folded all
   * versions and whoever opened from a snapshot at any later version read the same steps.
   */
  @Test
  void shouldBeTheSameFromEveryLaterState() {
    int compared = 0;
    for (int i = 0; i < CASES; i++) {
      Bits bits = new Bits(i);
      LogWriter log = log(i);
      SessionState session = null;
      List<Long> expected = List.of();
      for (int change = 0; change < CHANGES; change++) {
        State state = log.state();
        Block block = change(state, bits, session);
        if (Fold.accepts(state, block).accepted()) {
          log.commit(block);
        }
        state = log.state();
        SessionState live = state.group("g").session();
        if (live != null && !live.equals(session)) {
          boolean opened = session == null || live.view() != session.view();
          session = live;
          expected =
              opened
                  ? order(state, live.view(), live.startStep())
                  : expected.stream().filter(step -> step >= protectedBy(live)).toList();
        }
        if (session != null) {
          State opened = State.of(state.toRecord());
          assertEquals(expected, order(state, session.view(), protectedBy(session)));
          assertEquals(expected, order(opened, session.view(), protectedBy(session)));
          compared++;
          assertTrue(expected.stream().noneMatch(passedOver(state, session.view())));
        }
      }
    }
    assertTrue(compared > 10 * CASES, "compared=" + compared);
  }

  private static long protectedBy(SessionState session) {
    return Math.max(session.startStep(), session.lastPin());
  }

  /** As the table of blocks puts it, step by step. */
  private static Predicate<Long> passedOver(State state, long view) {
    List<SkipState> skips = state.skips();
    return step ->
        skips.stream().anyMatch(s -> s.version() <= view && s.from() <= step && step < s.to());
  }

  private static Block change(State state, Bits bits, @Nullable SessionState session) {
    long step = state.horizon() + bits.nextBelow(state.nextStep() - state.horizon() + 1);
    return switch ((int) bits.nextBelow(8)) {
      case 0, 1, 2 -> skip(state, step, step + 1 + bits.nextBelow(6));
      case 3 ->
          new Block.OpenSession(
              "g", "s" + bits.nextLong(), step, Takeover.SUPERSEDE, state.group("g").changed());
      case 4, 5 -> new Block.Reclaim(Math.min(step, state.protectedStep()), state.horizon());
      default ->
          session == null
              ? skip(state, step, step + 1)
              : new Block.Pin(
                  "g",
                  Objects.requireNonNull(session).sessionId(),
                  session.view(),
                  "c" + bits.nextLong(),
                  step,
                  1);
    };
  }
}
