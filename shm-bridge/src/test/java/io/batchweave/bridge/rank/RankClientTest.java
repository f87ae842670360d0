package io.batchweave.bridge.rank;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.bridge.SharedDirectory;
import io.batchweave.bridge.memory.FileAccess;
import io.batchweave.bridge.memory.FileIdentity;
import io.batchweave.bridge.memory.FutexWaiter;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.memory.NativeMemoryAccount;
import io.batchweave.bridge.memory.SharedFile;
import io.batchweave.bridge.ring.FailReason;
import io.batchweave.bridge.ring.Id128;
import io.batchweave.bridge.ring.RingAbi;
import io.batchweave.bridge.ring.RingHost;
import io.batchweave.format.Grid;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The Java rank against a host in the same thread, which works whenever the rank says Hello. */
@Timeout(60)
class RankClientTest {
  private static final long SECOND = 1_000_000_000L;

  private @Nullable SharedDirectory directory;
  private @Nullable RingHost host;
  private final List<RankClient> clients = new ArrayList<>();
  private String before = "";

  @BeforeEach
  void setUp() throws IOException {
    before = NativeMemoryAccount.summary();
    directory = SharedDirectory.create();
  }

  @AfterEach
  void tearDown() throws IOException {
    clients.forEach(RankClient::close);
    if (host != null) {
      host.close();
    }
    Objects.requireNonNull(directory).close();
    assertEquals(before, NativeMemoryAccount.summary(), "native memory is left");
  }

  private RingHost start(int ringPages, int regionPages, long endStep) {
    RingHost started = new RingHost(path(), ringPages, regionPages, endStep);
    host = started;
    return started;
  }

  private Path path() {
    return Objects.requireNonNull(directory).path();
  }

  private RingHost host() {
    return Objects.requireNonNull(host);
  }

  /** Says Hello to the host of this test and lets it work until it answers. */
  private final class DirectAttacher implements Attacher {
    private final int dp;
    private final int localReaders;
    boolean responding = true;

    /** The stream's, as Welcome says. */
    Grid grid = new Grid(4, 1);

    /** What the daemon does right after its next Welcome. */
    Runnable afterWelcome = () -> {};

    DirectAttacher(int dp, int localReaders) {
      this.dp = dp;
      this.localReaders = localReaders;
    }

    @Override
    public long register(RankIdentity identity, Registration registration, long deadlineNs) {
      throw new UnsupportedOperationException();
    }

    @Override
    public StreamStatus status(RankIdentity identity, long viewVersion, long deadlineNs) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Attached attach(Request request, long deadlineNs) {
      long step = request.nextStep() == NO_STEP ? 0 : request.nextStep();
      host().hello(request.reader(), request.previous(), dp, step, localReaders);
      while (System.nanoTime() - deadlineNs < 0) {
        host().work();
        RingHost.Told told = host().told(request.reader());
        if (told != null && told.refuse() != null) {
          throw new BatchWeaveException(Kind.LIMIT, told.refuse().text());
        }
        if (told != null && told.welcome() != null) {
          Runnable next = afterWelcome;
          afterWelcome = () -> {};
          next.run();
          return new Attached(
              told.controlFile(),
              RingAbi.dataName(0),
              told.generationId(),
              told.welcome().firstN(),
              told.welcome().firstStep(),
              Id128.NONE,
              3,
              grid);
        }
      }
      throw new BatchWeaveException(Kind.RETRYABLE, "not answered");
    }

    @Override
    public boolean isResponding() {
      return responding;
    }

    @Override
    public void close() {}
  }

  private RankClient open(int dp, int localReaders, long nextStep) {
    return open(new DirectAttacher(dp, localReaders), nextStep);
  }

  private RankClient open(DirectAttacher attacher, long nextStep) {
    RankClient client =
        RankClient.open(
            new RankContext()
                .directory(path())
                .identity(ReadingRank.identity(attacher.dp, attacher.localReaders))
                .nextStep(nextStep)
                .attacher(attacher),
            10 * SECOND);
    clients.add(client);
    return client;
  }

  /**
   * The next step of a client that has left its ring: it attaches anew, however slow the machine.
   */
  private StepLease takeAnew(RankClient client, long step) {
    StepLease lease = null;
    for (int i = 0; i < 50 && lease == null; i++) {
      host().work();
      try {
        lease = client.next(SECOND / 50);
      } catch (StepTimeoutException | DaemonLostException notYet) {
        assertEquals(step, client.nextStep());
      }
    }
    assertNotNull(lease);
    assertEquals(step, lease.step());
    return lease;
  }

  /** The next step, the host working in between. */
  private StepLease take(RankClient client, long step) {
    for (int i = 0; i < 8; i++) {
      host().work();
    }
    StepLease lease = client.next(SECOND);
    assertNotNull(lease);
    assertEquals(step, lease.step());
    return lease;
  }

  private long files(String suffix) {
    try (Stream<Path> list = Files.list(path())) {
      return list.filter(file -> file.toString().endsWith(suffix)).count();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * U13: a daemon that starts looks through the directory while a rank makes its file there. It
   * takes the lock that the rank does not have yet, and removes what nobody holds.
   */
  @Test
  void shouldMakeAnotherReaderFileWhenAStartingDaemonRemovesTheFirst() throws IOException {
    start(8, 2, 2);
    StartingDaemon system = new StartingDaemon(NativeMemory.system());
    RankContext context =
        new RankContext()
            .directory(path())
            .identity(ReadingRank.identity(0, 1))
            .nextStep(0)
            .memory(system)
            .attacher(new DirectAttacher(0, 1));
    RankClient client = RankClient.open(context, 10 * SECOND);
    clients.add(client);
    assertEquals(1, system.removed);
    assertEquals(1, files(".reader"));
    take(client, 0).release();
  }

  /** Removes the first file that is created, as a daemon does that found it unlocked. */
  private static final class StartingDaemon implements NativeMemory {
    private final NativeMemory system;
    int removed;

    StartingDaemon(NativeMemory system) {
      this.system = system;
    }

    @Override
    public SharedFile open(Path path, FileAccess access) {
      SharedFile file = system.open(path, access);
      if (access == FileAccess.CREATE && removed == 0) {
        try (SharedFile found = system.open(path, FileAccess.READ_WRITE)) {
          assertTrue(found.tryLock());
          Files.delete(path);
          removed++;
        } catch (IOException e) {
          throw new UncheckedIOException(e);
        }
      }
      return file;
    }

    @Override
    public @Nullable FileIdentity identity(Path path) {
      return system.identity(path);
    }

    @Override
    public long availableBytes(Path directory) {
      return system.availableBytes(directory);
    }

    @Override
    public int pageSizeBytes() {
      return system.pageSizeBytes();
    }

    @Override
    public FutexWaiter newWaiter() {
      return system.newWaiter();
    }

    @Override
    public List<String> notices() {
      return system.notices();
    }
  }

  @Test
  void shouldReadEveryStepInPlaceUntilTheEnd() throws IOException {
    start(8, 2, 40);
    RankClient client = open(0, 1, 0);
    StepLease previous = null;
    for (long step = 0; step < 40; step++) {
      StepLease lease = take(client, step);
      assertTrue(ReadingRank.isRight(lease, 0));
      assertEquals(3, lease.tokens(0));
      if (previous != null) {
        previous.release();
      }
      previous = lease;
    }
    host().work();
    assertNull(client.next(SECOND), "the end");
    assertNull(client.next(SECOND), "still the end");
    assertEquals(40, client.nextStep());
    Objects.requireNonNull(previous).release();
    client.close();
    host().files().poll(System.nanoTime() + SECOND);
    assertEquals(0, files(".reader"));
    assertTrue(host().files().machine().isFree());
  }

  /** P7: nothing is allocated on the hand-off itself. */
  @Test
  void shouldAllocateNothingPerHandOff() {
    start(256, 1, Long.MAX_VALUE);
    RankClient client = open(0, 1, 0);
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long thread = Thread.currentThread().threadId();
    long step = 0;
    long least = Long.MAX_VALUE;
    // Until the code is compiled, which takes its time where others use the processors.
    long deadlineNs = System.nanoTime() + 40 * SECOND;
    while (least > 0 && System.nanoTime() - deadlineNs < 0) {
      for (int i = 0; i < 64; i++) {
        host().work();
      }
      long start = threads.getThreadAllocatedBytes(thread);
      for (int i = 0; i < 32; i++) {
        StepLease lease = client.next(SECOND);
        if (lease == null || lease.step() != step++ || lease.sliceLengthBytes(0) == 0) {
          throw new AssertionError("wrong step");
        }
        lease.release();
      }
      least = Math.min(least, threads.getThreadAllocatedBytes(thread) - start);
    }
    assertEquals(0, least, "bytes of 32 hand-offs once warm");
  }

  /** U40, U12: a closed generation; what was taken stays untouched, the step is served again. */
  @Test
  void shouldAttachAgainAndKeepItsOldLease() throws IOException {
    start(8, 2, 100);
    RankClient early = open(1, 1, 6);
    StepLease old = take(early, 6);
    long generation = host().files().machine().generation();
    RankClient late = open(2, 1, 3); // older, and of another coordinate
    assertEquals(generation + 1, host().files().machine().generation());
    StepLease first = take(late, 3);
    assertTrue(ReadingRank.isRight(first, 2));
    assertEquals(2, files(".ctl"), "the old one still describes a lease");
    for (long step = 4; step < 7; step++) {
      StepLease next = take(late, step);
      first.release();
      first = next;
      assertTrue(ReadingRank.isRight(old, 1), "the old lease was overwritten");
    }
    StepLease next = take(early, 7);
    assertEquals(2, early.attachments());
    assertTrue(ReadingRank.isRight(next, 1));
    assertTrue(ReadingRank.isRight(old, 1));
    old.release();
    host().files().poll(System.nanoTime() + SECOND);
    assertEquals(1, files(".ctl"), "nobody needs the old one any more");
    assertEquals(1, early.heldCount());
    next.release();
    first.release();
  }

  /** U8: asking for more than fits while holding on. */
  @Test
  void shouldRaiseRingHeldWhenItsOwnLeasesAreInTheWay() {
    start(6, 2, 100);
    RankClient client = open(0, 1, 0);
    List<StepLease> leases = new ArrayList<>();
    for (long step = 0; step < 3; step++) {
      leases.add(take(client, step));
    }
    for (int i = 0; i < 4; i++) {
      host().work();
    }
    RingHeldException thrown = assertThrows(RingHeldException.class, () -> client.next(SECOND));
    assertEquals(3, thrown.steps());
    assertEquals(Kind.LIMIT, thrown.kind());
    assertTrue(String.valueOf(thrown.getMessage()).contains("step=3"), thrown::getMessage);
    for (StepLease lease : leases) {
      assertTrue(ReadingRank.isRight(lease, 0));
      lease.release();
    }
    take(client, 3).release();
  }

  /** U19, U43: the deadline passes; the last trouble is quoted and the same step comes later. */
  @Test
  void shouldQuoteTheTroubleWhenTheDeadlinePasses() {
    start(8, 2, 100);
    RankClient client = open(0, 1, 0);
    take(client, 0).release();
    host().holdFetches(true);
    host().files().trouble("step=1 key=data/x attempts=7 status=503");
    drainReady(client);
    host().work();
    long start = System.nanoTime();
    StepTimeoutException thrown =
        assertThrows(StepTimeoutException.class, () -> client.next(SECOND / 20));
    assertTrue(System.nanoTime() - start < 5 * SECOND);
    String message = String.valueOf(thrown.getMessage());
    assertTrue(message.contains("attempts=7 status=503"), message);
    assertTrue(message.contains("step=" + client.nextStep()), message);
    long step = client.nextStep();
    host().holdFetches(false);
    take(client, step).release();
  }

  /** Takes what was published before fetches were held back. */
  private static void drainReady(RankClient client) {
    try {
      while (true) {
        Objects.requireNonNull(client.next(1)).release();
      }
    } catch (StepTimeoutException noneLeft) {
      // as wanted
    }
  }

  @Test
  void shouldRaiseTheKindOfAPermanentFailureAndTryAgain() {
    start(8, 2, 100);
    host().failure(FailReason.MISSING);
    RankClient client = open(0, 1, 5);
    for (int i = 0; i < 4; i++) {
      host().work();
    }
    BatchWeaveException thrown = assertThrows(BatchWeaveException.class, () -> client.next(SECOND));
    assertEquals(Kind.CORRUPT, thrown.kind());
    assertTrue(String.valueOf(thrown.getMessage()).contains("status=404"), thrown::getMessage);
    host().failure(null);
    StepLease lease = takeAnew(client, 5);
    assertTrue(ReadingRank.isRight(lease, 0));
    lease.release();
  }

  @Test
  void shouldRefuseAStepThatTheRingIsTooSmallFor() {
    start(5, 2, 100);
    RankClient client = open(0, 1, 0);
    host().work();
    BatchWeaveException thrown = assertThrows(BatchWeaveException.class, () -> client.next(SECOND));
    assertEquals(Kind.LIMIT, thrown.kind());
    assertTrue(String.valueOf(thrown.getMessage()).contains("--memory"), thrown::getMessage);
  }

  /** U13: no daemon any more. */
  @Test
  void shouldRaiseDaemonLostWithinTheDeadline() {
    start(8, 2, 100);
    RankClient client = open(0, 1, 0);
    host().holdFetches(true);
    drainReady(client);
    host().loseLock();
    long start = System.nanoTime();
    DaemonLostException thrown =
        assertThrows(DaemonLostException.class, () -> client.next(SECOND / 5));
    assertTrue(System.nanoTime() - start < 5 * SECOND, "not within its deadline");
    assertTrue(String.valueOf(thrown.getMessage()).contains("session=run-0"), thrown::getMessage);
  }

  /** U13: a daemon that holds its lock but does not run. */
  @Test
  void shouldRaiseDaemonLostWhenTheDaemonIsStopped() {
    start(8, 2, 100);
    DirectAttacher attacher = new DirectAttacher(0, 1);
    RankClient client =
        RankClient.open(
            new RankContext()
                .directory(path())
                .identity(ReadingRank.identity(0, 1))
                .attacher(attacher),
            10 * SECOND);
    clients.add(client);
    host().holdFetches(true);
    drainReady(client);
    attacher.responding = false;
    assertThrows(DaemonLostException.class, () -> client.next(SECOND / 20));
  }

  /** U9: the client is closed while a step is held. */
  @Test
  void shouldKeepALeaseReadableAfterClose() throws IOException {
    start(8, 2, 100);
    RankClient client = open(0, 1, 0);
    StepLease lease = take(client, 0);
    client.close();
    for (int i = 0; i < 10; i++) {
      host().files().poll(System.nanoTime() + SECOND);
      host().work();
    }
    assertTrue(ReadingRank.isRight(lease, 0));
    assertEquals(1, files(".reader"), "the lock was given back under a lease");
    lease.release();
    host().files().poll(System.nanoTime() + 2 * SECOND);
    assertEquals(0, files(".reader"));
    assertThrows(IllegalStateException.class, lease::release);
    assertThrows(IllegalStateException.class, () -> lease.slice(0));
  }

  /** What was mapped until then is not left, which {@link #tearDown} looks at. */
  @Test
  void shouldRefuseADaemonThatTookARankThatDoesNotFit() {
    start(8, 2, 100);
    DirectAttacher attacher = new DirectAttacher(0, 1);
    attacher.grid = new Grid(3, 1);
    BatchWeaveException refused = assertThrows(BatchWeaveException.class, () -> open(attacher, 0));
    assertEquals(Kind.CORRUPT, refused.kind());
  }

  private void closeGeneration() {
    host().files().machine().onEnd(System.nanoTime());
    host().files().drain(System.nanoTime());
  }

  /**
   * U46: Welcome was the last word of a daemon. The next one may know the rank by the files from
   * before alone.
   */
  @Test
  void shouldKeepItsFilesUntilItComesToAnOpenGeneration() {
    start(8, 2, 100);
    DirectAttacher attacher = new DirectAttacher(0, 1);
    RankClient client = open(attacher, 0);
    take(client, 0).release();
    closeGeneration();
    List<Long> readers = new ArrayList<>();
    attacher.afterWelcome =
        () -> {
          closeGeneration();
          attacher.afterWelcome = () -> readers.add(files(".reader"));
        };
    StepLease lease = takeAnew(client, 1);
    assertEquals(List.of(3L), readers);
    host().files().poll(System.nanoTime() + 2 * SECOND);
    assertEquals(1, files(".reader"));
    lease.release();
  }

  @Test
  void shouldBackOutOfAClosedGeneration() {
    start(8, 2, 100);
    RankClient client = open(0, 1, 0);
    take(client, 0).release();
    closeGeneration();
    StepLease lease = takeAnew(client, 1);
    assertEquals(2, client.attachments());
    lease.release();
  }
}
