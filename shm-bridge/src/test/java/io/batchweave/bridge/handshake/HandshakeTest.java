package io.batchweave.bridge.handshake;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.aeron.CncFileDescriptor;
import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.ring.Doorbell;
import io.batchweave.bridge.ring.RingAbi;
import java.io.File;
import java.io.IOException;
import java.nio.MappedByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.agrona.IoUtil;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.AgentRunner;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.SystemEpochClock;
import org.agrona.concurrent.SystemNanoClock;
import org.agrona.concurrent.ringbuffer.ManyToOneRingBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Both sides over real Aeron in real shared memory. */
@Timeout(180)
class HandshakeTest {
  private static final SystemNanoClock CLOCK = SystemNanoClock.INSTANCE;

  /** Three seconds are promised; five times that on a busy machine. */
  private static final long PROMISE_NS = TimeUnit.SECONDS.toNanos(15);

  private static final long SOON_NS = TimeUnit.SECONDS.toNanos(60);

  private final Queue<Throwable> errors = new ConcurrentLinkedQueue<>();
  private String expected = "";
  private Path directory;
  private ServerAgent agent;
  private AgentRunner runner;

  /** Runs the server as the daemon does, with the clock and the answers in the test's hands. */
  private static final class ServerAgent implements Agent {
    private final AtomicLong stolenNs = new AtomicLong();
    private final AtomicLong cycles = new AtomicLong();
    private final AtomicLong busyCycles = new AtomicLong();
    private final AtomicLong loudCycles = new AtomicLong();
    private final HandshakeServer server;
    private volatile int notYets;
    private volatile boolean silent;
    private volatile boolean broken;
    private volatile String suffix = "";

    ServerAgent(Path directory, Queue<Throwable> errors) {
      server =
          new HandshakeServer(
              NativeMemory.system(),
              directory.resolve(HandshakeProtocol.AERON_DIRECTORY),
              () -> CLOCK.nanoTime() + stolenNs.get(),
              SystemEpochClock.INSTANCE,
              errors::add,
              this::onRequest);
    }

    private void onRequest(Request request) {
      if (broken) {
        throw new IllegalStateException("a defect");
      }
      if (silent || !(request instanceof Hello hello)) {
        return;
      }
      int left = notYets;
      if (left > 0) {
        notYets = left - 1;
        server.answer(hello, Answer.Refused.notYet("3 of 8 ranks are here", 5));
        return;
      }
      server.answer(hello, welcome(hello, suffix));
    }

    @Override
    public int doWork() {
      int work = server.doWork();
      busyCycles.addAndGet(Math.min(work, 1));
      if (!server.isSilent()) {
        loudCycles.incrementAndGet();
      }
      cycles.incrementAndGet();
      return work;
    }

    @Override
    public void onClose() {
      server.close();
    }

    @Override
    public String roleName() {
      return "handshake-test";
    }
  }

  private static Answer.Welcome welcome(Hello hello) {
    return welcome(hello, "");
  }

  private static Answer.Welcome welcome(Hello hello, String suffix) {
    return new Answer.Welcome(
        0,
        new UUID(1, 2),
        hello.readerFile() + suffix,
        5_120,
        "ring-0.data",
        4_096,
        new Answer.Geometry(1, 8, 4_096, 1, 8, 2),
        new Answer.Start(new UUID(3, 4), 0, hello.nextStep(), 0));
  }

  private static Hello helloOf(int number) {
    Hello hello = HandshakeCodecTest.hello();
    return new Hello(
        0,
        0,
        hello.abi(),
        hello.stream(),
        hello.group(),
        hello.session(),
        hello.shape(),
        number,
        0,
        hello.takeover(),
        hello.sender(),
        "reader-" + number,
        "",
        hello.token());
  }

  @BeforeEach
  void start() throws IOException {
    directory = Files.createTempDirectory(Path.of("/dev/shm"), "bw-handshake-");
    agent = new ServerAgent(directory, errors);
    runner =
        new AgentRunner(
            new BackoffIdleStrategy(1, 1, 50_000, 10_000_000), errors::add, null, agent);
    AgentRunner.startOnThread(runner);
  }

  @AfterEach
  void stop() throws IOException {
    runner.close();
    try (var left = Files.list(directory)) {
      assertEquals(List.of(), left.toList(), "the driver's directory goes with the server");
    }
    Files.delete(directory);
    errors.removeIf(e -> !expected.isEmpty() && e.toString().contains(expected));
    assertEquals(List.of(), List.copyOf(errors));
  }

  private Answer attach(int number, long timeoutNs) {
    return new HandshakeClient(NativeMemory.system(), directory, CLOCK)
        .ask(helloOf(number), CLOCK.nanoTime() + timeoutNs);
  }

  /** Says Hello in vain, again where the machine is slow, until the error has these words. */
  private BatchWeaveException lateSaying(String words, long timeoutNs) {
    long untilNs = CLOCK.nanoTime() + SOON_NS;
    while (true) {
      BatchWeaveException late =
          assertThrows(BatchWeaveException.class, () -> attach(1, timeoutNs));
      if (String.valueOf(late.getMessage()).contains(words)) {
        return late;
      }
      assertTrue(CLOCK.nanoTime() - untilNs < 0, late.getMessage());
    }
  }

  @Test
  void shouldAttachAgainAndAgain() {
    for (int i = 0; i < 100; i++) {
      assertEquals(welcome(helloOf(i)), attach(i, PROMISE_NS));
    }
  }

  @Test
  void shouldAttachManyAtOnce() throws Exception {
    try (ExecutorService ranks = Executors.newFixedThreadPool(16)) {
      List<Future<Answer>> answers = new ArrayList<>();
      for (int i = 0; i < 64; i++) {
        int number = i;
        answers.add(ranks.submit(() -> attach(number, 20_000_000_000L)));
      }
      for (int i = 0; i < answers.size(); i++) {
        assertEquals(welcome(helloOf(i)), answers.get(i).get());
      }
    }
  }

  /** A daemon that sleeps is woken: Aeron does not do that. */
  @Test
  void shouldRingTheDoorbellForEachCommandToTheDriver() throws IOException {
    NativeMemory memory = NativeMemory.system();
    try (Doorbell doorbell = Doorbell.create(memory, directory, 0600)) {
      int before = doorbell.wordLoadAcquire();
      assertInstanceOf(Answer.Welcome.class, attach(1, PROMISE_NS));
      int rung = doorbell.wordLoadAcquire() - before;
      assertTrue(rung >= 2, "rung=" + rung);
    } finally {
      Files.delete(directory.resolve(RingAbi.DOORBELL_NAME));
    }
  }

  @Test
  void shouldSayHelloAgainWhenToldNotYet() {
    agent.notYets = 3;
    HandshakeClient client = new HandshakeClient(NativeMemory.system(), directory, CLOCK);

    Answer answer = client.ask(helloOf(1), CLOCK.nanoTime() + SOON_NS);

    assertInstanceOf(Answer.Welcome.class, answer);
    assertTrue(client.attempts() >= 4, "attempts=" + client.attempts());
  }

  @Test
  void shouldQuoteTheLastStatusWhenTheDeadlinePasses() {
    agent.notYets = Integer.MAX_VALUE;

    BatchWeaveException late = lateSaying("3 of 8 ranks are here", 300_000_000L);

    assertEquals(Kind.RETRYABLE, late.kind());
    assertTrue(String.valueOf(late.getMessage()).contains("rank=12"), late.getMessage());
  }

  @Test
  void shouldGiveUpAtTheDeadlineWhenNobodyAnswers() {
    agent.silent = true;
    BatchWeaveException silent = lateSaying("no answer within one attempt", 200_000_000L);
    assertEquals(Kind.RETRYABLE, silent.kind());
    BatchWeaveException absent =
        assertThrows(
            BatchWeaveException.class,
            () ->
                new HandshakeClient(NativeMemory.system(), directory.resolve("nowhere"), CLOCK)
                    .ask(helloOf(1), CLOCK.nanoTime() + 200_000_000L));
    assertEquals(Kind.RETRYABLE, absent.kind());
  }

  @Test
  void shouldSayWhatFailedWhenARequestMakesTheDaemonFail() {
    expected = "a defect";
    agent.broken = true;

    BatchWeaveException failed = lateSaying("a defect", 1_000_000_000L);

    assertEquals(Kind.RETRYABLE, failed.kind());
    agent.broken = false;
    assertInstanceOf(Answer.Welcome.class, attach(2, SOON_NS));
  }

  /** One answer that cannot be written must not keep all others back. */
  @Test
  void shouldDropAnAnswerThatCannotBeSaid() {
    expected = "too long";
    agent.suffix = "x".repeat(HandshakeProtocol.MAX_FILE_BYTES);
    do {
      assertThrows(BatchWeaveException.class, () -> attach(1, 1_000_000_000L));
    } while (errors.stream().noneMatch(e -> e.toString().contains(expected)));
    agent.suffix = "";
    assertEquals(welcome(helloOf(2)), attach(2, SOON_NS));
  }

  /** A stopped process (SIGSTOP, a long collection) must not lose its own Aeron client. */
  @Test
  void shouldGoOnAfterAPauseLongerThanTheLivenessTimeout() {
    assertInstanceOf(Answer.Welcome.class, attach(1, PROMISE_NS));
    for (int i = 0; i < 3; i++) {
      agent.stolenNs.addAndGet(TimeUnit.SECONDS.toNanos(5));
      assertInstanceOf(Answer.Welcome.class, attach(2 + i, PROMISE_NS));
    }
  }

  /** U12: clients that died inside a claim of the driver's command ring hold up nobody for long. */
  @Test
  void shouldPassAbandonedClaimsOfTheCommandRingTogether() {
    MappedByteBuffer cnc =
        IoUtil.mapExistingFile(
            new File(
                directory.resolve(HandshakeProtocol.AERON_DIRECTORY).toFile(),
                CncFileDescriptor.CNC_FILE),
            "cnc");
    try {
      ManyToOneRingBuffer ring =
          new ManyToOneRingBuffer(
              CncFileDescriptor.createToDriverBuffer(
                  cnc, CncFileDescriptor.createMetaDataBuffer(cnc)));
      for (int i = 0; i < 30; i++) { // one after the other they would take half a minute
        assertTrue(ring.tryClaim(1, 64) > 0);
      }
      assertInstanceOf(Answer.Welcome.class, attach(1, PROMISE_NS));
      assertInstanceOf(Answer.Welcome.class, attach(2, PROMISE_NS));
    } finally {
      IoUtil.unmap(cnc);
    }
  }

  @Test
  void shouldSleepWhenIdle() {
    attach(1, PROMISE_NS);
    long untilNs = CLOCK.nanoTime() + TimeUnit.SECONDS.toNanos(1);
    long before = agent.cycles.get();
    while (CLOCK.nanoTime() - untilNs < 0) {
      LockSupport.parkNanos(50_000_000);
    }
    long cycles = agent.cycles.get() - before;
    // A cycle per 10 ms, and the short ones of the back-off before.
    assertTrue(cycles < 1_000, "cycles per second=" + cycles);
  }

  /** Timers and heartbeats are no work: a daemon to which nobody talks sleeps through them. */
  @Test
  void shouldReportNoWorkWhenNobodyTalks() {
    attach(1, PROMISE_NS);
    long untilNs = CLOCK.nanoTime() + SOON_NS;
    long busy;
    do {
      assertTrue(CLOCK.nanoTime() - untilNs < 0, "always busy");
      busy = agent.busyCycles.get();
      for (int timer = 0; timer < 20; timer++) {
        agent.stolenNs.addAndGet(TimeUnit.MILLISECONDS.toNanos(100));
        awaitCycles(2, untilNs);
      }
    } while (agent.busyCycles.get() != busy);
    attach(2, PROMISE_NS);
    assertTrue(agent.busyCycles.get() > busy, "busy=" + busy);
  }

  /** A rank that waits for its answer is talking until it has gone. */
  @Test
  void shouldBeSilentExceptWhileSomebodyTalks() {
    awaitSilence();
    long before = agent.loudCycles.get();
    agent.silent = true;
    do {
      assertThrows(BatchWeaveException.class, () -> attach(1, 200_000_000L));
    } while (agent.loudCycles.get() == before);
    awaitSilence();
  }

  private void awaitSilence() {
    long untilNs = CLOCK.nanoTime() + SOON_NS;
    long loud;
    do {
      assertTrue(CLOCK.nanoTime() - untilNs < 0, "never silent");
      loud = agent.loudCycles.get();
      awaitCycles(2, untilNs);
    } while (agent.loudCycles.get() != loud);
  }

  private void awaitCycles(int count, long untilNs) {
    long last = agent.cycles.get() + count;
    while (agent.cycles.get() < last && CLOCK.nanoTime() - untilNs < 0) {
      LockSupport.parkNanos(1_000_000);
    }
  }
}
