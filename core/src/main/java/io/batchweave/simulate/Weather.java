package io.batchweave.simulate;

import io.batchweave.log.Bits;
import io.batchweave.simulate.ModelStore.Answer;
import io.batchweave.simulate.ModelStore.Effect;
import io.batchweave.simulate.ModelStore.Fate;
import io.batchweave.store.StoreRequest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * What the modelled store is like during one seed: latencies, how many requests meet trouble,
 * outages of a prefix, a rate limit for each prefix. It can be made calm.
 */
final class Weather implements ModelStore.Fates {
  private static final long MS = 1_000_000;
  private static final double SIGMA = 0.45;

  /** While it lasts, requests under a prefix are refused or never answered. */
  private record Outage(String prefix, long fromNs, long toNs, Answer answer) {}

  private final LongSupplier clock;
  private final long putMedianNs;
  private final int troublePercent;
  private final long ratePerSecond;
  private final List<Outage> outages = new ArrayList<>();
  private final Map<String, Long> freeAtNs = new HashMap<>();
  private boolean calm;

  /**
   * Draws weather.
   *
   * @param bits what it is drawn from
   * @param clock the virtual time
   */
  Weather(Bits bits, LongSupplier clock) {
    this.clock = clock;
    this.putMedianNs = new long[] {2 * MS, 10 * MS, 60 * MS}[(int) bits.nextBelow(3)];
    this.troublePercent = new int[] {0, 3, 10, 25, 45}[(int) bits.nextBelow(5)];
    this.ratePerSecond = bits.nextBelow(6) == 0 ? 20 : 0;
    String[] prefixes = {"manifest/", "", "data/", "snapshot/", "announce/", "index/"};
    Answer[] answers = {Answer.THROTTLED, Answer.LOST, Answer.SERVER_ERROR};
    for (long count = bits.nextBelow(3); count > 0; count--) {
      long fromNs = bits.nextBelow(10_000 * MS);
      outages.add(
          new Outage(
              prefixes[(int) bits.nextBelow(prefixes.length)],
              fromNs,
              fromNs + bits.nextBelow(20_000 * MS),
              answers[(int) bits.nextBelow(answers.length)]));
    }
  }

  /** From now on every request is served. */
  void calm() {
    calm = true;
  }

  @Override
  public String toString() {
    return "putMedian="
        + putMedianNs / MS
        + "ms trouble="
        + troublePercent
        + "% ratePerSecond="
        + (ratePerSecond == 0 ? "unlimited" : ratePerSecond)
        + " outages="
        + outages;
  }

  @Override
  public Fate of(StoreRequest request, Bits bits) {
    long there = latencyNs(request, bits);
    long back = latencyNs(request, bits);
    if (calm) {
      return new Fate(there, back, Effect.APPLIED, Answer.DELIVERED);
    }
    long nowNs = clock.getAsLong();
    for (Outage outage : outages) {
      if (outage.fromNs() <= nowNs
          && nowNs < outage.toNs()
          && request.key().startsWith(outage.prefix())) {
        return new Fate(there, back, Effect.NOT_APPLIED, outage.answer());
      }
    }
    if (overRate(request, nowNs)) {
      return new Fate(there, back, Effect.NOT_APPLIED, Answer.THROTTLED);
    }
    if (bits.nextBelow(100) >= troublePercent) {
      return new Fate(there, back, Effect.APPLIED, Answer.DELIVERED);
    }
    return trouble(there, back, bits);
  }

  private static Fate trouble(long there, long back, Bits bits) {
    Effect effect = bits.nextBelow(2) == 0 ? Effect.APPLIED : Effect.NOT_APPLIED;
    long late = there + bits.nextBelow(3 * ModelStore.TIMEOUT_NS);
    return switch ((int) bits.nextBelow(10)) {
      case 0 -> new Fate(there, back, Effect.NOT_APPLIED, Answer.LOST);
      case 1 -> new Fate(there, back, Effect.APPLIED, Answer.LOST);
      case 2 -> new Fate(late, back, Effect.APPLIED, Answer.LOST);
      case 3 -> new Fate(there, back, Effect.APPLIED, Answer.DOUBLED);
      case 4 -> new Fate(there, back, effect, Answer.THROTTLED);
      case 5 -> new Fate(late, back, effect, Answer.SERVER_ERROR);
      case 6 -> new Fate(there, back, Effect.NOT_APPLIED, Answer.CONFLICT);
      case 7 -> new Fate(there, back, Effect.APPLIED, Answer.REPEATED);
      case 8 -> new Fate(there, back + bits.nextBelow(2_000 * MS), effect, Answer.DELIVERED);
      default -> new Fate(there + bits.nextBelow(2_000 * MS), back, effect, Answer.DELIVERED);
    };
  }

  private boolean overRate(StoreRequest request, long nowNs) {
    if (ratePerSecond == 0) {
      return false;
    }
    int slash = request.key().indexOf('/');
    String prefix = slash < 0 ? "" : request.key().substring(0, slash);
    long burstNs = 1_000 * MS;
    long freeNs = Math.max(freeAtNs.getOrDefault(prefix, 0L), nowNs - burstNs);
    if (freeNs > nowNs) {
      return true;
    }
    freeAtNs.put(prefix, freeNs + 1_000 * MS / ratePerSecond);
    return false;
  }

  /** Half a round trip: log-normal; PUT : LIST : GET about as 60 : 35 : 25. */
  private long latencyNs(StoreRequest request, Bits bits) {
    long median =
        switch (request) {
          case StoreRequest.PutIfAbsent put -> putMedianNs;
          case StoreRequest.Upload upload -> putMedianNs;
          case StoreRequest.ListPrefix list -> putMedianNs * 35 / 60;
          case StoreRequest.Get get -> putMedianNs * 25 / 60;
          case StoreRequest.Delete delete -> putMedianNs;
        };
    // Twelve uniform values: normal enough, and the same on every machine.
    double normal = -6;
    for (int i = 0; i < 12; i++) {
      normal += bits.nextBelow(1 << 20) / (double) (1 << 20);
    }
    return 1 + (long) (median / 2.0 * StrictMath.exp(SIGMA * normal));
  }
}
