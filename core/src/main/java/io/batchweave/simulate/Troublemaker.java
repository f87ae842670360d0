package io.batchweave.simulate;

import io.batchweave.commit.Proposal;
import io.batchweave.format.Block;
import io.batchweave.format.Block.Takeover;
import io.batchweave.log.Bits;
import io.batchweave.log.ProducerState;
import io.batchweave.log.SessionState;
import io.batchweave.log.State;
import io.batchweave.retain.CollectPolicy;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Draws the scenario of a seed: who takes part, and what happens to them until it is calm. */
final class Troublemaker {
  private static final long MS = 1_000_000;
  private static final long HOUR_NS = 3_600_000 * MS;
  private static final long DAY_NS = 86_400_000 * MS;

  private final Simulation simulation;
  private final Bits bits;
  private final long troubleNs;

  Troublemaker(Simulation simulation, Bits bits) {
    this.simulation = simulation;
    this.bits = bits;
    this.troubleNs = 500 * MS + bits.nextBelow(20_000 * MS);
  }

  /** Puts everything that will happen into the store's time. */
  void plan() {
    Prehistory prehistory = simulation.prehistory();
    long producers = 1 + bits.nextBelow(bits.nextBelow(8) == 0 ? 6 : 3);
    for (int i = 0; i < producers; i++) {
      boolean old = i == 0 && prehistory.version() > 0;
      String producer = old ? Prehistory.PRODUCER : "p" + i;
      long from = old ? prehistory.nextSeq() - 1 : 0;
      simulation.targets().put(producer, from + 1 + bits.nextBelow(9));
      at(bits.nextBelow(3) == 0 ? 0 : troubleNs / 2, () -> startProducer(producer));
    }
    for (long ranks = bits.nextBelow(3); ranks > 0; ranks--) {
      at(troubleNs, this::startRank);
    }
    for (long operators = bits.nextBelow(4); operators > 0; operators--) {
      at(troubleNs, this::startOperator);
    }
    // Collectors are always on; now and then several.
    for (long collectors = bits.nextBelow(4) == 0 ? 2 : 1; collectors > 0; collectors--) {
      at(troubleNs / 2, this::startCollector);
    }
    for (long troubles = bits.nextBelow(9); troubles > 0; troubles--) {
      at(troubleNs, this::trouble);
    }
    if (bits.nextBelow(6) == 0) {
      at(2 * troubleNs, () -> operator("seal", state -> state.sealed() ? null : new Block.Seal()));
    }
    simulation.store().after(troubleNs, this::calm);
  }

  private void at(long withinNs, Runnable action) {
    simulation.store().after(withinNs == 0 ? 1 : 1 + bits.nextBelow(withinNs), action);
  }

  private void calm() {
    simulation.becomeCalm();
    simulation.start(
        new RankProcess(
            simulation,
            simulation.freshName("rank#"),
            (int) bits.nextBelow(Source.GRID.dp()),
            bits.nextBelow(simulation.prehistory().steps() + 1),
            0,
            bits.nextLong()));
  }

  // ---- who takes part

  private void startProducer(String producer) {
    simulation.startProducer(producer, bits.nextLong());
  }

  private void startRank() {
    startRank(
        (int) bits.nextBelow(Source.GRID.dp()),
        bits.nextBelow(2) == 0 ? 0 : bits.nextBelow(simulation.prehistory().steps() + 1),
        0);
  }

  private void startRank(int dp, long firstStep, long view) {
    simulation.start(
        new RankProcess(
            simulation, simulation.freshName("rank#"), dp, firstStep, view, bits.nextLong()));
  }

  private void startCollector() {
    simulation.start(
        new CollectorProcess(
            simulation,
            simulation.freshName("collector#"),
            CollectPolicy.DEFAULT,
            bits.nextLong()));
  }

  private void operator(String kind, Proposal proposal) {
    simulation.start(
        new OperatorProcess(
            simulation, simulation.freshName(kind + "#"), proposal, bits.nextLong()));
  }

  private void startOperator() {
    String group = "g" + bits.nextBelow(2);
    String id = "i" + bits.nextBelow(1_000);
    long number = bits.nextBelow(1_000);
    switch ((int) bits.nextBelow(9)) {
      case 0, 1 -> operator("session", state -> session(state, group, id, Takeover.SUPERSEDE));
      case 2 -> operator("session", state -> session(state, group, id, Takeover.REFUSE));
      case 3 -> operator("end", state -> endSession(state, group));
      case 4 -> operator("pin", state -> pin(state, group, id, number));
      case 5 ->
          operator(
              "hold",
              state ->
                  new Block.OperatorPin(
                      group, id, step(state, number), state.group(group).changed()));
      case 6 ->
          operator(
              "skip",
              state ->
                  new Block.Skip(
                      step(state, number), step(state, number) + 2, state.lastSkipVersion()));
      case 7 -> operator("reclaim", Troublemaker::reclaim);
      default -> {
        List<String> producers = new ArrayList<>(simulation.targets().keySet());
        String producer = producers.get((int) (number % producers.size()));
        if (number % 3 == 0) {
          operator("retire", state -> retire(state, producer));
        }
      }
    }
  }

  private static long step(State state, long number) {
    return state.horizon() + number % (state.nextStep() - state.horizon() + 1);
  }

  private static @Nullable Block session(State state, String group, String id, Takeover takeover) {
    if (takeover == Takeover.REFUSE && state.group(group).session() != null) {
      return null;
    }
    return new Block.OpenSession(
        group, id, state.nextStep(), takeover, state.group(group).changed());
  }

  private static @Nullable Block endSession(State state, String group) {
    SessionState session = state.group(group).session();
    return session == null
        ? null
        : new Block.EndSession(group, session.sessionId(), state.group(group).changed());
  }

  private static @Nullable Block pin(State state, String group, String id, long number) {
    SessionState session = state.group(group).session();
    long step = step(state, number);
    return session == null || step <= session.lastPin()
        ? null
        : new Block.Pin(group, session.sessionId(), session.view(), id, step, 2);
  }

  private static @Nullable Block reclaim(State state) {
    long step = Math.min(state.nextStep(), state.protectedStep());
    return step <= state.horizon() || state.protectedStep() == Long.MAX_VALUE
        ? null
        : new Block.Reclaim(step, state.horizon());
  }

  private static @Nullable Block retire(State state, String producer) {
    ProducerState known = state.producer(producer);
    return known == null || known.retired()
        ? null
        : new Block.Retire(producer, known.lastVersion());
  }

  // ---- what happens to them

  private void trouble() {
    if (simulation.calm()) {
      return;
    }
    List<Participant> alive = new ArrayList<>();
    for (Participant participant : simulation.participants()) {
      if (participant.client().alive()) {
        alive.add(participant);
      }
    }
    if (alive.isEmpty()) {
      return;
    }
    Participant victim = alive.get((int) bits.nextBelow(alive.size()));
    switch ((int) bits.nextBelow(8)) {
      case 0, 1, 2 -> crash(victim);
      case 3, 4 -> pause(victim);
      case 5 -> {
        if (victim instanceof ProducerProcess process) {
          startProducer(process.producer());
        }
      }
      case 6 -> jump(victim);
      default -> {
        // A zombie: it stands still, its replacement works, then it goes on.
        pause(victim);
        restart(victim);
      }
    }
  }

  private void crash(Participant victim) {
    simulation.chronicle().note(victim.name(), () -> "is killed");
    victim.client().crash();
    if (bits.nextBelow(4) != 0) {
      at(3_000 * MS, () -> restart(victim));
    }
  }

  private void restart(Participant victim) {
    if (simulation.calm()) {
      return;
    }
    switch (victim) {
      case ProducerProcess process -> {
        if (!process.stopped()) {
          startProducer(process.producer());
        }
      }
      case RankProcess rank -> startRank(rank.dp(), rank.next(), rank.view());
      case CollectorProcess collector -> startCollector();
      default -> {}
    }
  }

  private void pause(Participant victim) {
    simulation.chronicle().note(victim.name(), () -> "stands still");
    victim.client().pause();
    long forNs = bits.nextBelow(2) == 0 ? bits.nextBelow(300 * MS) : bits.nextBelow(troubleNs);
    // From inside, a pause of days is a clock that says so.
    long jumpNs = bits.nextBelow(3) == 0 ? bits.nextBelow(3 * DAY_NS) : 0;
    simulation
        .store()
        .after(
            1 + forNs,
            () -> {
              if (victim.client().alive() && victim.client().paused()) {
                simulation.chronicle().note(victim.name(), () -> "goes on");
                victim.client().jump(jumpNs);
                victim.client().resume();
              }
            });
  }

  private void jump(Participant victim) {
    if (bits.nextBelow(4) == 0) {
      // An hour is longer than any wait of a machine; until it has passed everybody else polls.
      long byNs = bits.nextBelow(bits.nextBelow(12) == 0 ? HOUR_NS : 10_000 * MS);
      simulation.chronicle().note(victim.name(), () -> "clock jumps back by ns=" + byNs);
      simulation.jumpBack(victim.client(), byNs);
    } else {
      long byNs = bits.nextBelow(DAY_NS);
      simulation.chronicle().note(victim.name(), () -> "clock jumps by ns=" + byNs);
      victim.client().jump(byNs);
    }
  }
}
