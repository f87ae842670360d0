package io.batchweave.bridge.daemon;

import io.batchweave.bridge.daemon.StepSource.Answer.End;
import io.batchweave.bridge.daemon.StepSource.Answer.Known;
import io.batchweave.bridge.daemon.StepSource.Answer.Later;
import io.batchweave.bridge.daemon.StepSource.Answer.Never;
import io.batchweave.bridge.ring.FailReason;
import io.batchweave.bridge.ring.FetchOutcome;
import io.batchweave.bridge.ring.RingCommand;
import io.batchweave.bridge.ring.RingMachine;
import io.batchweave.bridge.ring.StepRegion;
import io.batchweave.bridge.ring.TableDescriptor;
import io.batchweave.store.ObjectStore;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.agrona.collections.Long2ObjectHashMap;
import org.agrona.collections.LongHashSet;
import org.agrona.concurrent.ManyToOneConcurrentLinkedQueue;
import org.agrona.concurrent.NanoClock;
import org.jspecify.annotations.Nullable;

/**
 * The fetches of one ring: starts what the machine asks for, tells it how each one ended. Of all
 * that a ring wants the fetcher, which takes turns by order of arrival, has no more than twice as
 * many regions at once as it may have requests in flight: so no ring waits for all that another
 * wants.
 */
final class RingFetches {
  private final Fetcher fetcher;
  private final int mostBegun;
  private final RingFiles.DataFile data;
  private final RingMachine machine;
  private final Runnable afterEnd;
  private final Long2ObjectHashMap<RegionFetch> running = new Long2ObjectHashMap<>();

  /** Of those, what the fetcher does not have yet. */
  private final ArrayDeque<RegionFetch> planned = new ArrayDeque<>();

  private final List<RingCommand.Fetch> unplanned = new ArrayList<>();
  private final FailedSteps failedSteps;
  private final NanoClock clock;

  /** Fetches that have failed, and of which the log has not said yet what to tell. */
  private final LongHashSet judged = new LongHashSet();

  private final ManyToOneConcurrentLinkedQueue<Verdict> verdicts =
      new ManyToOneConcurrentLinkedQueue<>();

  /** What is to be told about a fetch. */
  private record Verdict(long fetchId, FetchFailure failure) {}

  /**
   * Creates it.
   *
   * @param parts what all rings share
   * @param data where they go
   * @param machine told how each fetch ended
   * @param afterEnd called after that
   */
  RingFetches(DaemonParts parts, RingFiles.DataFile data, RingMachine machine, Runnable afterEnd) {
    this.fetcher = parts.fetcher();
    this.mostBegun = 2 * parts.context().concurrentFetches();
    this.failedSteps = new FailedSteps(parts);
    this.clock = parts.context().nanoClock();
    this.data = data;
    this.machine = machine;
    this.afterEnd = afterEnd;
  }

  /** Starts one, now or, while its step is not described yet, in a later duty cycle. */
  void start(RingCommand.Fetch command, @Nullable StepSource steps, @Nullable ObjectStore store) {
    if (steps == null || store == null || !tryStart(command, steps, store)) {
      unplanned.add(command);
    }
  }

  /** Tells the machine what the log has decided about fetches that failed. */
  int tellVerdicts() {
    int work = 0;
    for (@Nullable Verdict next = verdicts.poll(); next != null; next = verdicts.poll()) {
      work++;
      if (judged.remove(next.fetchId())) {
        machine.onFetchFinished(
            next.fetchId(), FetchOutcome.FAILED, next.failure().reason(), next.failure().text());
        afterEnd.run();
      }
    }
    return work;
  }

  /** Starts what could not be started before. */
  int startWaiting(@Nullable StepSource steps, @Nullable ObjectStore store) {
    if (steps == null || store == null || unplanned.isEmpty()) {
      return 0;
    }
    int before = unplanned.size();
    unplanned.removeIf(command -> tryStart(command, steps, store));
    return before - unplanned.size();
  }

  private boolean tryStart(RingCommand.Fetch command, StepSource steps, ObjectStore store) {
    StepRegion region = command.region();
    steps.coordinates(machine.coordinates());
    switch (steps.lookup(region.step())) {
      case Later later -> {
        return false;
      }
      case End end ->
          machine.onFetchFinished(
              command.fetchId(), FetchOutcome.FAILED, FailReason.CORRUPT, "the step is gone");
      case Never never ->
          machine.onFetchFinished(
              command.fetchId(), FetchOutcome.FAILED, never.reason(), never.text());
      case Known known -> {
        RegionFetch fetch =
            new RegionFetch(
                store,
                known.plan(),
                new RegionFetch.Target(data.path(), data.mapping(), region.offset()),
                command.mode(),
                new FetchEnd(command.fetchId(), region, steps.feed().source()));
        running.put(command.fetchId(), fetch);
        planned.add(fetch);
        begin();
      }
    }
    return true;
  }

  private void begin() {
    while (!planned.isEmpty() && running.size() - planned.size() < mostBegun) {
      fetcher.start(planned.remove());
    }
  }

  /** Asks one to give up; the machine is told when nothing writes any more. */
  void cancel(long fetchId) {
    RegionFetch fetch = running.get(fetchId);
    if (fetch != null && planned.remove(fetch)) {
      running.remove(fetchId);
      machine.onFetchFinished(fetchId, FetchOutcome.CANCELLED, null, "");
    } else if (fetch != null) {
      fetcher.cancel(fetch);
    } else if (judged.remove(fetchId)
        || unplanned.removeIf(command -> command.fetchId() == fetchId)) {
      machine.onFetchFinished(fetchId, FetchOutcome.CANCELLED, null, "");
    }
  }

  /** Whether nothing is fetched, waits to be, or is judged. */
  boolean isIdle() {
    return running.isEmpty() && unplanned.isEmpty() && judged.isEmpty();
  }

  /** What keeps the first of them from succeeding; empty if nothing does. */
  String trouble() {
    RegionFetch first = null;
    for (RegionFetch fetch : running.values()) {
      if (first == null || fetch.plan().step() < first.plan().step()) {
        first = fetch;
      }
    }
    return first == null ? "" : first.troubleAt(clock.nanoTime());
  }

  /** Tells the machine how a fetch ended. */
  private final class FetchEnd implements RegionFetch.Listener {
    private final long fetchId;
    private final StepRegion region;
    private final StreamSource source;

    FetchEnd(long fetchId, StepRegion region, StreamSource source) {
      this.fetchId = fetchId;
      this.region = region;
      this.source = source;
    }

    @Override
    public void onFetched(RegionFetch fetch) {
      TableDescriptor.write(
          data.mapping().segment().asSlice(region.offset(), region.lengthBytes()),
          region.step(),
          StepSource.table(fetch.plan()));
      end(FetchOutcome.COMPLETE, null, "");
    }

    @Override
    public void onFailed(RegionFetch fetch, FetchFailure failure) {
      if (!failedSteps.isJudged(failure.reason())) {
        end(FetchOutcome.FAILED, failure.reason(), failure.text());
        return;
      }
      remove();
      judged.add(fetchId);
      failedSteps.judge(
          source, region.step(), failure, told -> verdicts.add(new Verdict(fetchId, told)));
    }

    @Override
    public void onStopped(RegionFetch fetch) {
      end(FetchOutcome.CANCELLED, null, "");
    }

    private void end(FetchOutcome outcome, @Nullable FailReason reason, String text) {
      remove();
      machine.onFetchFinished(fetchId, outcome, reason, text);
      afterEnd.run();
    }

    private void remove() {
      running.remove(fetchId);
      begin();
    }
  }
}
