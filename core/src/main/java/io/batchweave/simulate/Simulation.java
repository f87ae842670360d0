package io.batchweave.simulate;

import io.batchweave.Bytes;
import io.batchweave.commit.Decision;
import io.batchweave.format.Block;
import io.batchweave.log.Bits;
import io.batchweave.log.Machine;
import io.batchweave.log.ProducerState;
import io.batchweave.log.State;
import io.batchweave.store.StoreRequest;
import io.batchweave.store.StoreResponse;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * One seed: processes around the real machines, on a modelled store, in virtual time; trouble, then
 * calm, then the checker. Deterministic: the same seed gives the same history.
 */
public final class Simulation implements World {
  private static final long SECOND_NS = 1_000_000_000L;
  private static final long CALM_LIMIT_NS = 900 * SECOND_NS;

  /** More in one second of virtual time is no work any more. */
  private static final int MAX_EVENTS_PER_SECOND = 200_000;

  private final long seed;
  private final Bits bits;
  private final PlantedBug bug;
  private final Prehistory prehistory;
  private final ModelStore store;
  private final Chronicle chronicle;
  private final Witness witness;
  private final Weather weather;
  private final List<Participant> participants = new ArrayList<>();
  private final Map<String, Long> targets = new TreeMap<>();
  private final Map<ModelStore.Client, PlantedBug.Hands> hands = new HashMap<>();
  private final Map<ModelStore.Client, Long> startedAtNs = new HashMap<>();
  private boolean calm;
  private long calmSinceNs;
  private long backwardNs;
  private long secondSinceNs;
  private int eventsInSecond;
  private int names;

  private Simulation(long seed, PlantedBug bug, boolean recording) {
    this.seed = seed;
    this.bits = new Bits(seed);
    this.bug = bug;
    this.store = new ModelStore(bits.nextLong());
    this.chronicle = new Chronicle(store::nowNs, recording);
    this.prehistory = Prehistory.draw(bits);
    store.objects().putAll(prehistory.objects());
    this.witness = new Witness(chronicle, store, prehistory);
    store.observe(witness);
    this.weather = new Weather(bits, store::nowNs);
    store.fates(weather);
    chronicle.note("seed", () -> seed + " history: " + prehistory.name());
    chronicle.note("weather", weather::toString);
  }

  /**
   * Runs a seed.
   *
   * @param seed any value
   */
  public static SeedReport run(long seed) {
    return new Simulation(seed, PlantedBug.NONE, false).run();
  }

  /**
   * Runs a seed and writes down all that happens.
   *
   * @param seed any value
   */
  public static SeedReport replay(long seed) {
    return new Simulation(seed, PlantedBug.NONE, true).run();
  }

  /**
   * Runs a seed with a bug.
   *
   * @param seed any value
   * @param bug a fresh one
   */
  public static SeedReport run(long seed, PlantedBug bug) {
    return new Simulation(seed, bug, false).run();
  }

  /**
   * Runs a seed with a bug and writes down all that happens.
   *
   * @param seed any value
   * @param bug a fresh one
   */
  public static SeedReport replay(long seed, PlantedBug bug) {
    return new Simulation(seed, bug, true).run();
  }

  private SeedReport run() {
    try {
      new Troublemaker(this, bits).plan();
      if (!store.run(this::ended, Integer.MAX_VALUE)) {
        chronicle.broken(Promise.PROGRESS, "machine", 0, "nothing is left to happen");
      }
      reportProgress();
    } catch (RuntimeException e) {
      // A machine must never throw, whatever it hears: that is a finding like any other.
      chronicle.broken(Promise.NO_UNEXPECTED_STOP, "machine", 0, describe(e));
    }
    requestsBounded();
    List<Violation> violations = new Checker(seed, store, chronicle, witness).violations();
    violations.forEach(violation -> chronicle.note("checker", violation::toString));
    return new SeedReport(
        seed,
        violations,
        witness.state().version(),
        witness.state().nextStep(),
        store.count(),
        store.nowNs(),
        chronicle.history());
  }

  private static String describe(RuntimeException e) {
    StackTraceElement[] trace = e.getStackTrace();
    return "thrown: " + e + (trace.length == 0 ? "" : " at " + trace[0]);
  }

  // ---- the course of events

  Map<String, Long> targets() {
    return targets;
  }

  Prehistory prehistory() {
    return prehistory;
  }

  List<Participant> participants() {
    return participants;
  }

  boolean calm() {
    return calm;
  }

  /** A name that nobody has. */
  String freshName(String kind) {
    return kind + ++names;
  }

  ProducerProcess startProducer(String producer, long machineSeed) {
    long target = targets.getOrDefault(producer, 0L);
    String name = freshName(producer + "#");
    ProducerProcess process = new ProducerProcess(this, name, producer, target, machineSeed);
    participants.add(process);
    return process;
  }

  void start(Participant participant) {
    participants.add(participant);
  }

  /** Lets a clock jump back: whoever waits for a time waits longer. */
  void jumpBack(ModelStore.Client client, long byNs) {
    client.jump(-byNs);
    backwardNs += byNs;
  }

  /** The store works again, the paused go on, every producer gets one last incarnation. */
  void becomeCalm() {
    calm = true;
    calmSinceNs = store.nowNs();
    weather.calm();
    chronicle.note("weather", () -> "calm from now on");
    for (Participant participant : List.copyOf(participants)) {
      if (participant.client().alive() && participant.client().paused()) {
        chronicle.note(participant.name(), () -> "goes on");
        participant.client().resume();
      }
    }
    for (String producer : targets.keySet()) {
      startProducer(producer, bits.nextLong());
    }
  }

  /**
   * Whether the run is over: all is done, or the time for it has passed, or time itself stands
   * still. How much may happen until then is not limited: while one waits for its clock, others
   * read on and collectors collect.
   */
  private boolean ended() {
    if (store.nowNs() - secondSinceNs >= SECOND_NS) {
      secondSinceNs = store.nowNs();
      eventsInSecond = 0;
    }
    return ++eventsInSecond > MAX_EVENTS_PER_SECOND || (calm && settled());
  }

  private boolean settled() {
    if (store.nowNs() - calmSinceNs > CALM_LIMIT_NS + 2 * backwardNs) {
      return true;
    }
    for (Participant participant : participants) {
      if (!participant.done()) {
        return false;
      }
    }
    return true;
  }

  private void reportProgress() {
    if (eventsInSecond > MAX_EVENTS_PER_SECOND) {
      chronicle.broken(
          Promise.PROGRESS,
          "machine",
          0,
          "time stands still: events=" + eventsInSecond + " since ns=" + secondSinceNs);
    }
    for (Participant participant : participants) {
      if (!participant.done()) {
        chronicle.broken(Promise.PROGRESS, participant.name(), 0, participant.standing());
      }
    }
  }

  private void requestsBounded() {
    for (Participant participant : participants) {
      ModelStore.Client client = participant.client();
      long lifeNs = store.nowNs() - startedAtNs.getOrDefault(client, 0L);
      long limit = 1_000 + 150 * (lifeNs / SECOND_NS + 1);
      if (client.sentCount() > limit) {
        chronicle.broken(
            Promise.REQUESTS_BOUNDED,
            participant.name(),
            0,
            "requests=" + client.sentCount() + " limit=" + limit);
      }
    }
  }

  // ---- what processes know

  @Override
  public ModelStore store() {
    return store;
  }

  @Override
  public Chronicle chronicle() {
    return chronicle;
  }

  @Override
  public PlantedBug bug() {
    return bug;
  }

  @Override
  public PlantedBug.Hands hands(ModelStore.Client client) {
    return hands.computeIfAbsent(client, ClientHands::new);
  }

  @Override
  public ModelStore.Client attach(String name, Machine<?> machine) {
    ModelStore.Client client = store.attach(machine);
    client.name(name);
    client.forgetSent();
    startedAtNs.put(client, store.nowNs());
    client.jump(clockOffsetNs());
    client.wire(new BuggyWire());
    return client;
  }

  /** Clocks of processes begin anywhere, a day around that of the store. */
  private long clockOffsetNs() {
    long dayNs = 86_400 * SECOND_NS;
    return bits.nextBelow(4) == 0 ? bits.nextBelow(2 * dayNs) - dayNs : 0;
  }

  @Override
  public State truth() {
    return witness.state();
  }

  @Override
  public long positionInLog(String producer) {
    ProducerState folded = witness.state().producer(producer);
    return folded == null ? 0 : folded.nextSeq() - 1;
  }

  @Override
  public long readGoal() {
    if (!calm || witness.state().sealed()) {
      return Long.MAX_VALUE;
    }
    for (String producer : targets.keySet()) {
      if (!targetReached(producer)) {
        return Long.MAX_VALUE;
      }
    }
    return witness.state().nextStep();
  }

  private boolean targetReached(String producer) {
    ProducerState folded = witness.state().producer(producer);
    return folded != null
        && (folded.retired() || folded.nextSeq() > targets.getOrDefault(producer, 0L));
  }

  @Override
  public void onStopped(ProducerProcess process) {
    if (bug.fencesAgain() && !calm) {
      store.after(1, () -> startProducer(process.producer(), process.seed()));
    }
  }

  /** The ranks of a launch open the stream at any time after it. */
  @Override
  public void onAccepted(Decision decision) {
    if (decision.block() instanceof Block.OpenSession session) {
      for (int dp = 0; dp < Source.GRID.dp(); dp++) {
        int place = dp;
        long rankSeed = bits.nextLong();
        store.after(
            1 + bits.nextBelow(5 * SECOND_NS),
            () ->
                start(
                    new RankProcess(
                        this,
                        freshName("rank#"),
                        place,
                        session.startStep(),
                        decision.version(),
                        rankSeed)));
      }
    }
  }

  private final class ClientHands implements PlantedBug.Hands {
    private final ModelStore.Client client;

    ClientHands(ModelStore.Client client) {
      this.client = client;
    }

    @Override
    public String process() {
      return client.name();
    }

    @Override
    public void send(long requestId, StoreRequest request) {
      client.send(requestId, request);
    }

    @Override
    public void reportFailed(String producer, long seq) {
      chronicle.reportedFailed.add(new Chronicle.ReportedFailed(client.name(), producer, seq));
      chronicle.note(client.name(), () -> "reports seq " + seq + " as failed");
    }

    @Override
    public SortedMap<String, Bytes> objects() {
      return store.objects();
    }
  }

  private final class BuggyWire implements ModelStore.Wire {
    @Override
    public StoreRequest sending(ModelStore.Client client, long requestId, StoreRequest request) {
      return bug.sending(hands(client), requestId, request);
    }

    @Override
    public @Nullable StoreResponse hearing(
        ModelStore.Client client, long requestId, StoreRequest request, StoreResponse response) {
      return bug.hearing(hands(client), requestId, request, response);
    }
  }
}
