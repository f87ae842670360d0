package io.batchweave.client;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.commit.Decision;
import io.batchweave.commit.Proposal;
import io.batchweave.format.Block;
import io.batchweave.format.Limits;
import io.batchweave.log.GroupState;
import io.batchweave.log.PinState;
import io.batchweave.log.ProducerState;
import io.batchweave.log.SessionState;
import io.batchweave.log.SkipState;
import io.batchweave.log.State;
import io.batchweave.log.Verdict;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The blocks of an operator, each made from the state at the head: null where the stream is like
 * that already, an exception that says what to do where it cannot be.
 */
final class Registrations {
  private Registrations() {}

  static Proposal operatorPin(String group, String id, long step) {
    requireName("group", group);
    requireName("checkpoint", id);
    return state -> {
      GroupState now = state.group(group);
      for (PinState pin : now.pins()) {
        if (pin.byOperator() && pin.id().equals(id)) {
          if (pin.step() == step) {
            return null;
          }
          throw new BatchWeaveException(
              Kind.CONFIG,
              "checkpoint is registered with another step: group="
                  + group
                  + " id="
                  + id
                  + " step="
                  + pin.step()
                  + " asked="
                  + step
                  + "; remove it first, or use another id");
        }
      }
      requireInStream(state, "checkpoint id=" + id, step);
      return new Block.OperatorPin(group, id, step, now.changed());
    };
  }

  static Proposal unpin(String group, String id) {
    requireName("group", group);
    requireName("checkpoint", id);
    return state -> {
      GroupState now = state.group(group);
      boolean there = now.pins().stream().anyMatch(pin -> pin.id().equals(id));
      return there ? new Block.Unpin(group, id, now.changed()) : null;
    };
  }

  static Proposal endSession(String group, String sessionId) {
    requireName("group", group);
    requireName("session", sessionId);
    return state -> {
      SessionState live = state.group(group).session();
      return live != null && live.sessionId().equals(sessionId)
          ? new Block.EndSession(group, sessionId, state.group(group).changed())
          : null;
    };
  }

  static Proposal retire(String producer) {
    requireName("producer", producer);
    return state -> {
      ProducerState known = state.producer(producer);
      if (known == null) {
        throw new BatchWeaveException(
            Kind.CONFIG,
            "no such producer: producer="
                + producer
                + " known="
                + someProducers(state)
                + "; check its id");
      }
      return known.retired() ? null : new Block.Retire(producer, known.lastVersion());
    };
  }

  static Proposal skip(long from, long to) {
    if (from < 0 || from >= to) {
      throw new BatchWeaveException(
          Kind.CONFIG,
          "no steps to skip: from=" + from + " to=" + to + "; the first is included, to is not");
    }
    return state -> {
      if (skipped(state, from, to) != null) {
        return null;
      }
      requireInStream(state, "skip", from);
      if (to > state.nextStep()) {
        throw new BatchWeaveException(
            Kind.CONFIG,
            "skip of steps that are not there yet: to="
                + to
                + " nextStep="
                + state.nextStep()
                + "; a skip is never taken back, name committed steps only");
      }
      return new Block.Skip(from, to, state.lastSkipVersion());
    };
  }

  /** The first skip that covers all of these steps; null if none does. */
  static @Nullable SkipState skipped(State state, long from, long to) {
    for (SkipState skip : state.skips()) {
      if (skip.from() <= from && to <= skip.to()) {
        return skip;
      }
    }
    return null;
  }

  /** For a block that the fold refused for a reason that another try would not remove. */
  static BatchWeaveException refused(Decision decision) {
    boolean limit = decision.verdict() == Verdict.OVER_LIMIT;
    return new BatchWeaveException(
        limit ? Kind.LIMIT : Kind.CONFIG,
        "refused for ever: verdict="
            + decision.verdict()
            + " block="
            + decision.block()
            + " version="
            + decision.version()
            + (limit ? "; remove checkpoints or let the horizon pass skips first" : ""));
  }

  /** Whether the thing changed under the block, which then never takes effect: make a new one. */
  static boolean overtaken(Decision decision) {
    return switch (decision.verdict()) {
      case WRONG_BASE, STEP_OUT_OF_RANGE, NO_SUCH_SESSION, NO_SUCH_PIN, RETIRED -> true;
      default -> false;
    };
  }

  private static void requireName(String what, String name) {
    if (!Limits.NAME_PATTERN.matcher(name).matches()) {
      throw new BatchWeaveException(
          Kind.CONFIG,
          "bad name: " + what + "=" + name + "; names are 1 to 64 characters of a-z, 0-9 and -");
    }
  }

  private static void requireInStream(State state, String what, long step) {
    if (step < state.horizon()) {
      throw new BatchWeaveException(
          Kind.RECLAIMED,
          what
              + " is below the horizon: step="
              + step
              + " horizon="
              + state.horizon()
              + "; those steps were deleted, the lowest that can be named is the horizon");
    }
    if (step > state.nextStep()) {
      throw new BatchWeaveException(
          Kind.CONFIG,
          what
              + " is beyond the head: step="
              + step
              + " nextStep="
              + state.nextStep()
              + "; is it of another stream?");
    }
  }

  private static String someProducers(State state) {
    List<String> names = new ArrayList<>();
    state.forEachProducer((name, producer) -> names.add(name));
    names.sort(null);
    return names.size() <= 8 ? names.toString() : names.subList(0, 8) + " and more";
  }
}
