package io.batchweave.bridge.daemon;

import io.batchweave.BatchWeaveException;
import io.batchweave.bridge.handshake.Answer.Refused;
import io.batchweave.bridge.handshake.Hello;
import io.batchweave.bridge.handshake.RefusalCode;
import io.batchweave.client.Operator;
import io.batchweave.client.SessionOpening;
import io.batchweave.client.SessionOpening.Opened;
import io.batchweave.client.SessionRefusedException;
import java.util.concurrent.TimeUnit;

/**
 * One launch of a training job as the log has it: registered in the background because a rank on
 * this node said Hello, or found there. Asked by the agent's thread; the rest runs on another.
 */
final class Launch {
  /** How it stands. */
  sealed interface Standing {
    /** It is being registered, or looked for. */
    record Opening(String status) implements Standing {}

    /** It is live. */
    record Live(Opened opened) implements Standing {}

    /** It cannot be. */
    record Failed(Refused refused) implements Standing {}
  }

  private static final long AGAIN_NS = TimeUnit.MILLISECONDS.toNanos(200);

  private final DaemonParts parts;
  private final StreamSource source;
  private final String describe;
  private final SessionOpening opening;
  private volatile Standing standing;

  /**
   * Creates one and begins to register it.
   *
   * @param parts run what blocks, and wake the agent when it stands differently
   * @param source the stream
   * @param hello of the rank that came first
   */
  Launch(DaemonParts parts, StreamSource source, Hello hello) {
    this.parts = parts;
    this.source = source;
    this.describe = "group=" + hello.group() + " session=" + hello.session();
    // A rank that knows the view of its session was in it: it is live, or it is over.
    this.opening =
        hello.viewVersion() > 0
            ? SessionOpening.known(hello.group(), hello.session(), hello.viewVersion())
            : SessionOpening.of(
                hello.group(), hello.session(), HelloCheck.wantedStep(hello, 0), hello.takeover());
    this.standing = new Standing.Opening("the session is being registered: " + describe);
    parts.background().execute(this::open);
  }

  Standing standing() {
    return standing;
  }

  private void open() {
    Standing now = attempt();
    standing = now;
    if (now instanceof Standing.Opening) {
      var _ = parts.background().schedule(this::open, AGAIN_NS, TimeUnit.NANOSECONDS);
    }
    parts.wake();
  }

  private Standing attempt() {
    try (Operator operator = parts.newOperator(source)) {
      return new Standing.Live(opening.attempt(operator));
    } catch (SessionRefusedException refused) {
      return new Standing.Failed(
          new Refused(codeOf(refused.reason()), refused.getMessage(), refused.step(), -1, 0));
    } catch (BatchWeaveException e) {
      return e.isPassing()
          ? new Standing.Opening(
              "the session is not registered yet: " + describe + ": " + e.getMessage())
          : failed(e.getMessage());
    } catch (RuntimeException | Error defect) {
      return failed(defect.toString());
    }
  }

  private Standing failed(String text) {
    return new Standing.Failed(
        new Refused(
            RefusalCode.STREAM_FAILED,
            "the session was not registered: " + describe + ": " + text));
  }

  private static RefusalCode codeOf(SessionRefusedException.Reason reason) {
    return switch (reason) {
      case BELOW_HORIZON -> RefusalCode.RECLAIMED;
      case BEYOND_HEAD, NOT_NEWER -> RefusalCode.START_DISAGREES;
      case LIVE -> RefusalCode.SESSION_LIVE;
      case OVERTAKEN -> RefusalCode.SUPERSEDED;
      case OVER_LIMIT -> RefusalCode.MALFORMED;
    };
  }
}
