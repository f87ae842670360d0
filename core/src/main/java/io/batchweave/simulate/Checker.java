package io.batchweave.simulate;

import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.commit.Decision;
import io.batchweave.format.Block;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SliceEntry;
import io.batchweave.format.SourceState;
import io.batchweave.format.TgbEntry;
import io.batchweave.log.State;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Holds what the store contains at the end, and everything that any process was told, against the
 * {@link Promise}s. What was noticed while it happened is among its findings.
 */
final class Checker {
  private final long seed;
  private final ModelStore store;
  private final Chronicle told;
  private final Witness witness;
  private final List<Violation> violations = new ArrayList<>();

  Checker(long seed, ModelStore store, Chronicle told, Witness witness) {
    this.seed = seed;
    this.store = store;
    this.told = told;
    this.witness = witness;
  }

  /** Runs every predicate. */
  List<Violation> violations() {
    for (Chronicle.Broken broken : told.broken) {
      report(broken.promise(), broken.process(), broken.version(), broken.detail());
    }
    everyStepReadable();
    eachBatchOnceInOrder();
    sourceStateMatches();
    acknowledgedIsInTheLog();
    acknowledgedOnceInOrder();
    failedIsNeverInTheLog();
    fencedOnlyByAnother();
    stoppedWithReason();
    decisionIsTheFold();
    readIsTheLog();
    stepsOfTheView();
    sameBytesForAll();
    endOnlyWhenSealed();
    return violations;
  }

  private void report(Promise promise, String process, long version, String detail) {
    violations.add(new Violation(seed, promise, process, version, detail));
  }

  private @Nullable TgbEntry entry(long step) {
    List<TgbEntry> entries = witness.entries();
    return step >= 0 && step < entries.size() ? entries.get((int) step) : null;
  }

  /** Steps that this seed added, from the horizon on, name data that is there as recorded. */
  private void everyStepReadable() {
    long first = Math.max(witness.state().horizon(), witness.firstOwnStep());
    for (long step = first; step < witness.entries().size(); step++) {
      readable(step, witness.entries().get((int) step));
    }
  }

  private void readable(long step, TgbEntry entry) {
    String key = ObjectNames.data(entry.object());
    Bytes body = store.objects().get(key);
    if (body == null || !sound(body, entry)) {
      report(
          Promise.EVERY_STEP_READABLE,
          "store",
          0,
          "step="
              + step
              + " seq="
              + entry.seq()
              + " key="
              + key
              + (body == null ? " missing" : " differs"));
    }
  }

  private static boolean sound(Bytes body, TgbEntry entry) {
    boolean sound = body.length() >= entry.offset() + entry.lengthBytes();
    for (int dp = 0; sound && dp < entry.slices().size(); dp++) {
      SliceEntry slice = entry.slices().get(dp);
      byte[] bytes = new byte[(int) slice.lengthBytes()];
      body.asByteBuffer().get((int) slice.offset(), bytes);
      sound = RankMachine.crc32c(Bytes.wrap(bytes)) == slice.crc32c();
    }
    return sound;
  }

  /** The n-th entry of a producer is seq n, and holds the n-th batch of its source. */
  private void eachBatchOnceInOrder() {
    Map<String, Long> nextSeqs = new HashMap<>();
    for (int step = 0; step < witness.entries().size(); step++) {
      TgbEntry entry = witness.entries().get(step);
      String producer = entry.object().producer();
      long expected = nextSeqs.merge(producer, 1L, Long::sum);
      SliceEntry slice = entry.slices().getFirst();
      Bytes made = Source.slice(producer, expected, 0);
      if (entry.seq() != expected
          || slice.lengthBytes() != made.length()
          || slice.crc32c() != RankMachine.crc32c(made)) {
        report(
            Promise.EACH_BATCH_ONCE_IN_ORDER,
            "store",
            0,
            "producer=" + producer + " step=" + step + " seq=" + entry.seq() + " n=" + expected);
      }
    }
  }

  private void sourceStateMatches() {
    witness
        .state()
        .forEachProducer((producer, folded) -> {
          if (folded.retired()) {
            return;
          }
          Bytes bytes =
              switch (folded.sourceState()) {
                case SourceState.Inline(Bytes inline) -> inline;
                case SourceState.External external ->
                    store.objects().get(ObjectNames.state(external.object()));
              };
          long position = bytes == null ? -1 : Source.position(bytes);
          if (position != folded.nextSeq() - 1) {
            report(
                Promise.SOURCE_STATE_MATCHES,
                "store",
                folded.lastVersion(),
                "producer=" + producer + " position=" + position + " nextSeq=" + folded.nextSeq());
          }
        });
    for (Chronicle.Began began : told.began) {
      if (began.position() != began.nextSeq() - 1) {
        report(Promise.SOURCE_STATE_MATCHES, began.process(), 0, began.toString());
      }
    }
  }

  /** Acknowledged: there, and with an object that this very epoch named. */
  private void acknowledgedIsInTheLog() {
    Map<String, Integer> epochs = new HashMap<>();
    told.began.forEach(began -> epochs.put(began.process(), began.epoch()));
    for (Chronicle.Acknowledged ack : told.acknowledged) {
      TgbEntry entry = entry(ack.step());
      boolean holds =
          entry != null
              && entry.seq() == ack.seq()
              && entry.object().producer().equals(ack.producer())
              && entry.object().epoch() == epochs.getOrDefault(ack.process(), -1);
      if (!holds) {
        report(Promise.ACKNOWLEDGED_IS_IN_THE_LOG, ack.process(), 0, ack + " log=" + entry);
      }
    }
  }

  private void acknowledgedOnceInOrder() {
    Map<String, Long> nextSeqs = new HashMap<>();
    told.began.forEach(began -> nextSeqs.put(began.process(), began.nextSeq()));
    for (Chronicle.Acknowledged ack : told.acknowledged) {
      long expected = nextSeqs.getOrDefault(ack.process(), -1L);
      if (ack.seq() != expected) {
        report(Promise.ACKNOWLEDGED_ONCE_IN_ORDER, ack.process(), 0, ack + " expected=" + expected);
      }
      nextSeqs.put(ack.process(), ack.seq() + 1);
    }
  }

  private void failedIsNeverInTheLog() {
    Map<String, Integer> epochs = new HashMap<>();
    told.began.forEach(began -> epochs.put(began.process(), began.epoch()));
    for (Chronicle.ReportedFailed failed : told.reportedFailed) {
      for (int step = 0; step < witness.entries().size(); step++) {
        TgbEntry entry = witness.entries().get(step);
        if (entry.seq() == failed.seq()
            && entry.object().producer().equals(failed.producer())
            && entry.object().epoch() == epochs.getOrDefault(failed.process(), -1)) {
          report(Promise.FAILED_IS_NEVER_IN_THE_LOG, failed.process(), 0, failed + " step=" + step);
        }
      }
    }
  }

  private void fencedOnlyByAnother() {
    for (Chronicle.Stopped stopped : told.stopped) {
      if (stopped.cause().kind() != Kind.FENCED) {
        continue;
      }
      boolean replaced = false;
      for (Witness.Accepted accepted : witness.accepted()) {
        replaced |=
            accepted.block() instanceof Block.Fence fence
                && fence.producer().equals(stopped.producer())
                && fence.epoch() > stopped.epoch();
      }
      if (!replaced) {
        report(Promise.FENCED_ONLY_BY_ANOTHER, stopped.process(), 0, stopped.toString());
      }
    }
  }

  /** Fenced, retired and sealed are reasons; nothing else happens in a simulation. */
  private void stoppedWithReason() {
    State state = witness.state();
    for (Chronicle.Stopped stopped : told.stopped) {
      var folded = state.producer(stopped.producer());
      boolean reason =
          stopped.cause().kind() == Kind.FENCED
              || state.sealed()
              || (folded != null && folded.retired());
      if (!reason) {
        report(Promise.NO_UNEXPECTED_STOP, stopped.process(), 0, stopped.toString());
      }
    }
  }

  private void decisionIsTheFold() {
    for (Chronicle.Decided decided : told.decided) {
      Decision decision = decided.decision();
      Block block = decision.block();
      if (block == null) {
        continue;
      }
      boolean ever =
          witness.accepted().stream().anyMatch(accepted -> accepted.block().equals(block));
      boolean holds =
          decision.accepted()
              ? witness.accepted(block, decision.version())
              : !ever || block instanceof Block.Seal;
      if (!holds) {
        report(
            Promise.DECISION_IS_THE_FOLD,
            decided.process(),
            decision.version(),
            decision + (decision.accepted() ? " is not in the log" : " is in the log"));
      }
    }
  }

  private void readIsTheLog() {
    for (Chronicle.Described described : told.described) {
      if (!described.entry().equals(entry(described.step()))) {
        report(
            Promise.READ_IS_THE_LOG,
            described.process(),
            0,
            described + " log=" + entry(described.step()));
      }
    }
  }

  /** What is skipped is told by the accepted blocks, not by the state that readers ask. */
  private void stepsOfTheView() {
    Map<String, Long> lastSteps = new HashMap<>();
    for (Chronicle.Described described : told.described) {
      String rank = described.process();
      long view = told.views.getOrDefault(rank, 0L);
      Long last = lastSteps.put(rank, described.step());
      if (skipped(described.step(), view)) {
        report(Promise.STEPS_OF_THE_VIEW, rank, view, "reads a skipped step: " + described.step());
      }
      for (long step = last == null ? described.step() : last + 1;
          step < described.step();
          step++) {
        if (!skipped(step, view) && step >= witness.state().horizon()) {
          report(Promise.STEPS_OF_THE_VIEW, rank, view, "passes over step " + step);
        }
      }
    }
  }

  private boolean skipped(long step, long view) {
    for (Witness.Accepted accepted : witness.accepted()) {
      if (accepted.version() <= view
          && accepted.block() instanceof Block.Skip skip
          && skip.from() <= step
          && step < skip.to()) {
        return true;
      }
    }
    return false;
  }

  private void sameBytesForAll() {
    for (Chronicle.Read read : told.read) {
      if (!read.right()) {
        report(Promise.SAME_BYTES_FOR_ALL, read.process(), 0, read.toString());
      }
    }
  }

  private void endOnlyWhenSealed() {
    for (Chronicle.Ended ended : told.ended) {
      State state = witness.state();
      if (!state.sealed()
          || ended.endStep() != state.nextStep()
          || ended.step() < ended.endStep()) {
        report(Promise.END_ONLY_WHEN_SEALED, ended.process(), 0, ended.toString());
      }
    }
  }
}
