package io.batchweave.bridge.daemon;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.Bytes;
import io.batchweave.bridge.handshake.HandshakeClient;
import io.batchweave.bridge.handshake.HandshakeProtocol;
import io.batchweave.bridge.handshake.Question;
import io.batchweave.bridge.ring.RingAbi;
import io.batchweave.format.Grid;
import io.batchweave.store.FaultStore;
import io.batchweave.store.FaultStore.Fault;
import io.batchweave.store.StoreOperation;
import io.batchweave.store.Stores;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * When the agent lets the doorbell sleep for long: each part in turn waits for something else, with
 * nothing else going on. The test makes the duty cycles; ranks are threads.
 */
@Timeout(180)
class DaemonAgentTest extends DaemonFixture {
  private static final long RING_BYTES = 4 << 20;
  private static final long SHORT_NS = TimeUnit.MILLISECONDS.toNanos(200);

  /** Longer than a request waits in the daemon, shorter than an attempt at the log. */
  private static final long LONG_NS = TimeUnit.MILLISECONDS.toNanos(1_500);

  private final Deque<AutoCloseable> owned = new ArrayDeque<>();
  private ExecutorService threads;
  private TestStream stream;
  private FaultStore faults;
  private StreamSource source;
  private DaemonAgent agent;
  private BooleanSupplier quiet = () -> false;

  private <T extends AutoCloseable> T own(T part) {
    owned.push(part);
    return part;
  }

  @BeforeEach
  void launch() {
    threads = own(Executors.newCachedThreadPool());
    stream = own(new TestStream(url(), new Grid(1, 1), SLICE_BYTES));
    faults = new FaultStore(Stores.open(url(), Map.of()), 7);
    DaemonContext context = context().memoryBytes(RING_BYTES).conclude();
    DaemonDirectory taken =
        own(DaemonDirectory.open(context.memory(), directory, null, context.lines()));
    FoundRings found = own(taken.clear(context.rings(), context.memoryBytes()));
    RingFiles rings = own(new RingFiles(context.memory(), taken, context));
    source = own(new StreamSource(url(), faults, CLOCK, 7));
    DoorbellIdleStrategy doorbell =
        own(
            new DoorbellIdleStrategy(context.memory(), directory, 0600) {
              @Override
              void quietWhile(BooleanSupplier newQuiet) {
                quiet = newQuiet;
              }
            });
    DaemonParts parts = own(new DaemonParts(context, taken, 512, doorbell::wake));
    agent = new DaemonAgent(parts, List.of(source), rings, found, doorbell);
    own(agent::onClose);
    awaitQuiet();
  }

  @AfterEach
  void end() throws Exception {
    faults.heal();
    faults.releaseHung();
    while (!owned.isEmpty()) {
      owned.pop().close();
    }
  }

  private boolean isQuietAfterCycle() {
    agent.doWork();
    return quiet.getAsBoolean();
  }

  private void awaitQuiet() {
    await("quiet", this::isQuietAfterCycle);
  }

  private void awaitBusy() {
    await("busy", () -> !isQuietAfterCycle());
  }

  /** Long enough for all other parts to be done. */
  private void assertNeverQuiet() {
    for (long untilNs = CLOCK.nanoTime() + LONG_NS; CLOCK.nanoTime() - untilNs < 0; ) {
      assertFalse(isQuietAfterCycle());
      LockSupport.parkNanos(1_000_000);
    }
  }

  /** What a rank does meanwhile. */
  private <T> T served(Callable<T> move) throws Exception {
    Future<T> done = threads.submit(move);
    await(
        "the rank",
        () -> {
          agent.doWork();
          return done.isDone();
        });
    return done.get();
  }

  private BatchWeaveException unanswered(Callable<?> move) throws Exception {
    return served(() -> assertThrows(BatchWeaveException.class, move::call));
  }

  private void hangTheLog() {
    faults.randomly(StoreOperation.GET, Fault.HANG, 1);
    faults.randomly(StoreOperation.LIST, Fault.HANG, 1);
  }

  /** Says it in vain, again where the machine is slow, until the log is asked for its sake. */
  private void sayUntilTheLogIsAsked(Callable<?> move) throws Exception {
    hangTheLog();
    do {
      unanswered(move);
    } while (faults.injected(Fault.HANG) == 0);
  }

  private Callable<?> question() {
    Question question = new Question(0, 0, RingAbi.VERSION, url(), "train", "run-0", 1);
    return () ->
        new HandshakeClient(TestRank.MEMORY, directory, CLOCK)
            .ask(question, CLOCK.nanoTime() + SHORT_NS);
  }

  /** The stream was not read yet, so nobody else has anything to do. */
  @Test
  void shouldNotBeQuietWhileSomebodyTalks() throws Exception {
    Future<?> talk = threads.submit(question());
    awaitBusy();
    await(
        "the end",
        () -> {
          agent.doWork();
          return talk.isDone();
        });
    awaitQuiet();
  }

  @Test
  void shouldNotBeQuietWhileALaunchIsLookedUp() throws Exception {
    source.describe();
    try (TestRank rank = rank(alone(), 0)) {
      rank.beBorn();
      long beganNs = CLOCK.nanoTime();
      sayUntilTheLogIsAsked(() -> rank.sayHello("", Bytes.EMPTY, SHORT_NS));
      awaitQuiet();
      assertTrue(CLOCK.nanoTime() - beganNs >= HandshakeProtocol.HOLD_NS);
    }
  }

  @Test
  void shouldNotBeQuietWhileTheLogIsAskedForARank() throws Exception {
    source.describe();
    sayUntilTheLogIsAsked(question());
    assertNeverQuiet();
    faults.heal();
    faults.releaseHung();
    awaitQuiet();
  }

  @Test
  void shouldBeQuietWhereARankWaitsForACommitOnly() throws Exception {
    source.describe();
    stream.add(1);
    faults.randomly(StoreOperation.GET_INTO, Fault.HANG, 1);
    try (TestRank rank = rank(alone(), 0)) {
      served(() -> rank.attach(SOON_NS));
      assertNeverQuiet(); // the only step is being fetched
      faults.heal();
      faults.releaseHung();
      TestRank.Take.Ready first = served(() -> rank.step(SOON_NS));
      awaitQuiet();
      faults.randomly(StoreOperation.GET, Fault.ERROR_500, 1);
      awaitBusy(); // whether there was a commit cannot be told
      faults.heal();
      awaitQuiet();
      stream.add(300);
      rank.release(first);
      served(() -> rank.step(SOON_NS));
      await(
          "a full ring",
          () -> {
            agent.doWork();
            return agent.gauges().getFirst().status().usedBytes() > RING_BYTES - 2 * SLICE_BYTES;
          });
      assertNeverQuiet();
    }
    awaitQuiet();
  }
}
