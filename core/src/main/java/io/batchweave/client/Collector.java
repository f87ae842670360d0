package io.batchweave.client;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.log.Bits;
import io.batchweave.retain.CollectReport;
import io.batchweave.retain.CollectorLoop;
import io.batchweave.retain.CollectorMachine;
import io.batchweave.retain.CollectorMachine.Phase;
import io.batchweave.store.Payload;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Deletes what no registered session or checkpoint can ask for: the blocking face of {@link
 * CollectorMachine}. Any number may work on one stream at once. Thread-safe; one run at a time.
 */
public final class Collector implements AutoCloseable {
  private static final long PROGRESS_NS = 500_000_000L;

  private final CollectorContext context;
  private final MachineAgent agent;
  private final Bits bits;
  private final Bits pauses;
  private final Signal closing;
  private volatile boolean closed;

  private Collector(CollectorContext context) {
    this.context = context;
    this.bits = new Bits(context.seed());
    this.pauses = new Bits(bits.nextLong());
    this.closing = new Signal(context.nanoClock());
    MachineAgent shared = context.agent();
    this.agent =
        shared != null ? shared : MachineAgent.start("batchweave-collector", context.nanoClock());
  }

  /**
   * Opens the stream.
   *
   * @param context settings; concluded here
   * @throws BatchWeaveException {@link Kind#CONFIG} if the root is no stream
   */
  public static Collector open(CollectorContext context) {
    context.conclude();
    Streams.describe(context.store());
    return new Collector(context);
  }

  /** When the first of many runs begins. */
  public enum First {
    /** Now. */
    AT_ONCE,
    /** Some time within the first interval: where many start together. */
    WITHIN_THE_INTERVAL
  }

  /** What the agent tells of a run. */
  private static final class Standing {
    private Phase phase = Phase.COMMIT;
    private @Nullable CollectReport report;
    private @Nullable BatchWeaveException failure;

    private boolean isOver() {
      return failure != null || (report != null && phase == Phase.DONE);
    }
  }

  /**
   * Runs once, for as long as it takes: every request is given up after some attempts.
   *
   * @return what was deleted
   * @throws BatchWeaveException {@link Kind#CORRUPT} if what may be deleted cannot be told; {@link
   *     Kind#RETRYABLE} after lasting trouble, or when closed meanwhile; {@link Kind#CONFIG}. What
   *     was deleted until then was rightly deleted
   */
  public synchronized CollectReport run() {
    Signal signal = new Signal(context.nanoClock());
    Standing standing = new Standing();
    CollectorMachine machine = new CollectorMachine(context.policy(), new Bits(bits.nextLong()));
    DrivenMachine driven =
        new DrivenMachine(
            agent,
            machine,
            context.store(),
            handle -> Payload.of(Bytes.EMPTY),
            new Events(machine, standing, signal));
    agent.drive(driven);
    try {
      while (!signal.await(standing::isOver, signal.deadlineNs(PROGRESS_NS))) {
        if (closed) {
          throw new BatchWeaveException(Kind.RETRYABLE, "collection stopped; run it again");
        }
        CollectReport report = signal.under(() -> standing.report);
        if (report != null) {
          context.progress().accept(signal.under(() -> standing.phase), report);
        }
      }
    } finally {
      driven.stop();
    }
    BatchWeaveException failure = signal.under(() -> standing.failure);
    if (failure != null) {
      throw failure;
    }
    return signal.under(() -> Objects.requireNonNull(standing.report, "a run that is over"));
  }

  /**
   * Runs again and again until closed. A run that is given up for passing trouble is followed by
   * the next like any other.
   *
   * @param intervalNs from the end of a run to the next, give or take a quarter, so that many
   *     collectors do not run in step
   * @param first when the first run begins
   * @param each takes what a run came to, on the caller's thread
   * @param trouble takes why a run was given up
   * @throws BatchWeaveException as {@link #run}, but for {@link Kind#RETRYABLE} and {@link
   *     Kind#UNKNOWN_OUTCOME}
   */
  public void runEvery(
      long intervalNs,
      First first,
      Consumer<CollectReport> each,
      Consumer<BatchWeaveException> trouble) {
    if (first == First.WITHIN_THE_INTERVAL) {
      rest(pauses.nextBelow(intervalNs));
    }
    while (!closed) {
      try {
        each.accept(run());
      } catch (BatchWeaveException e) {
        if (closed) {
          return;
        }
        if (!e.isPassing()) {
          throw e;
        }
        trouble.accept(e);
      }
      rest(CollectorLoop.pauseNs(intervalNs, pauses));
    }
  }

  private void rest(long restNs) {
    var _ = closing.await(() -> closed, closing.deadlineNs(restNs));
  }

  /** On the agent's thread. */
  private record Events(CollectorMachine machine, Standing standing, Signal signal)
      implements DrivenMachine.Observer {
    @Override
    public void afterEvent() {
      signal.update(() -> {
        standing.phase = machine.phase();
        standing.report = machine.report();
        standing.failure = machine.failure();
      });
    }

    @Override
    public void onFailure(Throwable thrown) {
      signal.update(() ->
          standing.failure =
              thrown instanceof BatchWeaveException known
                  ? known
                  : new BatchWeaveException(
                      Kind.RETRYABLE, "collection stopped by a defect: " + thrown, thrown));
    }
  }

  /** Stops a run that is going on, at the next opportunity. */
  @Override
  public void close() {
    closing.update(() -> closed = true);
    if (context.agent() == null) {
      agent.close();
    }
  }
}
