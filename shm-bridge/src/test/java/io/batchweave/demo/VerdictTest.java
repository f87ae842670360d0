package io.batchweave.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.bridge.view.NodeMetrics;
import io.batchweave.client.Producer;
import io.batchweave.client.ProducerContext;
import io.batchweave.client.ReaderContext;
import io.batchweave.client.StreamReader;
import io.batchweave.client.Streams;
import io.batchweave.format.Grid;
import io.batchweave.format.SliceEntry;
import io.batchweave.ingest.Ingest;
import io.batchweave.ingest.IngestContext;
import io.batchweave.ingest.Shard;
import io.batchweave.read.Coordinate;
import io.batchweave.read.StepResult;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Stores;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The demo's verdict holds where everything is right, and bites where anything is not. */
@Timeout(60)
class VerdictTest {
  private static final long TIMEOUT_NS = TimeUnit.SECONDS.toNanos(30);
  private static final int RANKS = DemoPlan.DP * DemoPlan.CP;

  @TempDir private Path directory;
  private DemoPlan plan;
  private ObjectStore store;
  private StreamReader reader;
  private List<RankReport> reports = List.of();

  @BeforeEach
  void ingestTwoShards() throws IOException {
    Path input = Files.createDirectory(directory.resolve("input"));
    for (int file = 0; file < 6; file++) {
      Files.writeString(input.resolve("f" + file + ".txt"), ("file " + file + "\n").repeat(2_000));
    }
    plan =
        new DemoPlan(
            directory,
            directory,
            directory,
            directory.resolve("stream").toString(),
            Map.of(),
            List.of(input.toString()),
            new PythonRanks(PythonRanks.Kind.JAVA, "", directory, ""));
    store = Stores.openRetrying(plan.storeUrl(), Map.of());
    Streams.create(store, new Grid(DemoPlan.DP, DemoPlan.CP));
    for (int i = 0; i < DemoPlan.PRODUCERS; i++) {
      try (Producer producer =
          Producer.open(new ProducerContext().store(store).producerId(DemoPlan.producerId(i)))) {
        Ingest.run(
            new IngestContext()
                .inputs(plan.inputs())
                .sequenceLength(DemoPlan.SEQUENCE_TOKENS)
                .globalBatch(DemoPlan.GLOBAL_BATCH)
                .shard(new Shard(i, DemoPlan.PRODUCERS)),
            producer);
      }
    }
    reader = StreamReader.open(new ReaderContext().store(store));
    reports = truthfulReports();
  }

  @AfterEach
  void close() {
    reader.close();
    store.close();
  }

  private List<RankReport> truthfulReports() {
    long steps = reader.refresh(TIMEOUT_NS).nextStep();
    List<RankReport> truth = new ArrayList<>();
    for (int rank = 0; rank < RANKS; rank++) {
      List<RankReport.Line> lines = new ArrayList<>();
      for (long step = 0; step < steps; step++) {
        StepResult.Ready ready = (StepResult.Ready) reader.await(step, TIMEOUT_NS);
        SliceEntry entry = ready.entry().slices().get(rank);
        Coordinate place = new Coordinate(rank / DemoPlan.CP, rank % DemoPlan.CP);
        MemorySegment slice = MemorySegment.ofBuffer(reader.readSlice(ready, place).asByteBuffer());
        lines.add(
            new RankReport.Line(
                step,
                entry.lengthBytes(),
                List.of(entry.crc32c()),
                entry.samples(),
                entry.tokens(),
                ReportingRank.sumOfInt32(step, slice),
                1));
      }
      truth.add(new RankReport(lines));
    }
    return truth;
  }

  private Verdict verdict(List<RankReport> told) {
    return new VerdictBuilder(plan, reader, told)
        .check(new DaemonFigures(new NodeMetrics(Map.of()), 0), new Demo.Times(1, 1), true, true);
  }

  private void expectOneBrokenPromise(List<RankReport> told, String promise, String problem) {
    List<Verdict.Check> broken =
        verdict(told).checks().stream().filter(check -> !check.holds()).toList();
    assertEquals(1, broken.size(), broken::toString);
    assertTrue(broken.getFirst().promise().contains(promise), broken::toString);
    assertTrue(broken.getFirst().problem().contains(problem), broken::toString);
  }

  private List<RankReport> withRankOne(UnaryOperator<List<RankReport.Line>> change) {
    List<RankReport> told = new ArrayList<>(reports);
    told.set(1, new RankReport(change.apply(new ArrayList<>(reports.get(1).lines()))));
    return told;
  }

  @Test
  void shouldHoldWhenEverythingIsRight() {
    Verdict verdict = verdict(reports);
    assertTrue(verdict.holds(), verdict::toString);
    assertTrue(reports.getFirst().lines().size() > 4);
  }

  @Test
  void shouldBiteWhenARankMissedAStep() {
    expectOneBrokenPromise(
        withRankOne(lines -> {
          lines.removeLast();
          return lines;
        }),
        "exactly once",
        "rank 1 read");
  }

  @Test
  void shouldBiteWhenARankReadAStepTwice() {
    expectOneBrokenPromise(
        withRankOne(lines -> {
          lines.add(lines.getLast());
          return lines;
        }),
        "exactly once",
        "rank 1 read step");
  }

  @Test
  void shouldBiteWhenARankReadOtherElements() {
    expectOneBrokenPromise(
        withRankOne(lines -> {
          RankReport.Line line = lines.get(2);
          lines.set(
              2,
              new RankReport.Line(
                  line.step(),
                  line.bytes(),
                  line.crc32c(),
                  line.samples(),
                  line.tokens(),
                  line.tokenSum() + 1,
                  line.waitNanos()));
          return lines;
        }),
        "agree",
        "rank 1 read something else");
  }

  @Test
  void shouldBiteWhenTheInputHasMoreThanTheStream() throws IOException {
    Path file = Path.of(plan.inputs().getFirst(), "f0.txt");
    Files.writeString(file, Files.readString(file) + "more");
    Verdict verdict = verdict(reports);
    assertFalse(verdict.holds());
    assertTrue(
        verdict.checks().stream()
            .anyMatch(check -> !check.holds() && check.promise().contains("every input byte")));
  }

  @Test
  void shouldReadBackWhatARankWroteAndPassOverALineThatACrashCutShort() throws IOException {
    Path file = directory.resolve("report.jsonl");
    StringBuilder text = new StringBuilder();
    reports.getFirst().lines().forEach(line -> text.append(line.text()));
    Files.writeString(file, text + "{\"step\":99,\"by");
    assertEquals(reports.getFirst(), RankReport.read(file));
    ReportingRank.append(file).close();
    assertEquals(text.toString(), Files.readString(file));
  }
}
