package io.batchweave.bridge.daemon;

import io.batchweave.BatchWeaveException;
import io.batchweave.bridge.ring.FailReason;
import io.batchweave.client.Change;
import io.batchweave.client.Operator;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * What becomes of a step whose bytes are gone or stay wrong. The log is asked before ranks are
 * told: what was reclaimed is RECLAIMED, whatever the store says; and where the daemon is to skip,
 * the skip is committed first, so that the next launch passes over the step on every node.
 */
final class FailedSteps {
  private static final long AGAIN_NS = TimeUnit.MILLISECONDS.toNanos(500);

  private final DaemonParts parts;

  FailedSteps(DaemonParts parts) {
    this.parts = parts;
  }

  /** Whether the log has a say in it. */
  boolean isJudged(FailReason reason) {
    return reason == FailReason.MISSING || (isSkipped() && reason == FailReason.CORRUPT);
  }

  private boolean isSkipped() {
    return parts.context().onCorrupt() == DaemonContext.OnCorrupt.SKIP;
  }

  /**
   * Asks the log, in the background.
   *
   * @param source the stream
   * @param step the step
   * @param failure why it failed
   * @param verdict told once, on another thread, what the ranks are to be told
   */
  void judge(StreamSource source, long step, FetchFailure failure, Consumer<FetchFailure> verdict) {
    parts.background().execute(() -> attempt(source, step, failure, verdict));
  }

  private void attempt(
      StreamSource source, long step, FetchFailure failure, Consumer<FetchFailure> verdict) {
    FetchFailure told;
    try (Operator operator = parts.newOperator(source)) {
      told = look(operator, step, failure);
    } catch (BatchWeaveException e) {
      if (e.isPassing()) {
        var _ =
            parts
                .background()
                .schedule(
                    () -> attempt(source, step, failure, verdict), AGAIN_NS, TimeUnit.NANOSECONDS);
        return;
      }
      told = with(failure, "; the log was no help: " + e.getMessage());
    } catch (RuntimeException | Error defect) {
      told = with(failure, "; the log was no help: " + defect);
    }
    verdict.accept(told);
    parts.wake();
  }

  private FetchFailure look(Operator operator, long step, FetchFailure failure) {
    long horizon = operator.state().horizon();
    if (step < horizon) {
      return new FetchFailure(
          FailReason.RECLAIMED,
          "the step was reclaimed: step="
              + step
              + " horizon="
              + horizon
              + "; resume from a newer checkpoint");
    }
    if (!isSkipped()) {
      return failure;
    }
    Change skip = operator.skip(step, step + 1);
    parts.say("step skipped for launches to come: step=" + step + " version=" + skip.version());
    return with(failure, "; launches from version " + skip.version() + " on pass over the step");
  }

  private static FetchFailure with(FetchFailure failure, String more) {
    return new FetchFailure(failure.reason(), failure.text() + more);
  }
}
