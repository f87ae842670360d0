package io.batchweave.bridge.daemon;

import io.batchweave.BatchWeaveException;
import io.batchweave.bridge.handshake.Answer;
import io.batchweave.bridge.handshake.Answer.Refused;
import io.batchweave.bridge.handshake.Checkpoint;
import io.batchweave.bridge.handshake.HandshakeProtocol;
import io.batchweave.bridge.handshake.Hello;
import io.batchweave.bridge.handshake.Question;
import io.batchweave.bridge.handshake.RefusalCode;
import io.batchweave.bridge.handshake.Request;
import io.batchweave.client.Operator;
import io.batchweave.client.SessionCheckpoint;
import io.batchweave.client.SessionOpening;
import io.batchweave.client.SessionRefusedException;
import io.batchweave.log.State;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * What ranks want of the log beside their steps: checkpoints registered, and how it stands. Done in
 * the background, once for all that ask the same; answered on the agent's thread.
 */
final class Errands {
  private static final int RETRY_MILLIS = 50;
  private static final long AGAIN_NS = TimeUnit.MILLISECONDS.toNanos(200);

  /** How long an answer is there for those who are about to ask again; then it would be old. */
  private static final long KEEP_NS = TimeUnit.SECONDS.toNanos(3);

  /** An errand that nobody has asked for in this time is not tried once more. */
  private static final long WANTED_NS = TimeUnit.SECONDS.toNanos(10);

  /** One of them; run on another thread until it has an answer. */
  private final class Errand implements Runnable {
    private final Request request;
    private final StreamSource source;
    private volatile String status;
    private volatile long wantedNs = now();
    private volatile @Nullable Done done;

    /** How many were told NOT_YET and have not come back; of the agent's thread. */
    private int owed;

    Errand(Request request, StreamSource source) {
      this.request = request;
      this.source = source;
      this.status = "the log is being asked: " + request.describe();
    }

    private void end(@Nullable Answer answer) {
      done = new Done(answer, now());
    }

    /** Whether whoever asks now has to begin anew. */
    boolean isOver(long now) {
      Done ended = done;
      return ended != null && (ended.answer() == null || now - ended.atNs() >= KEEP_NS);
    }

    @Nullable Answer answer() {
      Done ended = done;
      return ended == null ? null : ended.answer();
    }

    @Override
    public void run() {
      try (Operator operator = parts.newOperator(source)) {
        end(answer(operator));
      } catch (SessionRefusedException refused) {
        end(new Refused(codeOf(refused.reason()), refused.getMessage(), refused.step(), -1, 0));
      } catch (BatchWeaveException e) {
        if (e.isPassing()) {
          status = "the log did not decide yet: " + request.describe() + ": " + e.getMessage();
          if (now() - wantedNs < WANTED_NS) {
            var _ = parts.background().schedule(this, AGAIN_NS, TimeUnit.NANOSECONDS);
          } else {
            end(null);
          }
        } else {
          end(new Refused(RefusalCode.STREAM_FAILED, e.getMessage()));
        }
      } catch (RuntimeException | Error defect) {
        end(new Refused(RefusalCode.STREAM_FAILED, request.describe() + ": " + defect));
      }
      parts.wake();
    }

    private Answer answer(Operator operator) {
      return switch (request) {
        case Checkpoint it ->
            new Answer.Registered(
                new SessionCheckpoint(
                        it.group(), it.session(), it.viewVersion(), it.id(), it.step(), it.keep())
                    .attempt(operator));
        case Question it -> {
          SessionOpening.Opened opened =
              SessionOpening.known(it.group(), it.session(), it.viewVersion()).attempt(operator);
          State head = operator.state();
          long start = opened.session().startStep();
          // Below the horizon nobody knows any more what was skipped: the log has let go of it.
          long first = Math.max(start, head.horizon());
          yield new Answer.Status(
              head.nextStep(),
              head.horizon(),
              head.sealed(),
              start,
              opened.view().count(first, head.nextStep()));
        }
        case Hello hello -> throw new IllegalArgumentException("not an errand: " + hello);
      };
    }
  }

  /** What became of an errand; without an answer it was given up because nobody wanted one. */
  private record Done(@Nullable Answer answer, long atNs) {}

  /** A request that was not answered yet. */
  private record Waiting(Request request, Errand errand, long untilNs) {}

  private final DaemonParts parts;
  private final BiConsumer<Request, Answer> answers;
  private final Map<Request, Errand> errands = new HashMap<>();
  private final List<Waiting> waiting = new ArrayList<>();

  Errands(DaemonParts parts, BiConsumer<Request, Answer> answers) {
    this.parts = parts;
    this.answers = answers;
  }

  /** Begins what is wanted, unless it is under way; answered at the latest as NOT_YET. */
  void onRequest(Request request, StreamSource source) {
    Request what = request.withAttempt(0, 0);
    Errand errand = errands.get(what);
    if (errand == null || errand.isOver(now())) {
      errand = new Errand(request, source);
      errands.put(what, errand);
      parts.background().execute(errand);
    }
    errand.owed = Math.max(0, errand.owed - 1);
    errand.wantedNs = now();
    waiting.add(new Waiting(request, errand, now() + HandshakeProtocol.HOLD_NS));
  }

  private long now() {
    return parts.context().nanoClock().nanoTime();
  }

  /** Whether there are none. */
  boolean isIdle() {
    return errands.isEmpty() && waiting.isEmpty();
  }

  /** Answers what is done, and those that have waited long enough. */
  int doWork() {
    if (isIdle()) {
      return 0;
    }
    long now = now();
    int before = waiting.size();
    waiting.removeIf(each -> {
      Answer done = each.errand().answer();
      if (done == null && now - each.untilNs() < 0) {
        return false;
      }
      if (done == null) {
        each.errand().owed++;
        done = Refused.notYet(each.errand().status, RETRY_MILLIS);
      }
      answers.accept(each.request(), done);
      return true;
    });
    // An answer that came too late for who asked is there when he asks again, whoever else asks;
    // who asks for the first time has it looked up anew.
    errands
        .values()
        .removeIf(errand -> errand.isOver(now) || (errand.done != null && errand.owed == 0));
    return before - waiting.size();
  }

  private static RefusalCode codeOf(SessionRefusedException.Reason reason) {
    return switch (reason) {
      case BELOW_HORIZON -> RefusalCode.RECLAIMED;
      case BEYOND_HEAD, NOT_NEWER -> RefusalCode.CHECKPOINT;
      case LIVE, OVERTAKEN -> RefusalCode.SUPERSEDED;
      case OVER_LIMIT -> RefusalCode.MALFORMED;
    };
  }
}
