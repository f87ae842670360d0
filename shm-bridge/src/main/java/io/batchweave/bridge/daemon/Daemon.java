package io.batchweave.bridge.daemon;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.bridge.handshake.HandshakeProtocol;
import io.batchweave.bridge.memory.SharedDirectory;
import io.batchweave.bridge.ring.RingAbi;
import io.batchweave.format.Limits;
import io.batchweave.store.StoreMeter;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.agrona.concurrent.AgentRunner;
import org.agrona.concurrent.AgentTerminationException;
import org.jspecify.annotations.Nullable;

/**
 * The node daemon: one per node and user, any number of streams. Launching takes the directory,
 * allocates the rings and starts the agent; closing tells the ranks and gives everything back.
 *
 * <p>Thread-safe.
 */
public final class Daemon implements AutoCloseable {
  private static final int DAEMON_JSON_FORMAT = 1;
  private static final long REOPEN_NS = TimeUnit.SECONDS.toNanos(1);
  private static final long DESERTION_LOOK_NS = TimeUnit.MILLISECONDS.toNanos(20);
  private static final int WINDOW_STEPS = 2 * Limits.SEGMENT_STEPS;

  private final DaemonContext context;
  private final Deque<AutoCloseable> owned = new ArrayDeque<>();
  private final CountDownLatch ended = new CountDownLatch(1);
  private final AtomicBoolean closed = new AtomicBoolean();
  private final List<StreamSource> sources = new ArrayList<>();
  private final DaemonParts parts;
  private final DaemonReport report;
  private final String metricsUrl;
  private volatile @Nullable Throwable failure;
  private volatile String lastError = "";

  private Daemon(DaemonContext context) {
    this.context = context;
    try {
      DaemonDirectory directory =
          own(
              DaemonDirectory.open(
                  context.memory(), context.directory(), context.group(), context.lines()));
      FoundRings found = own(directory.clear(context.rings(), context.memoryBytes()));
      if (context.group() != null) {
        SharedDirectory.openNewFilesToGroup(); // the driver's files: this process serves, no more
      }
      RingFiles rings = own(new RingFiles(context.memory(), directory, context));
      for (String url : context.streams()) {
        sources.add(
            own(
                new StreamSource(
                    url, context.storeSupplier().apply(url), context.nanoClock(), context.seed())));
      }
      DoorbellIdleStrategy doorbell =
          own(new DoorbellIdleStrategy(context.memory(), directory.path(), directory.fileMode()));
      parts = own(new DaemonParts(context, directory, WINDOW_STEPS, doorbell::wake));
      sources.forEach(this::describe);
      DaemonAgent agent = new DaemonAgent(parts, sources, rings, found, doorbell);
      AgentRunner runner =
          own(
              new AgentRunner(
                  doorbell, this::onError, null, new EndingAgent(agent, ended, this::onError)));
      report = new DaemonReport(parts.metrics(), agent, sources);
      MetricsEndpoint endpoint = own(new MetricsEndpoint(context.metricsPort(), report::text));
      metricsUrl = endpoint.url();
      AgentRunner.startOnThread(
          runner, Thread.ofPlatform().daemon().name("batchweave-daemon").factory());
      directory.publish(json());
    } catch (RuntimeException | Error e) {
      closeOwned();
      throw e;
    }
  }

  /**
   * Starts a daemon.
   *
   * @param context settings; concluded here
   * @throws BatchWeaveException {@link Kind#CONFIG} when a setting is wrong, another daemon serves
   *     the directory, or there is too little memory: needed, available and the flag to change
   */
  public static Daemon launch(DaemonContext context) {
    return new Daemon(context.conclude());
  }

  private <T extends AutoCloseable> T own(T part) {
    owned.push(part);
    return part;
  }

  private void describe(StreamSource source) {
    parts
        .background()
        .execute(() -> {
          if (!takeTrouble(source, source.describe())) {
            return;
          }
          parts.wake();
          if (!source.isSettled() && !closed.get()) {
            var _ =
                parts
                    .background()
                    .schedule(() -> describe(source), REOPEN_NS, TimeUnit.NANOSECONDS);
          }
        });
  }

  /** Says what keeps a stream from being opened; false when that ends the daemon. */
  private boolean takeTrouble(StreamSource source, @Nullable BatchWeaveException trouble) {
    if (trouble == null || closed.get()) {
      return true;
    }
    boolean passes = trouble.kind() == Kind.RETRYABLE;
    if (context.unopened() == DaemonContext.Unopened.FAIL && !passes) {
      failure = trouble;
      ended.countDown();
      return false;
    }
    context
        .lines()
        .accept("stream cannot be opened: url=" + source.url() + ": " + trouble.getMessage());
    return true;
  }

  private void onError(Throwable error) {
    parts.metrics().agentErrors.increment();
    if (error instanceof AgentTerminationException) {
      failure = error;
    }
    String text = "unexpected error: " + error;
    if (!text.equals(lastError)) {
      lastError = text;
      parts.say(text);
    }
  }

  private String json() {
    List<DaemonJson.Ring> rings = new ArrayList<>();
    for (int ring = 0; ring < context.rings(); ring++) {
      rings.add(new DaemonJson.Ring(ring, RingAbi.dataName(ring), context.memoryBytes()));
    }
    return new DaemonJson(
            DAEMON_JSON_FORMAT,
            RingAbi.VERSION,
            HandshakeProtocol.AERON_VERSION,
            HandshakeProtocol.AERON_DIRECTORY,
            HandshakeProtocol.HELLO_STREAM_ID,
            ProcessHandle.current().pid(),
            context.memory().pageSizeBytes(),
            context.hold(),
            sources.stream().map(source -> new DaemonJson.Stream(source.url())).toList(),
            rings,
            metricsUrl)
        .text();
  }

  /** The daemon directory. */
  public Path directory() {
    return context.directory();
  }

  /** Where the metrics are. */
  public String metricsUrl() {
    return metricsUrl;
  }

  /** The metrics, as the endpoint serves them. */
  public String metrics() {
    return report.text();
  }

  /**
   * What was asked of the store of a stream so far.
   *
   * @param url as in the context
   */
  public StoreMeter storeMeter(String url) {
    for (StreamSource source : sources) {
      if (source.isNamed(url)) {
        return source.store().snapshot();
      }
    }
    throw new BatchWeaveException(Kind.CONFIG, "no such stream here: url=" + url);
  }

  /**
   * Waits until the daemon has ended by itself or was closed.
   *
   * @throws InterruptedException if interrupted
   */
  public void awaitEnd() throws InterruptedException {
    ended.await();
  }

  /** Why it ended by itself; null if it did not. */
  public @Nullable Throwable failure() {
    return failure;
  }

  /** Tells the ranks, stops the agent, gives memory and lock back. Idempotent. */
  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      closeOwned();
      ended.countDown();
    }
  }

  /**
   * After closing: ranks that are told to stop together with their daemon end a moment after it;
   * then nothing of their ring stays behind. A daemon that comes meanwhile takes it over.
   */
  void awaitDesertion(long timeoutNs) {
    long untilNs = context.nanoClock().nanoTime() + timeoutNs;
    while (!DaemonDirectory.removeIfDeserted(context.memory(), context.directory(), context.group())
        && context.nanoClock().nanoTime() - untilNs < 0) {
      LockSupport.parkNanos(DESERTION_LOOK_NS);
    }
  }

  private void closeOwned() {
    while (!owned.isEmpty()) {
      try {
        owned.pop().close();
      } catch (Exception e) {
        context.lines().accept("error while closing: " + e);
      }
    }
  }
}
