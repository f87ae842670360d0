package io.batchweave.benchmarks;

import java.util.Collection;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;

/** What one class of JMH came to, by method and parameter. */
public final class JmhResults {
  private static final String ALLOCATED = "gc.alloc.rate.norm";

  private final Collection<RunResult> results;

  JmhResults(Collection<RunResult> results) {
    this.results = results;
  }

  /**
   * Time per operation, in the unit of the class, iteration by iteration.
   *
   * @param method the benchmark
   * @param parameter value of its only parameter; empty when it has none
   */
  public Sample score(String method, String parameter) {
    return iterations(find(method, parameter));
  }

  /**
   * Bytes allocated per operation; what is left below one byte comes from the harness.
   *
   * @param method the benchmark
   * @param parameter value of its only parameter; empty when it has none
   */
  public double allocatedBytes(String method, String parameter) {
    return allocatedBytes(find(method, parameter));
  }

  static Sample iterations(RunResult result) {
    Sample iterations = new Sample();
    for (IterationResult iteration : result.getAggregatedResult().getIterationResults()) {
      iterations.add(iteration.getPrimaryResult().getScore());
    }
    return iterations;
  }

  static double allocatedBytes(RunResult result) {
    Result<?> allocated = result.getSecondaryResults().get(ALLOCATED);
    if (allocated == null) {
      throw new IllegalStateException("JMH did not count allocations");
    }
    return allocated.getScore();
  }

  static String parameter(RunResult result) {
    return result.getParams().getParamsKeys().stream()
        .map(result.getParams()::getParam)
        .findFirst()
        .orElse("");
  }

  private RunResult find(String method, String parameter) {
    return results.stream()
        .filter(result ->
            result.getParams().getBenchmark().endsWith("." + method)
                && parameter(result).equals(parameter))
        .findFirst()
        .orElseThrow(
            () -> new IllegalStateException("JMH did not run " + method + " " + parameter));
  }
}
