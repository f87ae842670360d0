package io.batchweave.benchmarks;

import io.batchweave.format.ManifestVersion;
import io.batchweave.log.Fold;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * Question: what does the fold of a decoded version of 64 blocks cost, one batch each? Everybody
 * who follows the log pays it once per version.
 *
 * <p>Ceiling: one entry of a hash map replaced per block, which is the least that a state by
 * producer costs.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class FoldBenchmark {
  private static final int VERSIONS = 32;

  private final List<ManifestVersion> versions = new ArrayList<>();
  private final Map<String, Long> byProducer = new HashMap<>();
  private final List<String> names = new ArrayList<>();
  private io.batchweave.log.State start = new SampleLog().state();

  /** Creates one. */
  public FoldBenchmark() {}

  static Bar bar() {
    return new JmhBar(
        "fold",
        "fold of a decoded version with 64 blocks",
        FoldBenchmark.class,
        results ->
            Verdict.reported(
                "fold", results.score("fold", ""), "us/version", results.score("mapStores", "")));
  }

  /** Writes the log. */
  @Setup
  public void write() {
    SampleLog log = new SampleLog();
    start = log.state();
    for (int i = 0; i < VERSIONS; i++) {
      versions.add(log.next());
    }
    start.forEachProducer((name, producer) -> names.add(name));
  }

  /** The fold; a copy of the state it starts from, per 32 versions, included. */
  @Benchmark
  @OperationsPerInvocation(VERSIONS)
  public long fold() {
    io.batchweave.log.State state = start.copy();
    for (ManifestVersion version : versions) {
      Fold.apply(state, version);
    }
    return state.nextStep();
  }

  /** The ceiling. */
  @Benchmark
  public long mapStores() {
    long sum = 0;
    for (String name : names) {
      sum += byProducer.merge(name, 1L, Long::sum);
    }
    return sum;
  }
}
