package io.batchweave.demo;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.client.Operator;
import io.batchweave.client.OperatorContext;
import io.batchweave.client.ReaderContext;
import io.batchweave.client.StreamReader;
import io.batchweave.client.Streams;
import io.batchweave.format.Grid;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Stores;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.agrona.concurrent.NanoClock;

/**
 * The main job with real processes: two producers ingest files, a daemon serves, four ranks read.
 * Half-way one producer and one rank are killed with SIGKILL and started again. Then input, stream
 * and reports are compared.
 *
 * <p>One thread runs it; any thread may close it, which stops every process.
 */
public final class Demo implements AutoCloseable {
  private static final long STUCK_NS = TimeUnit.SECONDS.toNanos(120);
  private static final long PROGRESS_NS = TimeUnit.SECONDS.toNanos(1);
  private static final long LOOK_NS = TimeUnit.MILLISECONDS.toNanos(20);
  private static final long STORE_TIMEOUT_NS = TimeUnit.SECONDS.toNanos(30);

  private final DemoPlan plan;
  private final PrintWriter out;
  private final NanoClock clock;
  private final List<ChildProcess> processes = new ArrayList<>();
  private final List<ChildProcess> producers = new ArrayList<>();
  private final List<ChildProcess> ranks = new ArrayList<>();
  private final ObjectStore store;
  private final long beganNs;
  private long lastProgressNs;
  private long lastMoveNs;
  private String lastLine = "";
  private long ranksStartedNs;
  private long firstStepNs;
  private volatile boolean closed;
  private boolean producerKilled;
  private boolean rankKilled;

  /**
   * How long it took.
   *
   * @param elapsedNs from the start to the end of the last rank
   * @param firstStepNs from the start of the ranks until each had read a step
   */
  record Times(long elapsedNs, long firstStepNs) {}

  /**
   * Prepares a demo.
   *
   * @param plan what to do
   * @param out progress for people
   * @param clock monotonic
   */
  public Demo(DemoPlan plan, PrintWriter out, NanoClock clock) {
    this.plan = plan;
    this.out = out;
    this.clock = clock;
    this.beganNs = clock.nanoTime();
    this.lastMoveNs = beganNs;
    Map<String, String> environment = new HashMap<>(System.getenv());
    environment.putAll(plan.storeVariables());
    this.store = Stores.openRetrying(plan.storeUrl(), environment);
  }

  /**
   * Runs it.
   *
   * @param expectedSteps steps that the input will make, to know when half is done
   * @return what was measured and checked
   * @throws IOException if a process cannot be started or a report cannot be read
   * @throws InterruptedException if interrupted while waiting for a process
   */
  public Verdict run(long expectedSteps) throws IOException, InterruptedException {
    try {
      return drive(expectedSteps);
    } catch (IOException | RuntimeException e) {
      if (closed) {
        throw new BatchWeaveException(Kind.RETRYABLE, "the demo was stopped before its end", e);
      }
      throw e;
    }
  }

  private Verdict drive(long expectedSteps) throws IOException, InterruptedException {
    Streams.create(store, new Grid(DemoPlan.DP, DemoPlan.CP));
    ChildProcess daemon = startDaemon();
    try (StreamReader reader = StreamReader.open(new ReaderContext().store(store))) {
      startRanks();
      ranksStartedNs = clock.nanoTime();
      startProducers(DemoPlan.batchesPerSecond(expectedSteps));
      // No rank ends before the stream is sealed, so one is killed however late they all started.
      while (!rankKilled || areProducing()) {
        long committed = reader.refresh(STORE_TIMEOUT_NS).nextStep();
        killHalfWay(committed, expectedSteps);
        watch(committed, daemon, expectedSteps);
      }
      for (ChildProcess producer : producers) {
        requireDone(producer);
      }
      try (Operator operator = Operator.open(new OperatorContext().store(store))) {
        operator.seal();
      }
      while (ranks.stream().anyMatch(ChildProcess::alive)) {
        watch(reader.refresh(STORE_TIMEOUT_NS).nextStep(), daemon, expectedSteps);
      }
      for (ChildProcess rank : ranks) {
        requireDone(rank);
      }
      DaemonFigures figures = DaemonFigures.read(directory(), daemon.pid());
      long elapsedNs = clock.nanoTime() - beganNs;
      return new VerdictBuilder(plan, reader, reports())
          .check(figures, new Times(elapsedNs, firstStepNs), producerKilled, rankKilled);
    }
  }

  private Path directory() {
    return plan.shmDirectory();
  }

  private ChildProcess startDaemon() throws IOException {
    List<String> command =
        ChildProcess.batchweave(
            plan.root(),
            "serve",
            plan.storeUrl(),
            "--dir",
            directory().toString(),
            "--memory",
            "32MiB",
            "--local-ranks-timeout",
            "60");
    return start("daemon", command, plan.storeVariables());
  }

  private synchronized ChildProcess start(
      String name, List<String> command, Map<String, String> environment) throws IOException {
    requireOpen();
    ChildProcess process = new ChildProcess(name, command, environment, plan.workDirectory());
    processes.add(process);
    return process;
  }

  private synchronized void restart(ChildProcess process) throws IOException {
    requireOpen();
    process.restart();
  }

  private void requireOpen() {
    if (closed) {
      throw new IllegalStateException("closed");
    }
  }

  private void startProducers(long batchesPerSecond) throws IOException {
    for (int i = 0; i < DemoPlan.PRODUCERS; i++) {
      List<String> command =
          ChildProcess.batchweave(
              plan.root(),
              "ingest",
              plan.storeUrl(),
              "--producer",
              DemoPlan.producerId(i),
              "--shard",
              i + "/" + DemoPlan.PRODUCERS,
              "--seq-len",
              String.valueOf(DemoPlan.SEQUENCE_TOKENS),
              "--global-batch",
              String.valueOf(DemoPlan.GLOBAL_BATCH),
              "--max-rate",
              String.valueOf(batchesPerSecond));
      command.addAll(plan.inputs());
      producers.add(start("producer-" + i, command, plan.storeVariables()));
    }
  }

  private void startRanks() throws IOException {
    for (int rank = 0; rank < DemoPlan.DP * DemoPlan.CP; rank++) {
      boolean python = rank % 2 == 1 && plan.python().kind() != PythonRanks.Kind.JAVA;
      List<String> command = new ArrayList<>();
      Map<String, String> environment = new HashMap<>();
      if (python) {
        command.addAll(List.of(plan.python().command(), "-m", "batchweave"));
        environment.put("PYTHONPATH", plan.python().modulePath().toString());
        if (plan.python().kind() == PythonRanks.Kind.TORCH) {
          command.add("--torch");
        }
      } else {
        command.addAll(ChildProcess.batchweave(plan.root(), "rank"));
      }
      command.addAll(
          List.of(
              plan.storeUrl(),
              "--dir",
              directory().toString(),
              "--group",
              "demo",
              "--session",
              "demo-1",
              "--dp",
              String.valueOf(rank / DemoPlan.CP),
              "--dp-size",
              String.valueOf(DemoPlan.DP),
              "--cp",
              String.valueOf(rank % DemoPlan.CP),
              "--cp-size",
              String.valueOf(DemoPlan.CP),
              "--local-ranks",
              String.valueOf(DemoPlan.DP * DemoPlan.CP),
              "--deadline",
              "120",
              "--report",
              plan.report(rank).toString()));
      ranks.add(start("rank-" + rank, command, environment));
    }
  }

  private boolean areProducing() {
    return producers.stream().anyMatch(ChildProcess::alive);
  }

  private void killHalfWay(long committed, long expectedSteps)
      throws IOException, InterruptedException {
    if (!producerKilled && producers.getFirst().alive() && committed >= expectedSteps / 2) {
      ChildProcess producer = producers.getFirst();
      producerKilled = producer.kill();
      out.printf(
          "  SIGKILL producer-0 (pid %d) at step %d, started again%n", producer.pid(), committed);
      restart(producer);
    }
    if (!rankKilled && (committed >= expectedSteps / 2 || !areProducing())) {
      long read = RankReport.read(plan.report(1)).nextStep();
      if (read >= Math.min(committed, expectedSteps / 2)) {
        ChildProcess rank = ranks.get(1);
        rankKilled = rank.kill();
        out.printf(
            "  SIGKILL rank-1 (pid %d) after %d steps, started again%n",
            rank.pid(), RankReport.read(plan.report(1)).nextStep());
        restart(rank);
      }
    }
  }

  /** Waits a moment, prints progress once a second, fails when something died or nothing ends. */
  private void watch(long committed, ChildProcess daemon, long expectedSteps) throws IOException {
    if (!daemon.alive()) {
      throw failed(daemon, "ended with exit code " + daemon.exitCode());
    }
    for (ChildProcess process : processes) {
      if (!process.alive() && process.exitCode() != 0) {
        throw failed(process, "ended with exit code " + process.exitCode());
      }
    }
    long now = clock.nanoTime();
    if (firstStepNs == 0 && reports().stream().noneMatch(report -> report.lines().isEmpty())) {
      firstStepNs = now - ranksStartedNs;
    }
    if (now - lastMoveNs > STUCK_NS) {
      throw new BatchWeaveException(
          Kind.RETRYABLE,
          "nothing moved in the demo for "
              + TimeUnit.NANOSECONDS.toSeconds(STUCK_NS)
              + " s; the daemon said:"
              + System.lineSeparator()
              + daemon.tail());
    }
    if (now - lastProgressNs > PROGRESS_NS) {
      lastProgressNs = now;
      StringBuilder line = new StringBuilder().append(committed).append(" of about ");
      line.append(expectedSteps).append(" steps committed; ranks have read");
      for (int rank = 0; rank < ranks.size(); rank++) {
        line.append(' ').append(RankReport.read(plan.report(rank)).nextStep());
      }
      if (!line.toString().equals(lastLine)) {
        lastLine = line.toString();
        lastMoveNs = now;
      }
      out.printf("  %3d s: %s%n", TimeUnit.NANOSECONDS.toSeconds(now - beganNs), line);
    }
    LockSupport.parkNanos(LOOK_NS);
  }

  private static void requireDone(ChildProcess process) {
    if (process.exitCode() != 0) {
      throw failed(process, "ended with exit code " + process.exitCode());
    }
  }

  private static BatchWeaveException failed(ChildProcess process, String what) {
    return new BatchWeaveException(
        Kind.RETRYABLE,
        process.name() + " " + what + "; it said:" + System.lineSeparator() + process.tail());
  }

  private List<RankReport> reports() throws IOException {
    List<RankReport> reports = new ArrayList<>();
    for (int rank = 0; rank < ranks.size(); rank++) {
      reports.add(RankReport.read(plan.report(rank)));
    }
    return reports;
  }

  /** Stops every process and waits for its end. Idempotent. */
  @Override
  public synchronized void close() {
    if (closed) {
      return;
    }
    closed = true;
    processes.forEach(ChildProcess::askToEnd);
    for (ChildProcess process : processes.reversed()) {
      process.stop();
    }
    store.close();
  }
}
