package io.batchweave.bridge.daemon;

import io.batchweave.client.MachineAgent;
import io.batchweave.client.Operator;
import io.batchweave.client.OperatorContext;
import io.batchweave.format.StreamDescriptor;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** What the rings of one daemon share. */
final class DaemonParts implements AutoCloseable {
  private static final int OPENING_THREADS = 4;

  /** One attempt at changing the log; after it ranks are told what is in the way. */
  private static final long PROPOSE_NS = TimeUnit.SECONDS.toNanos(5);

  private final DaemonContext context;
  private final DaemonDirectory directory;
  private final DaemonMetrics metrics;
  private final Fetcher fetcher;
  private final MachineAgent followers;
  private final ScheduledExecutorService background;
  private final int windowSteps;
  private final Runnable wake;

  DaemonParts(DaemonContext context, DaemonDirectory directory, int windowSteps, Runnable wake) {
    this.context = context;
    this.directory = directory;
    this.windowSteps = windowSteps;
    this.wake = wake;
    this.metrics = new DaemonMetrics();
    this.fetcher =
        new Fetcher(
            new Fetcher.Settings(
                context.concurrentFetches(),
                context.fetchAttempts(),
                context.onCorrupt(),
                context.seed()),
            context.nanoClock(),
            metrics,
            wake);
    this.followers = MachineAgent.start("batchweave-follow", context.nanoClock());
    ScheduledThreadPoolExecutor pool =
        new ScheduledThreadPoolExecutor(
            OPENING_THREADS, Thread.ofPlatform().daemon().name("batchweave-open-", 0).factory());
    pool.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    pool.setRemoveOnCancelPolicy(true);
    this.background = pool;
  }

  DaemonContext context() {
    return context;
  }

  DaemonDirectory directory() {
    return directory;
  }

  DaemonMetrics metrics() {
    return metrics;
  }

  Fetcher fetcher() {
    return fetcher;
  }

  /** Runs what may block. */
  ScheduledExecutorService background() {
    return background;
  }

  /** A feed of a stream's steps for one session, opened in the background. */
  StepFeed newFeed(StreamSource source, String group, long view) {
    return new StepFeed(
        source,
        new GroupWatch(group, view),
        followers,
        context.nanoClock(),
        background,
        windowSteps,
        wake);
  }

  /** Changes the log of a stream; its methods block. Closed by the caller. */
  Operator newOperator(StreamSource source) {
    OperatorContext settings =
        new OperatorContext()
            .store(source.retryingStore())
            .agent(followers)
            .nanoClock(context.nanoClock())
            .timeoutNs(PROPOSE_NS);
    StreamDescriptor known = source.descriptor();
    // Few threads run these: none of them may wait for an answer of the store without a deadline.
    return known == null ? Operator.open(settings) : Operator.open(settings, known);
  }

  /** Wakes the agent's thread, from any other. */
  void wake() {
    wake.run();
  }

  /** Says a line to people. */
  void say(String line) {
    context.lines().accept(line);
  }

  @Override
  public void close() {
    background.shutdown();
    followers.close();
  }
}
