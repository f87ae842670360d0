package io.batchweave.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.batchweave.simulate.Explorer;
import io.batchweave.simulate.SeedReport;
import io.batchweave.simulate.Simulation;
import io.batchweave.simulate.SmallCase;
import io.batchweave.simulate.Violation;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.agrona.concurrent.NanoClock;
import org.agrona.concurrent.SystemNanoClock;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * {@code simulate --seed N | --seeds COUNT [--from N] | --for INTERVAL [--from N] | --explore
 * STATES [--case NAME]}.
 */
@Command(
    name = "simulate",
    mixinStandardHelpOptions = true,
    description = {
      "Run the real protocol against a hostile store in virtual time, check every promise.",
      "The modelled store loses, delays, doubles and refuses requests; processes crash, pause, run",
      "twice and have wrong clocks. A seed determines everything. Exits with 1 if a promise was",
      "broken."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  ./batchweave simulate --seeds 1000",
      "  ./batchweave simulate --seeds 1000 --from 0 --json",
      "  ./batchweave simulate --for 2m          as many seeds as two minutes allow",
      "  ./batchweave simulate --seed 7          one seed, with its history",
      "  ./batchweave simulate --explore 100000  every interleaving of small cases",
      "  ./batchweave simulate --explore 500000000 --case two-death-and-unclear"
    })
final class SimulateCommand implements Callable<Integer> {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final long LINE_NS = TimeUnit.SECONDS.toNanos(2);
  private static final int SHOWN_VIOLATIONS = 100;

  @Spec private CommandSpec spec = CommandSpec.create();

  @ArgGroup(exclusive = true, multiplicity = "1")
  private Which which = new Which();

  @Option(
      names = "--from",
      paramLabel = "N",
      description = "First of many seeds (default: a random one).")
  private @Nullable Long from;

  @Option(
      names = "--case",
      paramLabel = "NAME",
      description = "Explore that case alone (default: all).")
  private @Nullable String caseName;

  @Option(names = "--json", description = "Print JSON, one document; progress goes to stderr.")
  private boolean json;

  /** One seed or many. */
  static final class Which {
    @Option(names = "--seed", paramLabel = "N", description = "Replay one seed, with its history.")
    private @Nullable Long seed;

    @Option(names = "--seeds", paramLabel = "COUNT", description = "Run that many seeds.")
    private @Nullable Long count;

    @Option(
        names = "--for",
        paramLabel = "INTERVAL",
        converter = Interval.class,
        description = "Run as many seeds as a time such as 90s, 2m or 1h allows.")
    private @Nullable Long forNs;

    @Option(
        names = "--explore",
        paramLabel = "STATES",
        description = "Go through the interleavings of small cases, so many states of each.")
    private @Nullable Long explore;
  }

  @Override
  public Integer call() throws JsonProcessingException {
    if (caseName != null && which.explore == null) {
      throw new ParameterException(spec.commandLine(), "--case goes with --explore");
    }
    Long seed = which.seed;
    if (seed != null) {
      if (from != null) {
        throw new ParameterException(spec.commandLine(), "--from goes with --seeds and --for");
      }
      return replay(seed);
    }
    if (which.explore != null) {
      if (which.explore < 1) {
        throw new ParameterException(spec.commandLine(), "--explore must be at least 1");
      }
      return explore(which.explore);
    }
    Long forNs = which.forNs;
    if (forNs != null) {
      return runMany(Extent.time(forNs));
    }
    long count = which.count == null ? 0 : which.count;
    if (count < 1) {
      throw new ParameterException(spec.commandLine(), "--seeds must be at least 1: " + count);
    }
    return runMany(Extent.seeds(count));
  }

  /**
   * Where to stop: whichever comes first.
   *
   * @param count of seeds
   * @param timeNs in which the last one begins
   */
  private record Extent(long count, long timeNs) {
    static Extent seeds(long count) {
      return new Extent(count, Long.MAX_VALUE);
    }

    static Extent time(long timeNs) {
      return new Extent(Long.MAX_VALUE, timeNs);
    }

    boolean holds(long seeds, long elapsedNs) {
      return seeds < count && elapsedNs < timeNs;
    }

    /** How far it is. */
    String describe(long seeds, long elapsedNs) {
      return count < Long.MAX_VALUE
          ? seeds + " of " + count + " seeds"
          : seeds
              + " seeds in "
              + TimeUnit.NANOSECONDS.toSeconds(elapsedNs)
              + " of "
              + TimeUnit.NANOSECONDS.toSeconds(timeNs)
              + " s";
    }
  }

  private int explore(long maxStates) throws JsonProcessingException {
    PrintWriter out = spec.commandLine().getOut();
    ArrayNode document = JSON.createArrayNode();
    boolean kept = true;
    for (SmallCase small : cases()) {
      long beganNs = SystemNanoClock.INSTANCE.nanoTime();
      Explorer.Findings findings = Explorer.explore(small, maxStates, progressOf(small));
      double seconds = (SystemNanoClock.INSTANCE.nanoTime() - beganNs) / 1e9;
      kept &= findings.violation() == null;
      if (json) {
        document
            .addObject()
            .put("case", small.toString())
            .put("states", findings.states())
            .put("transitions", findings.transitions())
            .put("ends", findings.ends())
            .put("deepest", findings.deepest())
            .put("complete", findings.complete())
            .put("seconds", seconds)
            .put("collisionChance", findings.collisionChance())
            .put("violation", findings.violation());
      } else {
        out.printf(
            Locale.ROOT,
            "%9d states %s %10d transitions %7d ends %7.1f s  collision %.0e  %s%n",
            findings.states(),
            findings.complete() ? "(all)    " : "(not all)",
            findings.transitions(),
            findings.ends(),
            seconds,
            findings.collisionChance(),
            small);
        if (findings.violation() != null) {
          out.println("VIOLATION " + findings.violation());
        }
      }
    }
    if (json) {
      out.println(JSON.writerWithDefaultPrettyPrinter().writeValueAsString(document));
    }
    return kept ? 0 : 1;
  }

  private List<SmallCase> cases() {
    String name = caseName;
    if (name == null) {
      return List.of(SmallCase.values());
    }
    for (SmallCase small : SmallCase.values()) {
      if (small.label().equals(name)) {
        return List.of(small);
      }
    }
    List<String> names = Stream.of(SmallCase.values()).map(SmallCase::label).toList();
    throw new ParameterException(
        spec.commandLine(), "no such case: case=" + name + "; one of " + String.join(", ", names));
  }

  /** Says every two seconds how far it is. */
  private LongConsumer progressOf(SmallCase small) {
    PrintWriter lines = json ? spec.commandLine().getErr() : spec.commandLine().getOut();
    NanoClock clock = SystemNanoClock.INSTANCE;
    long[] lastLineNs = {clock.nanoTime()};
    return states -> {
      long nowNs = clock.nanoTime();
      if (nowNs - lastLineNs[0] >= LINE_NS) {
        lastLineNs[0] = nowNs;
        lines.println(small.label() + ": " + states + " states");
      }
    };
  }

  private int replay(long seed) throws JsonProcessingException {
    PrintWriter out = spec.commandLine().getOut();
    SeedReport report = Simulation.replay(seed);
    if (json) {
      ObjectNode document = JSON.createObjectNode();
      document.put("seed", seed);
      document.put("versions", report.versions());
      document.put("steps", report.steps());
      document.put("requests", report.requests());
      addViolations(document, report.violations());
      ArrayNode history = document.putArray("history");
      report.history().forEach(history::add);
      out.println(JSON.writerWithDefaultPrettyPrinter().writeValueAsString(document));
    } else {
      report.history().forEach(out::println);
      out.println();
      report.violations().forEach(violation -> out.println("VIOLATION " + violation));
      out.printf(
          Locale.ROOT,
          "seed %d: %d versions, %d steps, %d requests, %.1f virtual seconds, %d violations%n",
          seed,
          report.versions(),
          report.steps(),
          report.requests(),
          report.virtualNs() / 1e9,
          report.violations().size());
    }
    return report.violations().isEmpty() ? 0 : 1;
  }

  private int runMany(Extent extent) throws JsonProcessingException {
    NanoClock clock = SystemNanoClock.INSTANCE;
    PrintWriter out = spec.commandLine().getOut();
    PrintWriter lines = json ? spec.commandLine().getErr() : out;
    SeedTotals totals = new SeedTotals();
    long beganNs = clock.nanoTime();
    long first = from == null ? beganNs & 0xFFFF_FFFFFFL : from;
    long count = 0;
    long lastLineNs = 0;
    long elapsedNs = 0;
    while (extent.holds(count, elapsedNs)) {
      SeedReport report = Simulation.run(first + count);
      count++;
      totals.add(report);
      for (Violation violation : report.violations()) {
        lines.println("VIOLATION " + violation);
      }
      elapsedNs = clock.nanoTime() - beganNs;
      if (elapsedNs - lastLineNs >= LINE_NS) {
        lastLineNs = elapsedNs;
        lines.println(extent.describe(count, elapsedNs) + ", " + totals.describe());
      }
    }
    double seconds = elapsedNs / 1e9;
    if (json) {
      ObjectNode document = JSON.createObjectNode();
      document.put("from", first);
      document.put("seeds", count);
      document.put("seconds", seconds);
      document.put("versions", totals.versions());
      document.put("requests", totals.requests());
      ArrayNode seeds = document.putArray("violatingSeeds");
      totals.seeds().forEach(seeds::add);
      addViolations(document, totals.violations());
      out.println(JSON.writerWithDefaultPrettyPrinter().writeValueAsString(document));
    } else {
      out.printf(
          Locale.ROOT,
          "%d seeds from %d in %.1f s: %s%n",
          count,
          first,
          seconds,
          totals.describe());
      if (totals.violationCount() > 0) {
        LongStream seeds = totals.seeds().stream().mapToLong(Long::longValue);
        out.println("seeds that show them: " + String.join(" ", strings(seeds)));
        out.println("replay one: ./batchweave simulate --seed " + totals.seeds().getFirst());
      }
    }
    return totals.violationCount() == 0 ? 0 : 1;
  }

  private static List<String> strings(LongStream seeds) {
    return seeds.limit(SHOWN_VIOLATIONS).mapToObj(Long::toString).toList();
  }

  private static void addViolations(ObjectNode document, List<Violation> violations) {
    ArrayNode list = document.putArray("violations");
    for (Violation violation : violations.stream().limit(SHOWN_VIOLATIONS).toList()) {
      list.addObject()
          .put("seed", violation.seed())
          .put("promise", violation.promise().name())
          .put("process", violation.process())
          .put("version", violation.version())
          .put("detail", violation.detail());
    }
  }
}
