package io.batchweave.benchmarks;

import java.util.Collection;
import java.util.function.Function;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/**
 * A class of JMH as a bar: run in a JVM of its own, with the profiler that counts allocations.
 *
 * @param name of the bar
 * @param question what it asks
 * @param benchmarks the class
 * @param judge makes the figure of its results
 */
public record JmhBar(
    String name, String question, Class<?> benchmarks, Function<JmhResults, Verdict> judge)
    implements Bar {
  private static final int WARMUP_ITERATIONS = 15;
  private static final int QUICK_WARMUP_ITERATIONS = 8; // with fewer it is not compiled
  private static final int ITERATIONS = 12;
  private static final TimeValue TIME = TimeValue.milliseconds(200);

  @Override
  public Verdict measure(BenchRun run) throws Exception {
    int iterations = run.rounds(ITERATIONS);
    boolean full = run.pace() == BenchRun.Pace.FULL;
    Collection<RunResult> results =
        new Runner(
                new OptionsBuilder()
                    .include(benchmarks.getName().replace(".", "\\.") + "\\.")
                    .forks(1)
                    .warmupIterations(full ? WARMUP_ITERATIONS : QUICK_WARMUP_ITERATIONS)
                    .warmupTime(TIME)
                    .measurementIterations(iterations)
                    .measurementTime(TIME)
                    .addProfiler(GCProfiler.class)
                    .shouldFailOnError(true)
                    .verbosity(VerboseMode.SILENT)
                    .build())
            .run();
    for (RunResult result : results) {
      Sample iterated = JmhResults.iterations(result);
      Sample.Interval interval = iterated.interval();
      run.say(
          "  %-10s %9s  %10.3f [%.3f, %.3f] %s  %.1f B/op"
              .formatted(
                  result.getPrimaryResult().getLabel(),
                  JmhResults.parameter(result),
                  iterated.median(),
                  interval.low(),
                  interval.high(),
                  result.getPrimaryResult().getScoreUnit(),
                  JmhResults.allocatedBytes(result)));
    }
    return judge.apply(new JmhResults(results));
  }
}
