package io.batchweave.simulate;

import io.batchweave.Bytes;
import io.batchweave.format.Envelope;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.StreamCodec;
import io.batchweave.format.StreamDescriptor;
import io.batchweave.log.Bits;
import io.batchweave.log.Machine;
import io.batchweave.retain.CollectPolicy;
import io.batchweave.retain.CollectReport;
import io.batchweave.retain.CollectorLoop;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * A month in one run: a hundred producers and two training jobs of 32 nodes on one stream, restarts
 * of everything, rollbacks, collectors always on. Each step is held against the promises as it is
 * made, read and deleted; what is stored is compared with what somebody registered for.
 *
 * <p><b>Stored over needed</b>, at the end of every run of a collector that ends well:
 *
 * <ul>
 *   <li><em>stored</em>: the length of all data objects on the store at that moment, except for
 *       those whose producer may still commit them (current epoch, last seq not committed yet);
 *   <li><em>needed</em>: the length of the entries of all steps that are in the log at that moment,
 *       from the lowest protected step on. That step is taken once from the head that the run
 *       judged by (the version in its report), which is {@link Stored#worst}: what the run left
 *       that it could have deleted; and once from the head of that moment, which is {@link
 *       Stored#meanLive}: there, what registrations let go while the run went counts as too much.
 * </ul>
 */
public final class Month {
  private static final long SECOND_NS = 1_000_000_000L;
  private static final UUID STREAM = new UUID(0x30, 0xDA75);
  private static final int PRODUCERS = 100;
  private static final int NODES_PER_JOB = 32;
  private static final int AHEAD_STEPS = 4_000;
  private static final long STEPS_PER_TICK = 20;
  private static final long COLLECT_NS = SECOND_NS;
  private static final int TROUBLE_PERCENT = 1;

  /**
   * What became of it.
   *
   * @param violations what did not hold; empty if all is well
   * @param steps trained on by both jobs
   * @param versions in the log
   * @param checkpoints registered
   * @param launches of both jobs
   * @param restarts of producers, nodes and collectors
   * @param horizon at the end
   * @param collections runs of collectors
   * @param stored data after one, over what is registered for
   * @param requestsPerStep in the second tenth and in the ninth
   * @param virtualSeconds how long it lasted
   */
  public record Report(
      List<String> violations,
      long steps,
      long versions,
      long checkpoints,
      long launches,
      long restarts,
      long horizon,
      long collections,
      Stored stored,
      Growth requestsPerStep,
      long virtualSeconds) {
    /** Copies the list. */
    public Report {
      violations = List.copyOf(violations);
    }
  }

  /**
   * Data stored after a run of a collector, without uploads under way, over the data of the steps
   * that registrations need.
   *
   * @param worst over what the registrations of the head need that the run went by
   * @param meanLive over what those of the moment after it need, which moved on meanwhile; the mean
   * @param worstLive the most of these
   */
  public record Stored(double worst, double meanLive, double worstLive) {}

  /** A cost early and late. */
  public record Growth(double early, double late) {}

  private final long total;
  private final Bits bits;
  private final ModelStore store;
  private final MonthLedger ledger;
  private final List<MonthProducer> producers = new ArrayList<>();
  private final List<MonthJob> jobs = new ArrayList<>();
  private final List<ModelStore.Client> collectors = new ArrayList<>();
  private long restarts;
  private boolean finished;

  private Month(long seed, long total) {
    this.total = total;
    this.bits = new Bits(seed);
    this.store = new ModelStore(bits.nextLong());
    this.ledger = new MonthLedger(store, STREAM);
    store.observe(ledger);
    store.fates(ModelStore.Fates.troubled(TROUBLE_PERCENT));
    StreamDescriptor stream =
        new StreamDescriptor(STREAM, Envelope.FORMAT, Source.GRID.dp(), Source.GRID.cp(), 0);
    store.objects().put(ObjectNames.STREAM, Bytes.wrap(StreamCodec.encode(stream)));
  }

  /**
   * Runs one.
   *
   * @param seed any value
   * @param steps that both jobs train on
   */
  public static Report run(long seed, long steps) {
    return new Month(seed, steps).run();
  }

  ModelStore store() {
    return store;
  }

  MonthLedger ledger() {
    return ledger;
  }

  /** Hangs a machine on the store that does not remember what it sent: there are millions. */
  ModelStore.Client attach(Machine<?> machine, String name) {
    ModelStore.Client client = store.attach(machine);
    client.forgetSent();
    client.name(name);
    return client;
  }

  /** Whether producers are not too far ahead of training. */
  boolean mayProduce() {
    long trained = Long.MAX_VALUE;
    for (MonthJob job : jobs) {
      trained = Math.min(trained, job.paced());
    }
    long nextStep = ledger.state().nextStep();
    return nextStep < total && nextStep < trained + AHEAD_STEPS;
  }

  private Report run() {
    // The second job is slower: what it has not read keeps the first one's data.
    jobs.add(new MonthJob(this, "large", NODES_PER_JOB, STEPS_PER_TICK, total, fresh()));
    jobs.add(new MonthJob(this, "small", NODES_PER_JOB, STEPS_PER_TICK - 1, total, fresh()));
    for (int i = 0; i < PRODUCERS; i++) {
      producers.add(new MonthProducer(this, "p" + i, fresh()));
    }
    startCollector();
    startCollector();
    store.after(20 * SECOND_NS, this::trouble);
    look();
    runUntil(total / 10);
    long early = -store.count();
    runUntil(total / 5);
    early += store.count();
    runUntil(total * 8 / 10);
    long late = -store.count();
    runUntil(total * 9 / 10);
    late += store.count();
    runUntil(total);
    if (!jobs.getFirst().done() || !jobs.getLast().done()) {
      ledger.broken(Promise.PROGRESS, "trained=" + trained() + " of " + total);
    }
    ledger.everyStepReadable();
    return new Report(
        ledger.violations(),
        trained(),
        ledger.state().version(),
        jobs.stream().mapToLong(MonthJob::checkpoints).sum(),
        jobs.stream().mapToLong(MonthJob::launches).sum(),
        restarts,
        ledger.state().horizon(),
        ledger.runs(),
        ledger.stored(),
        new Growth(10.0 * early / total, 10.0 * late / total),
        store.nowNs() / SECOND_NS);
  }

  private Bits fresh() {
    return new Bits(bits.nextLong());
  }

  private long trained() {
    return Math.min(jobs.getFirst().trained(), jobs.getLast().trained());
  }

  /** Until so many steps are in the log; at the end, until both jobs have trained on all. */
  private void runUntil(long step) {
    int maxEvents = (int) Math.min(Integer.MAX_VALUE, 10_000_000L + 1_000 * total);
    var _ =
        store.run(
            () ->
                !ledger.violations().isEmpty()
                    || (ledger.state().nextStep() >= step && (step < total || finished)),
            maxEvents);
  }

  private void look() {
    finished = jobs.getFirst().done() && jobs.getLast().done();
    store.after(SECOND_NS, this::look);
  }

  private void startCollector() {
    CollectorLoop loop = new CollectorLoop(CollectPolicy.DEFAULT, COLLECT_NS, fresh());
    ModelStore.Client client = attach(loop, "collector");
    long[] runs = {0};
    client.afterEvent(() -> {
      CollectReport last = loop.lastReport();
      if (last != null && loop.lastFailure() == null && runs[0] != loop.runs()) {
        ledger.collected(last);
      }
      runs[0] = loop.runs();
      if (loop.stopped()) {
        ledger.broken(Promise.NO_UNEXPECTED_STOP, "collector " + loop.lastFailure());
      }
    });
    client.touch();
    collectors.add(client);
  }

  private void trouble() {
    restarts++;
    int victim = (int) bits.nextBelow(PRODUCERS);
    switch ((int) bits.nextBelow(8)) {
      case 0, 1 -> {
        producers.get(victim).kill();
        producers.set(victim, new MonthProducer(this, "p" + victim, fresh()));
      }
      case 2 -> {
        // A zombie: it goes on after its replacement took over.
        producers.get(victim).suspend(1 + bits.nextBelow(30 * SECOND_NS));
        producers.set(victim, new MonthProducer(this, "p" + victim, fresh()));
      }
      case 3 -> producers.get(victim).suspend(1 + bits.nextBelow(20 * SECOND_NS));
      case 4 -> jobs.get((int) bits.nextBelow(2)).restart(false);
      case 5 -> jobs.get((int) bits.nextBelow(2)).restart(true);
      case 6 -> jobs.get((int) bits.nextBelow(2)).replaceNode();
      default -> {
        collectors.removeFirst().crash();
        startCollector();
      }
    }
    store.after(2 * SECOND_NS + bits.nextBelow(10 * SECOND_NS), this::trouble);
  }
}
