package io.batchweave.benchmarks;

import io.batchweave.simulate.Fleet;
import io.batchweave.simulate.Latencies;
import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What one number of producers came to on one store, over several seeds, beside the loop.
 *
 * @param store the store's name
 * @param producers how many
 * @param batches that became visible
 * @param p50Ms half of them became visible within
 * @param p99Ms 99 of 100 did
 * @param putsPerVersion creates per version
 * @param perBatch commit requests per batch, by kind
 * @param readsPerSecond of versions, by all
 * @param jain fairness, the least of the seeds
 * @param loop the optimistic loop on the same load
 * @param cost what it took to simulate
 */
record ScalingRow(
    String store,
    int producers,
    int batches,
    long p50Ms,
    long p99Ms,
    double putsPerVersion,
    Map<String, Double> perBatch,
    double readsPerSecond,
    double jain,
    LoopRow loop,
    Cost cost) {

  /**
   * What the loop came to.
   *
   * @param p50Ms half of what became visible did within; -1 if nothing did or it was not run
   * @param p99Ms 99 of 100 did
   * @param putsPerVersion creates per version
   * @param requestsPerBatch LIST and PUT
   */
  record LoopRow(long p50Ms, long p99Ms, double putsPerVersion, double requestsPerBatch) {
    static final LoopRow NONE = new LoopRow(-1, -1, 0, 0);
  }

  /**
   * What simulating one seed took, on this machine.
   *
   * @param heapBytes alive at its end, machines and store
   * @param seconds of wall time
   */
  record Cost(long heapBytes, double seconds) {}

  static final String HEAD =
      "  store  producers   p50 ms   p99 ms  PUTs/version  requests/batch  $/1,000 batches"
          + "  reads/s   Jain | loop: p50 ms   p99 ms  PUTs/version  requests/batch";

  private static final long SECOND_NS = 1_000_000_000;
  private static final double PUT_DOLLARS = 0.005 / 1_000;
  private static final double GET_DOLLARS = 0.0004 / 1_000;
  private static final int MOST_JUDGED = 1_024;
  private static final long MAX_P99_MS = 1_000;
  private static final double MAX_PUTS = 1.2;
  private static final double MAX_REQUESTS = 4;
  private static final double MAX_REQUESTS_ALONE = 3;
  private static final double MAX_READS = 3_000;
  private static final double MIN_JAIN = 0.98;

  /** Runs the real machines, every seed from an empty log on. */
  static ScalingRow of(String store, Latencies latencies, int producers, int seconds, int seeds) {
    List<Long> visibleNs = new ArrayList<>();
    Map<String, Long> counts = new LinkedHashMap<>();
    long versions = 0;
    long reads = 0;
    double jain = 1;
    long heapBytes = 0;
    long startNs = System.nanoTime();
    for (int seed = 1; seed <= seeds; seed++) {
      Fleet fleet = new Fleet(seed, latencies);
      fleet.startAll(producers, 2 * SECOND_NS);
      fleet.run(seconds * SECOND_NS);
      visibleNs.addAll(fleet.visibleNs());
      for (String kind : Fleet.COMMIT_REQUESTS) {
        counts.merge(kind, fleet.count(kind), Long::sum);
      }
      versions += fleet.versions();
      reads += fleet.count("Get manifest");
      jain = Math.min(jain, fleet.jain());
      heapBytes = Math.max(heapBytes, liveHeap(fleet));
    }
    int batches = visibleNs.size();
    Map<String, Double> perBatch = new LinkedHashMap<>();
    counts.forEach((kind, count) -> perBatch.put(kind, count / (double) Math.max(1, batches)));
    return new ScalingRow(
        store,
        producers,
        batches,
        OptimisticLoop.percentileMs(visibleNs, 50),
        OptimisticLoop.percentileMs(visibleNs, 99),
        counts.getOrDefault(Fleet.PUT_VERSION, 0L) / (double) Math.max(1, versions),
        perBatch,
        reads / (double) (seconds * seeds),
        jain,
        LoopRow.NONE,
        new Cost(heapBytes, (System.nanoTime() - startNs) / 1e9 / seeds));
  }

  /** What is alive on the heap, a fleet included. */
  private static long liveHeap(Fleet fleet) {
    try {
      System.gc();
      return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    } finally {
      Reference.reachabilityFence(fleet);
    }
  }

  /** The same with the loop beside it, for long enough that every producer has several turns. */
  ScalingRow beside(Latencies latencies, int turns) {
    OptimisticLoop optimistic = new OptimisticLoop(producers, 2 * SECOND_NS, latencies, 1);
    optimistic.run(Math.max(60 * SECOND_NS, turns * optimistic.intervalNs()));
    LoopRow row =
        new LoopRow(
            OptimisticLoop.percentileMs(optimistic.visibleNs(), 50),
            OptimisticLoop.percentileMs(optimistic.visibleNs(), 99),
            optimistic.putsPerVersion(),
            optimistic.requestsPerBatch());
    return new ScalingRow(
        store,
        producers,
        batches,
        p50Ms,
        p99Ms,
        putsPerVersion,
        perBatch,
        readsPerSecond,
        jain,
        row,
        cost);
  }

  double requestsPerBatch() {
    return perBatch.values().stream().mapToDouble(Double::doubleValue).sum();
  }

  /** List price of the commit requests of a thousand batches: S3 Standard, deletes are free. */
  double dollars() {
    double dollars = 0;
    for (Map.Entry<String, Double> kind : perBatch.entrySet()) {
      double price =
          kind.getKey().startsWith("Delete")
              ? 0
              : kind.getKey().startsWith("Get") ? GET_DOLLARS : PUT_DOLLARS;
      dollars += 1_000 * kind.getValue() * price;
    }
    return dollars;
  }

  /** Whether the goals are for so many; more are only reported. */
  boolean judged() {
    return producers <= MOST_JUDGED;
  }

  /** Whether all that is aimed at holds. */
  boolean met() {
    return p99Ms >= 0
        && p99Ms < MAX_P99_MS
        && putsPerVersion <= MAX_PUTS
        && requestsPerBatch() <= (producers == 1 ? MAX_REQUESTS_ALONE : MAX_REQUESTS)
        && readsPerSecond <= MAX_READS
        && jain >= MIN_JAIN;
  }

  String line() {
    String beside =
        loop.p50Ms() < 0
            ? "     -"
            : String.format(
                "%14d %8d %13.2f %15.2f",
                loop.p50Ms(), loop.p99Ms(), loop.putsPerVersion(), loop.requestsPerBatch());
    return String.format(
            "  %-6s %9d %8d %8d %13.2f %15.2f %16.4f %8.0f %6.3f |",
            store,
            producers,
            p50Ms,
            p99Ms,
            putsPerVersion,
            requestsPerBatch(),
            dollars(),
            readsPerSecond,
            jain)
        + beside;
  }

  /** What it took to simulate. */
  String costs() {
    return String.format(
        "  %-6s %9d %8d MiB alive, %.1f s per seed",
        store, producers, cost.heapBytes() >> 20, cost.seconds());
  }

  /** The commit requests of a batch by kind. */
  String kinds() {
    StringBuilder text = new StringBuilder(String.format("  %-6s %9d ", store, producers));
    perBatch.forEach((kind, count) -> text.append(String.format(" %s %.2f,", kind, count)));
    return text.substring(0, text.length() - 1);
  }
}
