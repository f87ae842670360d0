package io.batchweave.bridge.daemon;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.client.MachineAgent;
import io.batchweave.client.ReaderContext;
import io.batchweave.client.StreamReader;
import io.batchweave.read.StepResult;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.NanoClock;
import org.jspecify.annotations.Nullable;

/**
 * What a session's steps are: a reader of its stream, opened in the background, asked without
 * waiting; whatever becomes known wakes the agent. Used by the agent's thread; opening and closing
 * run on another.
 */
final class StepFeed {
  private static final long REOPEN_NS = TimeUnit.SECONDS.toNanos(1);
  private static final StepResult OPENING = new StepResult.Loading();

  /**
   * Also a reader whose window is full, and which so reads nothing, looks whether it was
   * superseded.
   */
  private static final long LOOK_NS = TimeUnit.SECONDS.toNanos(5);

  private final StreamSource source;
  private final GroupWatch group;
  private final MachineAgent agent;
  private final NanoClock clock;
  private final ScheduledExecutorService opener;
  private final int windowSteps;
  private final Runnable wake;
  private volatile @Nullable StreamReader reader;
  private volatile String trouble;
  private volatile @Nullable BatchWeaveException failure;
  private volatile boolean closed;
  private long nextLookNs;

  StepFeed(
      StreamSource source,
      GroupWatch group,
      MachineAgent agent,
      NanoClock clock,
      ScheduledExecutorService opener,
      int windowSteps,
      Runnable wake) {
    this.source = source;
    this.group = group;
    this.agent = agent;
    this.clock = clock;
    this.opener = opener;
    this.windowSteps = windowSteps;
    this.wake = wake;
    this.trouble = "the stream is being opened: url=" + source.url();
    this.nextLookNs = clock.nanoTime() + LOOK_NS;
    opener.execute(this::open);
  }

  private void open() {
    if (closed) {
      return;
    }
    try {
      StreamReader opened =
          StreamReader.open(
              new ReaderContext()
                  .store(source.retryingStore())
                  .agent(agent)
                  .nanoClock(clock)
                  .onState(group::onState)
                  .windowSteps(windowSteps));
      reader = opened;
      trouble = "";
      opened.onChange(wake);
      wake.run();
      if (closed) {
        opened.close();
      }
    } catch (BatchWeaveException e) {
      trouble = String.valueOf(e.getMessage());
      if (e.kind() == Kind.CORRUPT || e.kind() == Kind.TOO_NEW) {
        failure = e;
      } else if (!closed) {
        var _ = opener.schedule(this::open, REOPEN_NS, TimeUnit.NANOSECONDS);
      }
    }
  }

  /**
   * What is known about a step now.
   *
   * @throws BatchWeaveException if the log cannot be followed any more
   */
  StepResult lookup(long step) {
    BatchWeaveException failed = failure;
    if (failed != null) {
      throw failed;
    }
    StreamReader open = reader;
    return open == null ? OPENING : open.lookup(step);
  }

  /** Says from which step on steps will be asked for. */
  void prefetchFrom(long step) {
    StreamReader open = reader;
    if (open != null) {
      open.prefetchFrom(step);
    }
  }

  /** The launch that has taken over from the one that is served; empty while none has. */
  String newerLaunch() {
    long now = clock.nanoTime();
    StreamReader open = reader;
    if (open != null && now - nextLookNs >= 0) {
      nextLookNs = now + LOOK_NS;
      open.look();
    }
    return group.newer();
  }

  /** The stream. */
  StreamSource source() {
    return source;
  }

  /** What keeps the stream from being read just now; empty if nothing does. */
  String trouble() {
    StreamReader open = reader;
    return open == null ? trouble : open.trouble();
  }

  /** Steps committed as far as known; -1 before the stream was opened. */
  long headStep() {
    StreamReader open = reader;
    return open == null ? -1 : open.nextStep();
  }

  /** Ends it; on another thread, since the reader may wait for its agent. */
  void close() {
    closed = true;
    StreamReader open = reader;
    if (open != null) {
      opener.execute(open::close);
    }
  }
}
