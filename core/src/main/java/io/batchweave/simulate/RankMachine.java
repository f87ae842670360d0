package io.batchweave.simulate;

import io.batchweave.Bytes;
import io.batchweave.format.TgbEntry;
import io.batchweave.log.Bits;
import io.batchweave.log.Fingerprint;
import io.batchweave.log.FollowPolicy;
import io.batchweave.log.Machine;
import io.batchweave.read.Coordinate;
import io.batchweave.read.ReaderMachine;
import io.batchweave.read.SlicePlan;
import io.batchweave.read.StepOrder;
import io.batchweave.read.StepResult;
import io.batchweave.store.StoreRequest;
import io.batchweave.store.StoreResponse;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.LongSupplier;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/** A reading process of one rank: the real reader, and a fetch of its slice of each step. */
final class RankMachine implements Machine<RankMachine> {
  private static final int WINDOW_STEPS = 8;
  private static final long RETRY_NS = 50_000_000L;
  private static final long TIMEOUT_NS = 30_000_000_000L;

  /** Hears what the rank is told. */
  interface Listener {
    /** What the reader says about a step; what is returned is believed. */
    StepResult told(long step, StepResult result);

    /** The bytes of the rank's slice arrived, or there are none. */
    void fetched(long step, TgbEntry entry, @Nullable Bytes body);
  }

  private final ReaderMachine reader;
  private final int dp;
  private final long view;
  private final Listener listener;
  private final int stride;
  private final LongSupplier limit;
  private long next;
  private long nextFetchId;
  private long fetchId = -1;
  private long retryAtNs = Long.MAX_VALUE;
  private @Nullable TgbEntry fetching;
  private boolean moved;
  private boolean doubting;
  private boolean ended;

  /**
   * A rank that has not started.
   *
   * @param view version of its session, 0 for none
   */
  RankMachine(int dp, long firstStep, long view, Listener listener, Bits bits) {
    this(dp, firstStep, view, listener, bits, 1, () -> Long.MAX_VALUE);
  }

  /** One that reads every so many steps, and none from a limit on. */
  RankMachine(
      int dp,
      long firstStep,
      long view,
      Listener listener,
      Bits bits,
      int stride,
      LongSupplier limit) {
    this.stride = stride;
    this.limit = limit;
    this.reader = new ReaderMachine(WINDOW_STEPS, FollowPolicy.DEFAULT, bits);
    this.dp = dp;
    this.view = view;
    this.listener = listener;
    this.next = firstStep;
    reader.want(firstStep);
  }

  private RankMachine(RankMachine other) {
    this.reader = other.reader.copy();
    this.dp = other.dp;
    this.view = other.view;
    this.listener = other.listener;
    this.stride = other.stride;
    this.limit = other.limit;
    this.next = other.next;
    this.nextFetchId = other.nextFetchId;
    this.fetchId = other.fetchId;
    this.retryAtNs = other.retryAtNs;
    this.fetching = other.fetching;
    this.moved = other.moved;
    this.doubting = other.doubting;
    this.ended = other.ended;
  }

  ReaderMachine reader() {
    return reader;
  }

  /** The next step it will read. */
  long next() {
    return next;
  }

  /** Whether it was told the end. */
  boolean ended() {
    return ended;
  }

  @Override
  public void onResponse(long requestId, StoreResponse response, long nowNs, Requests requests) {
    if (requestId % 2 == 0) {
      reader.onResponse(requestId / 2, response, nowNs, readers(requests));
    } else if (requestId / 2 == fetchId) {
      fetchId = -1;
      onFetched(response, nowNs);
    }
    advance(nowNs, requests);
  }

  @Override
  public void onTime(long nowNs, Requests requests) {
    reader.onTime(nowNs, readers(requests));
    advance(nowNs, requests);
  }

  private static Requests readers(Requests requests) {
    return (id, request) -> requests.send(2 * id, request);
  }

  private void onFetched(StoreResponse response, long nowNs) {
    TgbEntry entry = fetching;
    if (entry == null) {
      return;
    }
    switch (response) {
      case StoreResponse.Found(Bytes body) -> arrived(entry, body);
      case StoreResponse.NotFound gone -> {
        // Reclaimed since, or lost: only the head can tell.
        doubting = true;
        retryAtNs = Long.MAX_VALUE;
        reader.look();
        moved = true;
      }
      default -> retryAtNs = nowNs + RETRY_NS;
    }
  }

  private void arrived(TgbEntry entry, @Nullable Bytes body) {
    listener.fetched(next, entry, body);
    fetching = null;
    retryAtNs = Long.MAX_VALUE;
    want(next + stride);
  }

  private void advance(long nowNs, Requests requests) {
    do {
      if (moved) {
        moved = false;
        reader.onTime(nowNs, readers(requests));
      }
      if (doubting && reader.log().headKnown()) {
        decide();
      }
      if (fetching == null && !ended && next < limit.getAsLong()) {
        look();
      }
    } while (moved);
    if (fetching != null && !doubting && (fetchId < 0 || nowNs >= retryAtNs)) {
      fetch(fetching, nowNs, requests);
    }
  }

  /** The object of the step does not exist, and the head is known. */
  private void decide() {
    doubting = false;
    TgbEntry entry = fetching;
    if (entry != null && next >= reader.log().state().horizon()) {
      arrived(entry, null);
    }
    fetching = null;
  }

  /** Takes what the reader says of the next step. */
  private void look() {
    if (reader.log().isOpen()) {
      OptionalLong step = StepOrder.firstFrom(reader.log().state(), view, next);
      if (step.isEmpty()) {
        if (reader.log().headKnown()) {
          reader.look();
          moved = true;
        }
        return;
      }
      if (step.getAsLong() != next) {
        want(step.getAsLong());
        return;
      }
    }
    switch (listener.told(next, reader.lookup(next))) {
      case StepResult.Ready ready -> fetching = ready.entry();
      case StepResult.Reclaimed reclaimed -> want(reclaimed.horizon());
      case StepResult.End end -> ended = true;
      case StepResult.NotYet notYet -> {}
      case StepResult.Loading loading -> {}
      case StepResult.Failed failed -> ended = true;
    }
  }

  /** Goes on elsewhere, whatever it was doing; given the time after it. */
  void seek(long step) {
    fetching = null;
    fetchId = -1;
    retryAtNs = Long.MAX_VALUE;
    doubting = false;
    ended = false;
    want(step);
  }

  private void want(long step) {
    next = step;
    reader.want(step);
    moved = true;
  }

  private void fetch(TgbEntry entry, long nowNs, Requests requests) {
    if (fetchId < 0 && retryAtNs != Long.MAX_VALUE && nowNs < retryAtNs) {
      return;
    }
    SlicePlan plan = SlicePlan.of(entry, Source.GRID, Source.GRID, List.of(new Coordinate(dp, 0)));
    SlicePlan.Range range = plan.ranges().getFirst();
    fetchId = nextFetchId++;
    retryAtNs = nowNs + TIMEOUT_NS;
    requests.send(
        2 * fetchId + 1,
        new StoreRequest.Get(plan.key(), range.bytes(), range.bytes().lengthBytes()));
  }

  /** The checksum that manifests record. */
  static int crc32c(Bytes body) {
    CRC32C crc = new CRC32C();
    crc.update(body.asByteBuffer());
    return (int) crc.getValue();
  }

  @Override
  public long wakeAtNs() {
    return ended ? Long.MAX_VALUE : Math.min(reader.wakeAtNs(), retryAtNs);
  }

  @Override
  public RankMachine copy() {
    return new RankMachine(this);
  }

  @Override
  public long fingerprint() {
    return Fingerprint.of(
        reader.fingerprint(), dp, view, next, fetchId, retryAtNs, doubting, ended);
  }
}
