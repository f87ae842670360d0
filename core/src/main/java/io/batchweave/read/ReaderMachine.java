package io.batchweave.read;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.Grid;
import io.batchweave.format.Limits;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.TgbEntry;
import io.batchweave.format.TgbFooter;
import io.batchweave.format.TgbLayout;
import io.batchweave.log.Bits;
import io.batchweave.log.Fingerprint;
import io.batchweave.log.FollowPolicy;
import io.batchweave.log.LogEvent;
import io.batchweave.log.LogFollower;
import io.batchweave.log.LogFollower.Mode;
import io.batchweave.log.Machine;
import io.batchweave.log.StepLookup;
import io.batchweave.store.ByteRange;
import io.batchweave.store.StoreRequest;
import io.batchweave.store.StoreResponse;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Follows a stream and describes the steps of a window, without I/O: entries come from the log or,
 * far behind it, from segments; slice tables too large for an entry come from the footers. While
 * the whole window is described, nothing is read.
 */
public final class ReaderMachine implements Machine<ReaderMachine> {
  private static final int OWNERS_OF_IDS = 2;
  private static final int LOG = 0;
  private static final int SELF = 1;
  private static final int MAX_FOOTERS_IN_FLIGHT = 8;
  private static final long FOOTER_TIMEOUT_NS = 60_000_000_000L;
  private static final long MIN_BACKOFF_NS = 50_000_000L;
  private static final long MAX_BACKOFF_NS = 5_000_000_000L;
  private static final long NOT_SENT = -1;

  /** A footer to be read. */
  private record Footer(
      TgbEntry entry, long requestId, long dueAtNs, int failures, boolean missing) {}

  private final LogFollower log;
  private final Bits bits;
  private final int windowSteps;
  private final TreeMap<Long, StepResult> described;
  private final TreeMap<Long, Footer> footers;
  private final Deque<StepResult> fresh;
  private long fromStep;
  private long cursor;
  private long nextRequestId;
  private long changes;
  private @Nullable String trouble;

  /**
   * Creates a reader that opens the stream at the first {@link #onTime}.
   *
   * @param windowSteps steps described ahead of the wanted one
   * @param followPolicy how eagerly the log is read
   * @param bits jitter
   */
  public ReaderMachine(int windowSteps, FollowPolicy followPolicy, Bits bits) {
    this.log = new LogFollower(followPolicy, new Bits(bits.nextLong()));
    this.bits = bits;
    this.windowSteps = windowSteps;
    this.described = new TreeMap<>();
    this.footers = new TreeMap<>();
    this.fresh = new ArrayDeque<>();
  }

  private ReaderMachine(ReaderMachine other) {
    this.log = other.log.copy();
    this.bits = other.bits.copy();
    this.windowSteps = other.windowSteps;
    this.described = new TreeMap<>(other.described);
    this.footers = new TreeMap<>(other.footers);
    this.fresh = new ArrayDeque<>(other.fresh);
    this.fromStep = other.fromStep;
    this.cursor = other.cursor;
    this.nextRequestId = other.nextRequestId;
    this.changes = other.changes;
    this.trouble = other.trouble;
  }

  /** The log as far as it is folded; nothing may be asked of it that changes it. */
  public LogFollower log() {
    return log;
  }

  /** First step of the window. */
  public long fromStep() {
    return fromStep;
  }

  /** Takes the next step that has been described, READY or FAILED; null when there is none. */
  public @Nullable StepResult nextDescribed() {
    return fresh.poll();
  }

  /** Counts everything that may change the answer to {@link #lookup}. */
  public long changes() {
    return changes;
  }

  /** The last failed request while there is passing trouble, for messages; null otherwise. */
  public @Nullable String trouble() {
    return trouble != null ? trouble : log.trouble();
  }

  /**
   * Moves the window; {@link #onTime} is called after it.
   *
   * @param step its first step: those below are forgotten
   */
  public void want(long step) {
    if (step == fromStep) {
      return;
    }
    if (step < fromStep || step > cursor) {
      described.clear();
      footers.clear();
      fresh.clear();
      cursor = step;
    } else {
      described.headMap(step).clear();
      footers.headMap(step).clear();
    }
    fromStep = step;
    changes++;
  }

  /** Asks to read on to the head, whatever the pace; {@link #onTime} is called after it. */
  public void look() {
    log.requireHead();
  }

  /**
   * What is known about a step. Outside the window it is never {@link StepResult.Ready}.
   *
   * @param step from 0
   */
  public StepResult lookup(long step) {
    if (!log.isOpen()) {
      return new StepResult.Loading();
    }
    if (step < log.state().horizon()) {
      return new StepResult.Reclaimed(log.state().horizon());
    }
    long nextStep = log.state().nextStep();
    if (step >= nextStep) {
      return log.state().sealed() ? new StepResult.End(nextStep) : new StepResult.NotYet();
    }
    return described.getOrDefault(step, new StepResult.Loading());
  }

  @Override
  public void onResponse(long requestId, StoreResponse response, long nowNs, Requests requests) {
    long id = requestId / OWNERS_OF_IDS;
    if (requestId % OWNERS_OF_IDS == LOG) {
      log.onResponse(id, response, nowNs, sub(LOG, requests));
    } else {
      onFooter(id, response, nowNs);
    }
    advance(nowNs, requests);
  }

  @Override
  public void onTime(long nowNs, Requests requests) {
    log.onTime(nowNs, sub(LOG, requests));
    advance(nowNs, requests);
  }

  @Override
  public long wakeAtNs() {
    if (log.failure() != null) {
      return Long.MAX_VALUE;
    }
    long wakeAtNs = log.wakeAtNs();
    for (Footer footer : footers.values()) {
      if (footer.requestId() != NOT_SENT || (footer.failures() > 0 && !footer.missing())) {
        wakeAtNs = Math.min(wakeAtNs, footer.dueAtNs());
      }
    }
    return wakeAtNs;
  }

  private static Requests sub(int owner, Requests requests) {
    return (id, request) -> requests.send(id * OWNERS_OF_IDS + owner, request);
  }

  private void advance(long nowNs, Requests requests) {
    takeEvents();
    do {
      if (!log.isOpen() || log.failure() != null) {
        return;
      }
      describe();
      boolean full = cursor >= fromStep + windowSteps;
      log.follow(full ? Mode.PAUSED : Mode.PACED);
      log.onTime(nowNs, sub(LOG, requests));
    } while (takeEvents());
    sendFooters(nowNs, requests);
  }

  /** Whether there was any. */
  private boolean takeEvents() {
    boolean any = false;
    for (LogEvent event = log.nextEvent(); event != null; event = log.nextEvent()) {
      any = true;
    }
    changes += any || log.failure() != null ? 1 : 0;
    return any;
  }

  /** Moves the cursor over what the log knows; asks for the segments that it does not. */
  private void describe() {
    cursor = Math.max(cursor, Math.max(fromStep, log.state().horizon()));
    long end = Math.min(log.state().nextStep(), fromStep + windowSteps);
    while (cursor < end) {
      switch (log.lookup(cursor)) {
        case StepLookup.Entry(TgbEntry entry) -> describe(cursor, entry);
        case StepLookup.NeedSegment need -> {
          long following = (need.index() + 1) * Limits.SEGMENT_STEPS;
          if (following < end) {
            log.lookup(following);
          }
          return;
        }
        default -> {
          return;
        }
      }
      cursor++;
    }
  }

  private void settle(long step, StepResult result) {
    described.put(step, result);
    fresh.add(result);
    changes++;
  }

  private void describe(long step, TgbEntry entry) {
    if (entry.slices().isEmpty()) {
      footers.put(step, new Footer(entry, NOT_SENT, Long.MIN_VALUE, 0, false));
    } else {
      settle(step, new StepResult.Ready(step, entry));
    }
  }

  private void sendFooters(long nowNs, Requests requests) {
    int inFlight = 0;
    for (Map.Entry<Long, Footer> wanted : footers.entrySet()) {
      Footer footer = wanted.getValue();
      if (inFlight == MAX_FOOTERS_IN_FLIGHT) {
        return;
      }
      if (footer.missing()) {
        settleMissing(wanted.getKey(), footer);
      } else if (footer.dueAtNs() <= nowNs) {
        long id = nextRequestId++;
        wanted.setValue(
            new Footer(footer.entry(), id, nowNs + FOOTER_TIMEOUT_NS, footer.failures(), false));
        ByteRange range = TgbLayout.footerRange(footer.entry());
        sub(SELF, requests)
            .send(
                id,
                new StoreRequest.Get(
                    ObjectNames.data(footer.entry().object()), range, range.lengthBytes()));
        inFlight++;
      } else if (footer.requestId() != NOT_SENT) {
        inFlight++;
      }
    }
    footers.keySet().removeAll(described.keySet());
  }

  /** A missing object is no damage if its step was reclaimed: that is known at the head. */
  private void settleMissing(long step, Footer footer) {
    if (log.headKnown()) {
      String object = ObjectNames.data(footer.entry().object());
      settle(
          step,
          new StepResult.Failed(
              step,
              new BatchWeaveException(
                  Kind.CORRUPT,
                  "data object does not exist: step="
                      + step
                      + " object="
                      + object
                      + " horizon="
                      + log.state().horizon()
                      + "; restore it, or skip the step")));
    }
  }

  private void onFooter(long requestId, StoreResponse response, long nowNs) {
    for (Map.Entry<Long, Footer> wanted : footers.entrySet()) {
      if (wanted.getValue().requestId() == requestId) {
        StepResult result = onFooter(wanted, response, nowNs);
        if (result != null) {
          settle(wanted.getKey(), result);
          trouble = null;
        }
      }
    }
    footers.keySet().removeAll(described.keySet());
  }

  private @Nullable StepResult onFooter(
      Map.Entry<Long, Footer> wanted, StoreResponse response, long nowNs) {
    Footer footer = wanted.getValue();
    switch (response) {
      case StoreResponse.Found(Bytes body) -> {
        return decode(wanted.getKey(), footer.entry(), body);
      }
      case StoreResponse.NotFound gone -> {
        log.requireHead();
        wanted.setValue(
            new Footer(footer.entry(), NOT_SENT, Long.MAX_VALUE, footer.failures(), true));
      }
      default -> {
        trouble = response.toString();
        long boundNs = Math.min(MAX_BACKOFF_NS, MIN_BACKOFF_NS << Math.min(footer.failures(), 8));
        long dueAtNs = nowNs + boundNs / 2 + bits.nextBelow(boundNs / 2);
        wanted.setValue(
            new Footer(footer.entry(), NOT_SENT, dueAtNs, footer.failures() + 1, false));
      }
    }
    return null;
  }

  private StepResult decode(long step, TgbEntry entry, Bytes body) {
    String object = ObjectNames.data(entry.object());
    try {
      TgbFooter footer = TgbLayout.decodeFooter(object, entry, body);
      Grid grid = log.stream().grid();
      if (!footer.grid().equals(grid)) {
        throw new BatchWeaveException(
            Kind.CORRUPT,
            "footer of another grid: object="
                + object
                + " offset="
                + TgbLayout.footerRange(entry).offset()
                + " grid="
                + footer.grid()
                + " stream="
                + grid);
      }
      return new StepResult.Ready(
          step,
          new TgbEntry(
              entry.object(),
              entry.seq(),
              entry.offset(),
              entry.lengthBytes(),
              entry.footerLengthBytes(),
              entry.footerCrc32c(),
              footer.slices()));
    } catch (BatchWeaveException e) {
      return new StepResult.Failed(step, e);
    }
  }

  @Override
  public ReaderMachine copy() {
    return new ReaderMachine(this);
  }

  @Override
  public long fingerprint() {
    return Fingerprint.of(
        bits.fingerprint(),
        windowSteps,
        described.keySet(),
        footers,
        fromStep,
        cursor,
        nextRequestId,
        log.fingerprint());
  }
}
