package io.batchweave.bridge.daemon;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.bridge.handshake.Hello;
import io.batchweave.bridge.rank.RankClient;
import io.batchweave.bridge.rank.StepLease;
import io.batchweave.bridge.rank.StreamStatus;
import io.batchweave.client.Operator;
import io.batchweave.client.OperatorContext;
import io.batchweave.format.Block;
import io.batchweave.format.Block.Takeover;
import io.batchweave.format.Grid;
import io.batchweave.log.PinState;
import io.batchweave.read.Token;
import io.batchweave.store.FaultStore;
import io.batchweave.store.FaultStore.Fault;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.StoreOperation;
import io.batchweave.store.Stores;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Checkpoints that ranks register, and what they are told of their stream. */
@Timeout(180)
class CheckpointTest extends DaemonFixture {
  private static final long SHORT_NS = TimeUnit.MILLISECONDS.toNanos(500);

  private TestStream stream;
  private ObjectStore store;
  private Operator operator;

  @BeforeEach
  void createStream() {
    stream = new TestStream(url(), new Grid(1, 1), SLICE_BYTES).add(30);
    store = Stores.open(url(), Map.of());
    operator = Operator.open(new OperatorContext().store(store));
  }

  @AfterEach
  void closeStream() {
    operator.close();
    store.close();
    stream.close();
  }

  private static void read(RankClient rank, int steps) {
    for (int i = 0; i < steps; i++) {
      StepLease lease = Objects.requireNonNull(rank.next(SOON_NS));
      lease.release();
    }
  }

  private List<PinState> pins() {
    return operator.state().group("train").pins();
  }

  private static Kind kindOf(Runnable call) {
    return assertThrows(BatchWeaveException.class, call::run).kind();
  }

  @Test
  void shouldPinThePositionOfTheRankAndKeepTheNewest() {
    try (Daemon daemon = Daemon.launch(context());
        RankClient rank = client(alone(), Hello.NO_STEP)) {
      long view = rank.token().viewVersion();
      for (int i = 1; i <= 4; i++) {
        read(rank, 3);
        rank.checkpointed("step-" + i, rank.token(), 2, SOON_NS);
      }
      assertEquals(
          List.of(new PinState("step-3", view, 9), new PinState("step-4", view, 12)), pins());
      // The same again, from this rank or another: nothing changes.
      try (RankClient other = client(alone(), Hello.NO_STEP)) {
        other.checkpointed("step-4", rank.token(), 2, SOON_NS);
      }
      rank.checkpointed("step-4", rank.token(), 2, SOON_NS);
      assertEquals(2, pins().size());
      assertEquals(9, operator.state().protectedStep());
      assertNotNull(daemon);
    }
  }

  @Test
  void shouldRefuseACheckpointThatCannotBeKept() {
    try (Daemon daemon = Daemon.launch(context());
        RankClient rank = client(alone(), Hello.NO_STEP)) {
      read(rank, 20);
      Token early = at(rank, 10);
      rank.checkpointed("a", rank.token(), 1, SOON_NS);
      assertEquals(Kind.CONFIG, kindOf(() -> rank.checkpointed("b", early, 1, SOON_NS)));
      assertEquals(Kind.CONFIG, kindOf(() -> rank.checkpointed("b", at(rank, 31), 1, SOON_NS)));
      assertTrue(operator.propose(state -> new Block.Reclaim(15, 0)).accepted());
      BatchWeaveException reclaimed =
          assertThrows(BatchWeaveException.class, () -> rank.checkpointed("b", early, 1, SOON_NS));
      assertEquals(Kind.RECLAIMED, reclaimed.kind());
      assertTrue(reclaimed.getMessage().contains("horizon=15"), reclaimed.getMessage());
      Token foreign = new Token(new UUID(1, 2), 1, 20);
      assertEquals(Kind.CONFIG, kindOf(() -> rank.checkpointed("b", foreign, 1, SOON_NS)));
      assertEquals(List.of(new PinState("a", rank.token().viewVersion(), 20)), pins());
      operator.openSession("train", "run-1", 20, Takeover.SUPERSEDE);
      assertEquals(Kind.FENCED, kindOf(() -> rank.checkpointed("b", at(rank, 21), 1, SOON_NS)));
      assertNotNull(daemon);
    }
  }

  private static Token at(RankClient rank, long step) {
    return new Token(rank.token().streamId(), rank.token().viewVersion(), step);
  }

  @Test
  void shouldTellHowTheStreamStands() {
    assertTrue(operator.propose(state -> new Block.Skip(5, 8, state.lastSkipVersion())).accepted());
    try (Daemon daemon = Daemon.launch(context());
        RankClient rank = client(alone(), Hello.NO_STEP)) {
      assertEquals(new StreamStatus(30, 0, false, 0, 27), rank.status(SOON_NS));
      stream.add(2);
      stream.seal();
      assertEquals(new StreamStatus(32, 0, true, 0, 29), rank.status(SOON_NS));
      // Reclaimed: its skips are forgotten with it, and it counts for nobody.
      read(rank, 12);
      rank.checkpointed("a", at(rank, 12), 1, SOON_NS);
      assertTrue(operator.propose(state -> new Block.Reclaim(10, 0)).accepted());
      assertEquals(new StreamStatus(32, 10, true, 0, 22), rank.status(SOON_NS));
      assertNotNull(daemon);
    }
  }

  /** A store that does not answer: each call ends by its deadline, and the next ones are served. */
  @Test
  void shouldEndByTheDeadlineWhileTheLogGivesNoAnswer() {
    try (FaultStore faults = new FaultStore(Stores.open(url(), Map.of()), 7);
        Daemon daemon = Daemon.launch(context().storeSupplier(url -> faults));
        RankClient rank = client(alone(), Hello.NO_STEP)) {
      read(rank, 9);
      faults.randomly(StoreOperation.GET, Fault.HANG, 1);
      faults.randomly(StoreOperation.LIST, Fault.HANG, 1);
      // More of them than the daemon has threads for such things.
      for (int i = 1; i <= 6; i++) {
        Token at = at(rank, i);
        String id = "step-" + i;
        BatchWeaveException late =
            assertThrows(BatchWeaveException.class, () -> rank.checkpointed(id, at, 1, SHORT_NS));
        assertEquals(Kind.RETRYABLE, late.kind());
        assertTrue(late.getMessage().contains("checkpoint=" + id), late.getMessage());
      }
      assertTrue(faults.injected(Fault.HANG) > 0);
      faults.heal(); // what hangs goes on hanging
      rank.checkpointed("step-9", at(rank, 9), 1, 3 * SOON_NS);
      assertEquals(30, rank.status(SOON_NS).nextStep());
      assertNotNull(daemon);
    }
  }

  @Test
  void shouldRegisterWithTheNextDaemonWhenItsOwnIsReplaced() {
    Daemon first = Daemon.launch(context());
    RankClient rank = client(alone(), Hello.NO_STEP);
    read(rank, 4);
    first.close();
    try (Daemon second = Daemon.launch(context());
        rank) {
      rank.checkpointed("a", rank.token(), 3, SOON_NS);
      assertEquals(List.of(new PinState("a", rank.token().viewVersion(), 4)), pins());
      assertNotNull(second);
    }
  }
}
