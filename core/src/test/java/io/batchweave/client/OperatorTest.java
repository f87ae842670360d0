package io.batchweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.commit.Decision;
import io.batchweave.format.Block;
import io.batchweave.format.Block.Takeover;
import io.batchweave.log.ProducerState;
import io.batchweave.log.State;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.file.FileObjectStore;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** What an operator registers: idempotent, and refused with what the stream says. */
@Timeout(120)
class OperatorTest {
  private static final int STEPS = 10;
  private static final long HORIZON = 4;

  @TempDir Path root;
  private ObjectStore store;
  private Operator operator;

  @BeforeEach
  void openStream() {
    store = FileObjectStore.open(root);
    Streams.create(store, TestBatches.GRID);
    ProducerContext context = new ProducerContext().store(store).producerId("p");
    try (Producer producer = Producer.open(context)) {
      for (int n = 1; n <= STEPS; n++) {
        producer.add(TestBatches.tgb("p", n), TestBatches.stateAfter(n));
      }
    }
    operator = Operator.open(new OperatorContext().store(store));
  }

  @AfterEach
  void close() {
    operator.close();
    store.close();
  }

  private void reclaim() {
    operator.operatorPin("other", "base", HORIZON);
    Decision decision = operator.propose(state -> new Block.Reclaim(HORIZON, state.horizon()));
    assertTrue(decision.accepted(), decision::toString);
  }

  private static String refusal(Kind kind, Executable action) {
    BatchWeaveException thrown = assertThrows(BatchWeaveException.class, action);
    assertEquals(kind, thrown.kind(), thrown::getMessage);
    return String.valueOf(thrown.getMessage());
  }

  @Test
  void shouldRegisterACheckpointOnceWhenItIsAddedTwice() {
    Change first = operator.operatorPin("g", "a", 3);
    assertTrue(first.made());
    Change second = operator.operatorPin("g", "a", 3);
    assertFalse(second.made());
    State state = operator.state();
    assertEquals(1, state.group("g").pins().size());
    assertEquals(3, state.protectedStep());
    assertEquals(first.version(), state.group("g").changed());
  }

  @Test
  void shouldRefuseACheckpointWithTheHorizonWhenItIsBelow() {
    reclaim();
    String said = refusal(Kind.RECLAIMED, () -> operator.operatorPin("g", "a", HORIZON - 1));
    assertTrue(said.contains("horizon=" + HORIZON), said);
    assertTrue(operator.operatorPin("g", "a", HORIZON).made());
  }

  @Test
  void shouldRefuseWhatCannotBeWithWhatTheStreamSays() {
    String beyond = refusal(Kind.CONFIG, () -> operator.operatorPin("g", "a", STEPS + 1));
    assertTrue(beyond.contains("nextStep=" + STEPS), beyond);
    operator.operatorPin("g", "a", 3);
    assertTrue(refusal(Kind.CONFIG, () -> operator.operatorPin("g", "a", 5)).contains("step=3"));
    assertTrue(refusal(Kind.CONFIG, () -> operator.operatorPin("G", "a", 5)).contains("group=G"));
    assertTrue(refusal(Kind.CONFIG, () -> operator.skip(5, 5)).contains("from=5"));
    assertTrue(
        refusal(Kind.CONFIG, () -> operator.skip(5, STEPS + 1)).contains("nextStep=" + STEPS));
    assertTrue(refusal(Kind.CONFIG, () -> operator.retire("q")).contains("known=[p]"));
  }

  @Test
  void shouldRemoveACheckpointOnce() {
    operator.operatorPin("g", "a", 3);
    assertTrue(operator.unpin("g", "a").made());
    assertFalse(operator.unpin("g", "a").made());
    assertFalse(operator.unpin("never", "a").made());
    assertEquals(Long.MAX_VALUE, operator.state().protectedStep());
  }

  @Test
  void shouldEndOnlyTheLaunchThatIsNamed() {
    operator.openSession("g", "run-1", 0, Takeover.REFUSE);
    assertFalse(operator.endSession("g", "run-2").made());
    assertNotNull(operator.state().group("g").session());
    assertTrue(operator.endSession("g", "run-1").made());
    assertFalse(operator.endSession("g", "run-1").made());
    assertNull(operator.state().group("g").session());
  }

  @Test
  void shouldSkipOnceAndOnlyForLaterLaunches() {
    long before = operator.openSession("g", "run-1", 0, Takeover.REFUSE);
    Change skip = operator.skip(5, 7);
    assertTrue(skip.made());
    assertEquals(new Change(false, skip.version()), operator.skip(5, 7));
    assertEquals(new Change(false, skip.version()), operator.skip(6, 7));
    long after = operator.openSession("g", "run-2", 0, Takeover.SUPERSEDE);
    State state = operator.state();
    assertFalse(state.skipped(5, before));
    assertTrue(state.skipped(5, after));
    assertEquals(1, state.skips().size());
  }

  @Test
  void shouldRefuseASkipWithTheHorizonWhenItIsBelow() {
    reclaim();
    String said = refusal(Kind.RECLAIMED, () -> operator.skip(HORIZON - 1, HORIZON + 1));
    assertTrue(said.contains("horizon=" + HORIZON), said);
  }

  @Test
  void shouldRetireAProducerForEver() {
    assertTrue(operator.retire("p").made());
    assertFalse(operator.retire("p").made());
    ProducerState producer = operator.state().producer("p");
    assertTrue(producer != null && producer.retired());
  }

  @Test
  void shouldRegisterAllWhenOperatorsOfOneGroupOvertakeEachOther()
      throws InterruptedException, ExecutionException {
    int operators = 4;
    try (ExecutorService threads = Executors.newFixedThreadPool(operators)) {
      List<Future<Change>> changes = new ArrayList<>();
      for (int i = 0; i < operators; i++) {
        String id = "c" + i;
        changes.add(
            threads.submit(() -> {
              try (Operator own = Operator.open(new OperatorContext().store(store))) {
                return own.operatorPin("g", id, 2);
              }
            }));
      }
      for (Future<Change> change : changes) {
        assertTrue(change.get().made());
      }
    }
    assertEquals(operators, operator.state().group("g").pins().size());
  }
}
