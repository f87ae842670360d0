package io.batchweave.bridge.daemon;

import io.batchweave.bridge.memory.Mapping;
import io.batchweave.bridge.ring.FetchMode;
import io.batchweave.store.ObjectStore;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/**
 * The fetch of one step's region: all its parts, each read in place, checked and read again where
 * that is worth a try. Belongs to the {@link Fetcher} that runs it.
 */
final class RegionFetch {
  /**
   * Where the bytes go.
   *
   * @param file the ring's data file
   * @param mapping the same, mapped
   * @param position first byte of the region in it
   */
  record Target(Path file, Mapping mapping, long position) {}

  /** Told, on the agent's thread, how a fetch ended; exactly one method is called, once. */
  interface Listener {
    /** Every byte is in place and checked. */
    void onFetched(RegionFetch fetch);

    /** It will not succeed; nothing writes to the region any more. */
    void onFailed(RegionFetch fetch, FetchFailure failure);

    /** It was cancelled; nothing writes to the region any more. */
    void onStopped(RegionFetch fetch);
  }

  /** Silence of a store that is worth a word. */
  private static final long SILENT_NS = TimeUnit.SECONDS.toNanos(1);

  private final ObjectStore store;
  private final RegionPlan plan;
  private final Target target;
  private final FetchMode mode;
  private final Listener listener;
  private int partsLeft;
  private int partsRunning;
  private int partsStarted;
  private int partsLeftSeen = -1;
  private long silentSinceNs;
  private boolean cancelled;
  private FetchFailure failure = FetchFailure.NONE;
  private String trouble = "";

  RegionFetch(
      ObjectStore store, RegionPlan plan, Target target, FetchMode mode, Listener listener) {
    this.store = store;
    this.plan = plan;
    this.target = target;
    this.mode = mode;
    this.listener = listener;
    this.partsLeft = plan.parts().size();
  }

  ObjectStore store() {
    return store;
  }

  RegionPlan plan() {
    return plan;
  }

  Target target() {
    return target;
  }

  /** Whether the bytes may be there already. */
  FetchMode mode() {
    return mode;
  }

  boolean isCancelled() {
    return cancelled;
  }

  /** What keeps it from succeeding just now; empty if nothing does. */
  String trouble() {
    return trouble;
  }

  /**
   * The same, with what a store that gives no answer at all does not say itself.
   *
   * @param nowNs the time; called in every duty cycle that asks
   */
  String troubleAt(long nowNs) {
    if (!trouble.isEmpty() || partsRunning == 0 || partsLeft != partsLeftSeen) {
      partsLeftSeen = partsLeft;
      silentSinceNs = nowNs;
      return trouble;
    }
    long silentNs = nowNs - silentSinceNs;
    int done = plan.parts().size() - partsLeft;
    return silentNs < SILENT_NS
        ? ""
        : "no answer from the store yet: step="
            + plan.step()
            + " key="
            + plan.key()
            + " attempts="
            + Math.max(1, partsStarted - done - partsRunning + 1)
            + " waitedMs="
            + silentNs / 1_000_000;
  }

  void trouble(String text) {
    trouble = text;
  }

  /** Whether no further request may start. */
  boolean isStopping() {
    return cancelled || !failure.equals(FetchFailure.NONE);
  }

  void cancel() {
    cancelled = true;
  }

  void fail(FetchFailure cause) {
    if (failure.equals(FetchFailure.NONE)) {
      failure = cause;
    }
  }

  void onPartStarted() {
    partsRunning++;
    partsStarted++;
  }

  void onPartStopped() {
    partsRunning--;
  }

  void onPartFetched() {
    partsLeft--;
    trouble = "";
  }

  /** Whether it came to its end. */
  boolean isDone() {
    return partsRunning == 0 && (partsLeft == 0 || isStopping());
  }

  /** Tells how it ended. */
  void report() {
    if (cancelled) {
      listener.onStopped(this);
    } else if (!failure.equals(FetchFailure.NONE)) {
      listener.onFailed(this, failure);
    } else {
      listener.onFetched(this);
    }
  }
}
