package io.batchweave.simulate;

import io.batchweave.log.Bits;
import io.batchweave.simulate.ModelStore.Answer;
import io.batchweave.simulate.ModelStore.Effect;
import io.batchweave.simulate.ModelStore.Fate;
import io.batchweave.store.StoreRequest;

/**
 * How long a store takes that works: log-normal, three quarters of it before the effect.
 *
 * @param listMs median of a LIST
 * @param getMs median of a GET
 * @param putMs median of a PUT and of an upload
 * @param deleteMs median of a DELETE
 * @param sigma of the logarithm
 */
public record Latencies(double listMs, double getMs, double putMs, double deleteMs, double sigma) {
  /** S3 Standard. */
  public static final Latencies S3_STANDARD = new Latencies(35, 25, 60, 40, 0.45);

  /** A store nearby that answers everything in about 10 ms. */
  public static final Latencies TEN_MS = new Latencies(10, 10, 10, 10, 0.45);

  private static final double MILLISECOND_NS = 1_000_000;

  /**
   * What becomes of a request: it is served, some time later.
   *
   * @param request the request
   * @param random random bits of the store
   */
  public Fate of(StoreRequest request, Bits random) {
    double medianMs =
        switch (request) {
          case StoreRequest.ListPrefix list -> listMs;
          case StoreRequest.Get get -> getMs;
          case StoreRequest.Delete delete -> deleteMs;
          case StoreRequest.PutIfAbsent put -> putMs;
          case StoreRequest.Upload upload -> putMs;
        };
    double u = (random.nextBelow(1L << 40) + 1) / (double) (1L << 40);
    double v = random.nextBelow(1L << 40) / (double) (1L << 40);
    double gauss = StrictMath.sqrt(-2 * StrictMath.log(u)) * StrictMath.cos(2 * StrictMath.PI * v);
    long totalNs = (long) (medianMs * MILLISECOND_NS * StrictMath.exp(sigma * gauss));
    return new Fate(totalNs * 3 / 4, totalNs / 4, Effect.APPLIED, Answer.DELIVERED);
  }
}
