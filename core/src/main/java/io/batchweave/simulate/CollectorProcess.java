package io.batchweave.simulate;

import io.batchweave.BatchWeaveException;
import io.batchweave.log.Bits;
import io.batchweave.retain.CollectPolicy;
import io.batchweave.retain.CollectReport;
import io.batchweave.retain.CollectorLoop;

/** A process that collects, run after run, for as long as it lives. */
final class CollectorProcess implements Participant {
  private static final long INTERVAL_NS = 3_000_000_000L;

  private final World world;
  private final String name;
  private final CollectorLoop loop;
  private final ModelStore.Client client;
  private long runsNoted;

  /** Starts a process. */
  CollectorProcess(World world, String name, CollectPolicy policy, long seed) {
    this.world = world;
    this.name = name;
    this.loop = new CollectorLoop(policy, INTERVAL_NS, new Bits(seed));
    this.client = world.attach(name, loop);
    client.afterEvent(this::drain);
    world.chronicle().note(name, () -> "starts");
    client.touch();
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public ModelStore.Client client() {
    return client;
  }

  CollectorLoop loop() {
    return loop;
  }

  /** Done when it has finished a run that saw the last version. */
  @Override
  public boolean done() {
    CollectReport last = loop.lastReport();
    return !client.alive()
        || loop.stopped()
        || (last != null && last.version() == world.truth().version());
  }

  @Override
  public String standing() {
    return "phase="
        + loop.run().phase()
        + " runs="
        + loop.runs()
        + " last="
        + loop.lastReport()
        + " trouble="
        + loop.run().trouble();
  }

  private void drain() {
    if (loop.runs() == runsNoted) {
      return;
    }
    runsNoted = loop.runs();
    BatchWeaveException failure = loop.lastFailure();
    world
        .chronicle()
        .note(
            name,
            () -> failure == null ? "collected: " + loop.lastReport() : "gave up: " + failure);
    if (loop.stopped()) {
      world
          .chronicle()
          .broken(Promise.NO_UNEXPECTED_STOP, name, 0, String.valueOf(loop.lastFailure()));
    }
  }
}
