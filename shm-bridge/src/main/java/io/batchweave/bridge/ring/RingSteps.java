package io.batchweave.bridge.ring;

import io.batchweave.bridge.ring.RegionRing.Item;
import io.batchweave.bridge.ring.RingGeneration.Ending;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The steps of the newest generation on their way into the ring: a place for each, its fetch, its
 * publication. Knows nothing of ranks; whether a step is wanted is asked before.
 */
final class RingSteps {
  private final RingSettings settings;
  private final RingGeneration newest;
  private final List<RingCommand> commands;

  /** Unfinished fetches. */
  private final Map<Long, Item> fetches = new TreeMap<>();

  private long nextFetchId = 1;
  private long blockedBytes;

  /** Those of a generation; what is to be done is added to the commands. */
  RingSteps(RingSettings settings, RingGeneration newest, List<RingCommand> commands) {
    this.settings = settings;
    this.newest = newest;
    this.commands = commands;
  }

  /** The same for copies of generation and commands. */
  RingSteps copy(RingGeneration copiedNewest, List<RingCommand> copiedCommands) {
    RingSteps copy = new RingSteps(settings, copiedNewest, copiedCommands);
    for (Item item : copiedNewest.ring.items()) {
      if (item.fetchId >= 0) {
        copy.fetches.put(item.fetchId, item);
      }
    }
    copy.nextFetchId = nextFetchId;
    copy.blockedBytes = blockedBytes;
    return copy;
  }

  void hash(StateHash hash) {
    hash.fetches(fetches.keySet()).fetch(nextFetchId);
    hash.addWhere(false, blockedBytes); // only for those who ask how the ring stands
  }

  /** Whether no fetch is unfinished. */
  boolean isIdle() {
    return fetches.isEmpty();
  }

  /**
   * Bytes of the wanted step while it does not fit, else 0: room may have come since it was tried.
   */
  long blockedBytes() {
    return blockedBytes > 0 && newest.ring.place(blockedBytes) < 0 ? blockedBytes : 0;
  }

  /** No step waits for room any more. */
  void unblock() {
    blockedBytes = 0;
  }

  /**
   * Gives the next step a place and fetches it there; fails it when it can never have one.
   *
   * @return false when there is no room now
   */
  boolean append(long step, long stepAfter, long regionBytes) {
    if (regionBytes > settings.ringLengthBytes() / (settings.hold() + 2)) {
      fail(
          step,
          FailReason.LIMIT,
          "the ring is too small for the step: step="
              + step
              + " needed="
              + settings.neededBytes(regionBytes)
              + " memory="
              + settings.ringLengthBytes()
              + "; serve with --memory of at least what is needed");
      return true;
    }
    long offset = newest.ring.place(regionBytes);
    if (offset < 0) {
      blockedBytes = regionBytes;
      return false;
    }
    blockedBytes = 0;
    StepRegion region = new StepRegion(step, stepAfter, offset, regionBytes);
    Item item = newest.ring.append(region, newest.nextN);
    commands.add(new RingCommand.Allocate(newest.nextN, region));
    fetch(item, FetchMode.FRESH);
    newest.nextN++;
    newest.nextStep = stepAfter;
    return true;
  }

  /** The stream is sealed at the next step. */
  void end(long step) {
    finish(Ending.END, step, ControlDescriptor.KIND_END, 0, "");
  }

  /** The next step can never be served. */
  void fail(long step, FailReason reason, String text) {
    finish(Ending.FAILED, step, ControlDescriptor.KIND_FAILED, reason.code(), text);
  }

  private void finish(Ending how, long step, int kind, int reason, String text) {
    blockedBytes = 0;
    commands.add(new RingCommand.Allocate(newest.nextN, new StepRegion(step, step, 0, 0)));
    commands.add(new RingCommand.Publish(newest.nextN, kind, reason, text));
    newest.end(how, step, newest.nextN++);
  }

  /** Fetches what has its place already, unless the right bytes are there. */
  void fetchKept(List<Item> kept) {
    kept.forEach(item -> fetch(item, FetchMode.VERIFY_FIRST));
  }

  private void fetch(Item item, FetchMode mode) {
    item.fetchId = nextFetchId++;
    item.published = false;
    fetches.put(item.fetchId, item);
    commands.add(new RingCommand.Fetch(item.fetchId, item.n, item.region, mode));
  }

  /** Gives up all fetches; each is still awaited. */
  void cancelAll() {
    for (Long fetchId : fetches.keySet()) {
      commands.add(new RingCommand.Cancel(fetchId));
    }
  }

  /**
   * A fetch ended.
   *
   * @param isOpen whether what it fetched may be published
   * @return false when it is not known
   */
  boolean finished(
      long fetchId,
      FetchOutcome outcome,
      @Nullable FailReason reason,
      String text,
      boolean isOpen) {
    Item item = fetches.remove(fetchId);
    if (item == null) {
      return false;
    }
    item.fetchId = -1;
    if (isOpen && item.n >= 0 && !newest.isAfterEnding(item)) {
      switch (outcome) {
        case COMPLETE -> {
          item.published = true;
          commands.add(new RingCommand.Publish(item.n, ControlDescriptor.KIND_READY, 0, ""));
        }
        case FAILED -> failFetched(item, reason == null ? FailReason.CORRUPT : reason, text);
        case CANCELLED -> fetch(item, FetchMode.VERIFY_FIRST);
      }
    }
    return true;
  }

  private void failFetched(Item item, FailReason reason, String text) {
    commands.add(
        new RingCommand.Publish(item.n, ControlDescriptor.KIND_FAILED, reason.code(), text));
    newest.end(Ending.FAILED, item.region.step(), item.n);
    blockedBytes = 0;
    for (Item later : newest.ring.items()) {
      if (later.n > item.n && later.fetchId >= 0) {
        commands.add(new RingCommand.Cancel(later.fetchId));
      }
    }
  }
}
