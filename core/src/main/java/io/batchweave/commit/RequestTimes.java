package io.batchweave.commit;

import io.batchweave.log.Fingerprint;

/** How long the machine's own requests take: moving averages, the first answer counts in full. */
final class RequestTimes {
  private static final long MILLISECOND_NS = 1_000_000L;
  private static final long MAX_NS = 2_000 * MILLISECOND_NS;
  private static final long MIN_NS = MILLISECOND_NS;
  private static final long UNKNOWN = -1;

  private long listNs = UNKNOWN;
  private long getNs = UNKNOWN;
  private long putNs = UNKNOWN;

  RequestTimes() {}

  RequestTimes(RequestTimes other) {
    this.listNs = other.listNs;
    this.getNs = other.getNs;
    this.putNs = other.putNs;
  }

  private static long mix(long averageNs, long tookNs) {
    long boundedNs = Math.clamp(tookNs, MIN_NS, MAX_NS);
    return averageNs == UNKNOWN ? boundedNs : averageNs + (boundedNs - averageNs) / 8;
  }

  void list(long tookNs) {
    listNs = mix(listNs, tookNs);
  }

  void get(long tookNs) {
    getNs = mix(getNs, tookNs);
  }

  void put(long tookNs) {
    putNs = mix(putNs, tookNs);
  }

  long getNs() {
    return getNs == UNKNOWN ? 20 * MILLISECOND_NS : getNs;
  }

  long listNs() {
    return listNs == UNKNOWN ? getNs() * 3 / 2 : listNs;
  }

  long putNs() {
    return putNs == UNKNOWN ? getNs() * 2 : putNs;
  }

  /** LIST and GET. */
  long roundNs() {
    return listNs() + getNs();
  }

  /** LIST, GET and PUT. */
  long cycleNs() {
    return roundNs() + putNs();
  }

  long fingerprint() {
    return Fingerprint.of(listNs, getNs, putNs);
  }
}
