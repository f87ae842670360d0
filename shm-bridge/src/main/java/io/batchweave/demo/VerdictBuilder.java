package io.batchweave.demo;

import io.batchweave.Bytes;
import io.batchweave.client.StreamReader;
import io.batchweave.format.Grid;
import io.batchweave.format.SliceEntry;
import io.batchweave.ingest.IngestContext;
import io.batchweave.ingest.IngestVerifier;
import io.batchweave.ingest.Shard;
import io.batchweave.read.Coordinate;
import io.batchweave.read.StepResult;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** Reads the whole stream again, from the store, and compares it with the input and the reports. */
final class VerdictBuilder {
  private static final long STEP_TIMEOUT_NS = TimeUnit.SECONDS.toNanos(30);
  private static final double NANOS = 1e9;

  private final DemoPlan plan;
  private final StreamReader reader;
  private final List<RankReport> reports;
  private final List<String> rankProblems = new ArrayList<>();
  private final List<String> agreementProblems = new ArrayList<>();
  private long samples;
  private long tokens;
  private long payloadBytes;

  VerdictBuilder(DemoPlan plan, StreamReader reader, List<RankReport> reports) {
    this.plan = plan;
    this.reader = reader;
    this.reports = List.copyOf(reports);
  }

  Verdict check(
      DaemonFigures daemon, Demo.Times times, boolean producerKilled, boolean rankKilled) {
    long steps = reader.refresh(STEP_TIMEOUT_NS).nextStep();
    List<IngestVerifier> verifiers = new ArrayList<>();
    for (int i = 0; i < DemoPlan.PRODUCERS; i++) {
      verifiers.add(
          new IngestVerifier(
              new IngestContext()
                  .inputs(plan.inputs())
                  .sequenceLength(DemoPlan.SEQUENCE_TOKENS)
                  .globalBatch(DemoPlan.GLOBAL_BATCH)
                  .shard(new Shard(i, DemoPlan.PRODUCERS))));
    }
    for (long step = 0; step < steps; step++) {
      checkStep(step, verifiers);
    }
    for (int rank = 0; rank < reports.size(); rank++) {
      checkOnce(rank, steps);
    }
    List<Verdict.Check> checks = new ArrayList<>();
    long inputBytes = 0;
    for (int i = 0; i < verifiers.size(); i++) {
      try (IngestVerifier verifier = verifiers.get(i)) {
        IngestVerifier.Verdict found = verifier.verdict();
        inputBytes += found.bytes();
        String problem = found.problem();
        checks.add(
            new Verdict.Check(
                "every input byte of producer "
                    + i
                    + " is in the stream exactly once, in order ("
                    + found.bytes()
                    + " bytes)",
                problem == null ? "" : problem));
      }
    }
    checks.add(
        new Verdict.Check(
            "every rank saw its slice of every step exactly once, checksums right",
            first(rankProblems)));
    checks.add(
        new Verdict.Check(
            "all ranks of a step agree with the committed step", first(agreementProblems)));
    checks.add(
        new Verdict.Check(
            "a producer was killed with SIGKILL on the way", producerKilled ? "" : "it was not"));
    checks.add(
        new Verdict.Check(
            "a rank was killed with SIGKILL on the way", rankKilled ? "" : "it was not"));
    return new Verdict(figures(daemon, times, steps, inputBytes), checks);
  }

  private static String first(List<String> problems) {
    return problems.isEmpty()
        ? ""
        : problems.getFirst() + (problems.size() > 1 ? " (and more)" : "");
  }

  private void checkStep(long step, List<IngestVerifier> verifiers) {
    StepResult.Ready ready = (StepResult.Ready) reader.await(step, STEP_TIMEOUT_NS);
    Grid grid = reader.descriptor().grid();
    List<Bytes> slices = new ArrayList<>(grid.sliceCount());
    for (int index = 0; index < grid.sliceCount(); index++) {
      Coordinate place = new Coordinate(index / grid.cp(), index % grid.cp());
      Bytes bytes = reader.readSlice(ready, place);
      slices.add(bytes);
      SliceEntry entry = ready.entry().slices().get(index);
      samples += place.cp() == 0 ? entry.samples() : 0;
      tokens += entry.tokens();
      payloadBytes += entry.lengthBytes();
      compare(step, index, entry, bytes);
    }
    String producer = ready.entry().object().producer();
    for (int i = 0; i < verifiers.size(); i++) {
      if (producer.equals(DemoPlan.producerId(i))) {
        verifiers.get(i).accept(step, grid, slices);
      }
    }
  }

  /** Compares what a rank wrote down of a step with what the store holds. */
  private void compare(long step, int rank, SliceEntry entry, Bytes bytes) {
    List<RankReport.Line> lines = reports.get(rank).lines();
    if (step >= lines.size()) {
      return; // missing: said by checkOnce
    }
    RankReport.Line line = lines.get((int) step);
    long sum = ReportingRank.sumOfInt32(step, MemorySegment.ofBuffer(bytes.asByteBuffer()));
    if (line.step() == step
        && (line.bytes() != entry.lengthBytes()
            || !line.crc32c().equals(List.of(entry.crc32c()))
            || line.samples() != entry.samples()
            || line.tokens() != entry.tokens()
            || line.tokenSum() != sum)) {
      agreementProblems.add(
          "rank " + rank + " read something else: " + line + " committed=" + entry + " sum=" + sum);
    }
  }

  private void checkOnce(int rank, long steps) {
    Set<Long> seen = new HashSet<>();
    long expected = 0;
    for (RankReport.Line line : reports.get(rank).lines()) {
      if (!seen.add(line.step()) || line.step() != expected) {
        rankProblems.add(
            "rank " + rank + " read step " + line.step() + " where step " + expected + " was due");
        return;
      }
      expected++;
    }
    if (expected != steps) {
      rankProblems.add("rank " + rank + " read " + expected + " of " + steps + " steps");
    }
  }

  private List<Verdict.Figure> figures(
      DaemonFigures daemon, Demo.Times times, long steps, long inputBytes) {
    double fetched = daemon.value("batchweave_fetched_bytes_total");
    double mib = payloadBytes / (double) (1 << 20);
    double megabytesPerSecond = payloadBytes / 1e6 / (times.elapsedNs() / NANOS);
    double amplification = fetched / payloadBytes;
    double copies = daemon.writtenBytes() / (double) payloadBytes;
    double waited =
        reports.stream()
                .flatMap(report -> report.lines().stream())
                .mapToLong(RankReport.Line::waitNanos)
                .sum()
            / NANOS
            / reports.size();
    double first = times.firstStepNs() / NANOS;
    return List.of(
        new Verdict.Figure("steps", String.valueOf(steps)),
        new Verdict.Figure("samples", String.valueOf(samples)),
        new Verdict.Figure("tokens", tokens + " (input " + inputBytes + " bytes)"),
        new Verdict.Figure("payload", String.format(Locale.ROOT, "%.1f MiB", mib)),
        new Verdict.Figure(
            "end to end",
            String.format(Locale.ROOT, "%.2f MB/s, starts included", megabytesPerSecond)),
        new Verdict.Figure(
            "read amplification",
            String.format(Locale.ROOT, "%.3f (fetched / payload)", amplification)),
        new Verdict.Figure(
            "copies",
            String.format(
                Locale.ROOT, "%.3f (all that the daemon wrote to files / payload)", copies)),
        new Verdict.Figure(
            "stalls",
            String.format(Locale.ROOT, "%.1f s per rank (waiting for the two producers)", waited)),
        new Verdict.Figure(
            "time to first step",
            String.format(
                Locale.ROOT,
                "%.1f s (JVM and Python starts, attach, first commit, fetch)",
                first)));
  }
}
