package io.batchweave.simulate;

import io.batchweave.Bytes;
import io.batchweave.log.Bits;
import io.batchweave.log.FollowPolicy;
import io.batchweave.log.LogFollower;
import io.batchweave.log.SnapshotPolicy;
import io.batchweave.log.StepLookup;
import io.batchweave.produce.ProducerMachine;
import io.batchweave.store.StoreRequest;
import io.batchweave.store.StoreResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * What opening a stream, finding a step and committing cost at a given length of its history: the
 * real machines in virtual time on the latencies of S3 Standard (LIST 35 ms, GET 25 ms, PUT 60 ms,
 * each the same every time). Histories of equal length modulo {@link #PERIOD_VERSIONS} have equal
 * tails behind their newest snapshot and an equally full unfinished segment, so that nothing but
 * their length differs.
 */
public final class Flatness {
  /** After so many versions of one batch, snapshots, segments and groups stand alike again. */
  public static final long PERIOD_VERSIONS = 512;

  private static final long MS = 1_000_000;
  private static final int MAX_EVENTS = 10_000_000;
  private static final int COMMITS = 256;
  private static final int CROWD = 16;

  private final ModelStore store = new ModelStore(3);
  private final Traffic traffic = new Traffic();
  private final LongLog log;

  /** Bytes and requests of everybody, of all kinds. */
  private static final class Traffic implements ModelStore.Observer {
    private long requests;
    private long bytes;

    @Override
    public void sent(ModelStore.Client client, StoreRequest request) {
      requests++;
      bytes +=
          switch (request) {
            case StoreRequest.PutIfAbsent put -> put.body().length();
            case StoreRequest.Upload upload -> upload.lengthBytes();
            default -> 0;
          };
    }

    @Override
    public void applied(ModelStore.Client client, StoreRequest request, StoreResponse response) {}

    @Override
    public void answered(ModelStore.Client client, StoreRequest request, StoreResponse response) {
      bytes +=
          switch (response) {
            case StoreResponse.Found(Bytes body) -> body.length();
            case StoreResponse.Listed listed ->
                listed.objects().stream().mapToLong(object -> object.key().length()).sum();
            default -> 0;
          };
    }
  }

  /**
   * What something costs.
   *
   * @param millis from the first request to the end
   * @param requests of all kinds
   * @param bytes of bodies and listed keys, both ways
   */
  public record Cost(double millis, double requests, double bytes) {
    private static final Cost NONE = new Cost(0, 0, 0);

    /**
     * The largest of the ratios of this to another.
     *
     * @param base what is divided by
     */
    public double over(Cost base) {
      return Math.max(
          ratio(millis, base.millis()),
          Math.max(ratio(requests, base.requests()), ratio(bytes, base.bytes())));
    }

    private static double ratio(double value, double base) {
      return value == base ? 1 : value / base;
    }
  }

  /**
   * What a history of some length costs.
   *
   * @param versions of the history
   * @param steps of the history
   * @param tail versions since its newest snapshot
   * @param fill entries of its unfinished segment
   * @param roundTrips depth of a cold open: requests that each had to wait for the one before
   * @param open one cold open to the head
   * @param find one step in the middle of the history, by a reader that is open
   * @param commit one batch of a lone producer, from its data to its place in the log; with its
   *     share of snapshots and segments
   * @param crowded the same with 16 producers that help each other
   */
  public record Figures(
      long versions,
      long steps,
      long tail,
      long fill,
      int roundTrips,
      Cost open,
      Cost find,
      Cost commit,
      Cost crowded) {}

  private Flatness(long versions) {
    log = new LongLog(store.objects());
    log.grow(versions);
    store.observe(traffic);
    store.fates((request, bits) -> {
      long halfNs =
          switch (request) {
            case StoreRequest.ListPrefix list -> 35 * MS / 2;
            case StoreRequest.Get get -> 25 * MS / 2;
            case StoreRequest.Delete delete -> 40 * MS / 2;
            default -> 60 * MS / 2;
          };
      return new ModelStore.Fate(
          halfNs, halfNs, ModelStore.Effect.APPLIED, ModelStore.Answer.DELIVERED);
    });
  }

  /**
   * Makes a history and measures.
   *
   * @param versions of the history, at least 1
   */
  public static Figures of(long versions) {
    return new Flatness(versions).measure();
  }

  private Figures measure() {
    long versions = log.state().version();
    long steps = log.state().nextStep();
    int roundTrips = roundTrips();
    Cost[] open = new Cost[1];
    Cost[] find = new Cost[1];
    openAndFind(steps / 2, open, find);
    long tail = versions % SnapshotPolicy.DUE_VERSIONS;
    long fill = steps - log.state().unfinishedStep();
    Cost commit = commits(1);
    Cost crowded = commits(CROWD);
    return new Figures(versions, steps, tail, fill, roundTrips, open[0], find[0], commit, crowded);
  }

  /** Depth of an open that may send all at once what it knows of. */
  private int roundTrips() {
    FollowPolicy d = FollowPolicy.DEFAULT;
    FollowPolicy wide =
        new FollowPolicy(
            4_096,
            d.minPollNs(),
            d.maxPollNs(),
            d.minBackoffNs(),
            d.maxBackoffNs(),
            d.listAfterHits(),
            d.cachedSegments());
    LogFollower follower = new LogFollower(wide, new Bits(7));
    ModelStore.Client client = store.attach(follower);
    run(() -> headKnown(follower));
    client.crash();
    return client.maxDepth();
  }

  private static boolean headKnown(LogFollower follower) {
    while (follower.nextEvent() != null) {
      // Nobody wants to know.
    }
    return follower.headKnown();
  }

  private void openAndFind(long step, Cost[] open, Cost[] find) {
    LogFollower follower = new LogFollower(FollowPolicy.DEFAULT, new Bits(8));
    Span opening = new Span();
    ModelStore.Client client = store.attach(follower);
    run(() -> headKnown(follower));
    open[0] = opening.cost(1);
    Span finding = new Span();
    boolean absent = !(follower.lookup(step) instanceof StepLookup.NeedSegment);
    client.touch();
    run(() -> headKnown(follower) && !(follower.lookup(step) instanceof StepLookup.NeedSegment));
    find[0] = absent ? Cost.NONE : finding.cost(1);
    client.crash();
  }

  /** What happened since it was made. */
  private final class Span {
    private final long fromNs = store.nowNs();
    private final long requests = traffic.requests;
    private final long bytes = traffic.bytes;

    Cost cost(double count) {
      return new Cost(
          (store.nowNs() - fromNs) / (double) MS / count,
          (traffic.requests - requests) / count,
          (traffic.bytes - bytes) / count);
    }
  }

  private void run(BooleanSupplier done) {
    if (!store.run(done, MAX_EVENTS)) {
      throw new IllegalStateException("nothing left to happen at " + store.nowNs() + " ns");
    }
  }

  /** A producer that adds its next batch when the one before is committed. */
  private final class Loop {
    private final String producer;
    private final ProducerMachine machine;
    private final ModelStore.Client client;
    private final int target;
    private int added;
    private int committed;
    private long addedAtNs;
    private long waitedNs;

    Loop(String producer, int target, long seed) {
      this.producer = producer;
      this.target = target;
      this.machine = new ProducerMachine(producer, 2, FollowPolicy.DEFAULT, new Bits(seed));
      this.client = store.attach(machine);
      client.payloads(handle -> Source.bytes(machine.payload(handle)));
    }

    boolean live() {
      return machine.phase() == ProducerMachine.Phase.LIVE;
    }

    boolean done() {
      while (machine.nextCommitted() != null) {
        committed++;
        waitedNs += store.nowNs() - addedAtNs;
      }
      if (committed == added && added < target) {
        added++;
        addedAtNs = store.nowNs();
        machine.add(Source.batch(producer, 1), Bytes.EMPTY);
        client.touch();
      }
      return committed == target;
    }
  }

  private Cost commits(int producers) {
    List<Loop> loops = new ArrayList<>();
    for (int i = 0; i < producers; i++) {
      String producer = "p" + producers + "-" + (10 + i);
      loops.add(new Loop(producer, COMMITS / producers, 100L * producers + i));
    }
    run(() -> loops.stream().allMatch(Loop::live));
    Span span = new Span();
    run(() -> loops.stream().map(Loop::done).toList().stream().allMatch(done -> done));
    Cost all = span.cost(COMMITS);
    long waitedNs = loops.stream().mapToLong(loop -> loop.waitedNs).sum();
    loops.forEach(loop -> loop.client.crash());
    return new Cost(waitedNs / (double) MS / COMMITS, all.requests(), all.bytes());
  }
}
