package io.batchweave.commit;

import io.batchweave.log.Fingerprint;

/**
 * How long the machine's own requests take: averages of the first answers, moving ones from then
 * on. What was not measured yet is told by its usual proportion to what was.
 */
final class RequestTimes {
  private static final long MILLISECOND_NS = 1_000_000L;
  private static final long MAX_NS = 2_000 * MILLISECOND_NS;
  private static final long MIN_NS = MILLISECOND_NS;
  private static final long GUESSED_GET_NS = 20 * MILLISECOND_NS;
  private static final int MEMORY = 8;

  /** The average time of one kind of request. */
  private static final class Average {
    private long ns;
    private int count;

    Average() {}

    Average(Average other) {
      this.ns = other.ns;
      this.count = other.count;
    }

    void add(long tookNs) {
      count = Math.min(MEMORY, count + 1);
      ns += (Math.clamp(tookNs, MIN_NS, MAX_NS) - ns) / count;
    }

    boolean known() {
      return count > 0;
    }

    long fingerprint() {
      return Fingerprint.of(ns, count);
    }
  }

  private final Average lists;
  private final Average gets;
  private final Average puts;

  RequestTimes() {
    this.lists = new Average();
    this.gets = new Average();
    this.puts = new Average();
  }

  RequestTimes(RequestTimes other) {
    this.lists = new Average(other.lists);
    this.gets = new Average(other.gets);
    this.puts = new Average(other.puts);
  }

  void list(long tookNs) {
    lists.add(tookNs);
  }

  void get(long tookNs) {
    gets.add(tookNs);
  }

  void put(long tookNs) {
    puts.add(tookNs);
  }

  long getNs() {
    if (gets.known()) {
      return gets.ns;
    }
    return lists.known() ? lists.ns * 2 / 3 : GUESSED_GET_NS;
  }

  long listNs() {
    return lists.known() ? lists.ns : getNs() * 3 / 2;
  }

  long putNs() {
    return puts.known() ? puts.ns : Math.max(2 * getNs(), listNs() * 3 / 2);
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
    return Fingerprint.of(lists.fingerprint(), gets.fingerprint(), puts.fingerprint());
  }
}
