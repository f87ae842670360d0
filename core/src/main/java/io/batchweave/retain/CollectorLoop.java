package io.batchweave.retain;

import io.batchweave.BatchWeaveException;
import io.batchweave.log.Bits;
import io.batchweave.log.Fingerprint;
import io.batchweave.log.Machine;
import io.batchweave.store.StoreResponse;
import org.jspecify.annotations.Nullable;

/**
 * Runs of the collector, one after another, for ever: the next begins an interval after the last
 * one ended, give or take a quarter, so that many loops do not run in step. A run that was given up
 * for passing trouble is followed like any other; any other failure stops the loop.
 */
public final class CollectorLoop implements Machine<CollectorLoop> {
  private static final long IDS_PER_RUN = 1L << 44;

  private final CollectPolicy policy;
  private final long intervalNs;
  private final Bits bits;
  private CollectorMachine run;
  private long runs;
  private boolean waiting;
  private long nextRunNs = AT_ONCE;
  private @Nullable CollectReport lastReport;
  private @Nullable BatchWeaveException lastFailure;

  /**
   * Creates a loop; its first run begins at the first {@link #onTime}.
   *
   * @param policy of every run
   * @param intervalNs from the end of a run to the next one
   * @param bits ids and spacing: two machines must never share a seed
   */
  public CollectorLoop(CollectPolicy policy, long intervalNs, Bits bits) {
    if (intervalNs < 1) {
      throw new IllegalArgumentException("interval must be positive: intervalNs=" + intervalNs);
    }
    this.policy = policy;
    this.intervalNs = intervalNs;
    this.bits = bits;
    this.run = new CollectorMachine(policy, new Bits(bits.nextLong()));
  }

  private CollectorLoop(CollectorLoop other) {
    this.policy = other.policy;
    this.intervalNs = other.intervalNs;
    this.bits = other.bits.copy();
    this.run = other.run.copy();
    this.runs = other.runs;
    this.waiting = other.waiting;
    this.nextRunNs = other.nextRunNs;
    this.lastReport = other.lastReport;
    this.lastFailure = other.lastFailure;
  }

  /** The run that is going on, or the last one. */
  public CollectorMachine run() {
    return run;
  }

  /** Runs that have ended, well or not. */
  public long runs() {
    return runs;
  }

  /** What the last run that was finished came to; null before. */
  public @Nullable CollectReport lastReport() {
    return lastReport;
  }

  /** Why the last run that ended was given up; null if it was not. */
  public @Nullable BatchWeaveException lastFailure() {
    return lastFailure;
  }

  /** Whether it has stopped for good: {@link #lastFailure} says why. */
  public boolean stopped() {
    BatchWeaveException failure = run.failure();
    return failure != null && !failure.isPassing();
  }

  /**
   * From the end of a run to the next: the interval, give or take a quarter, so that many
   * collectors do not run in step.
   *
   * @param intervalNs the interval
   * @param bits where the quarter is drawn from
   */
  public static long pauseNs(long intervalNs, Bits bits) {
    return intervalNs * 3 / 4 + bits.nextBelow(intervalNs / 2 + 1);
  }

  @Override
  public void onResponse(long requestId, StoreResponse response, long nowNs, Requests requests) {
    if (requestId / IDS_PER_RUN == runs && !waiting) {
      run.onResponse(requestId % IDS_PER_RUN, response, nowNs, sub(requests));
      afterRun(nowNs);
    }
  }

  @Override
  public void onTime(long nowNs, Requests requests) {
    if (waiting && nowNs >= nextRunNs && !stopped()) {
      waiting = false;
      run = new CollectorMachine(policy, new Bits(bits.nextLong()));
    }
    if (!waiting) {
      run.onTime(nowNs, sub(requests));
      afterRun(nowNs);
    }
  }

  private Requests sub(Requests requests) {
    long firstId = runs * IDS_PER_RUN;
    return (id, request) -> requests.send(firstId + id, request);
  }

  private void afterRun(long nowNs) {
    switch (run.phase()) {
      case DONE -> {
        lastReport = run.report();
        lastFailure = null;
      }
      case FAILED -> lastFailure = run.failure();
      default -> {
        return;
      }
    }
    runs++;
    waiting = true;
    nextRunNs = nowNs + pauseNs(intervalNs, bits);
  }

  @Override
  public long wakeAtNs() {
    if (!waiting) {
      return run.wakeAtNs();
    }
    return stopped() ? Long.MAX_VALUE : nextRunNs;
  }

  @Override
  public CollectorLoop copy() {
    return new CollectorLoop(this);
  }

  @Override
  public long fingerprint() {
    return Fingerprint.of(run.fingerprint(), runs, waiting, nextRunNs, bits.fingerprint());
  }
}
