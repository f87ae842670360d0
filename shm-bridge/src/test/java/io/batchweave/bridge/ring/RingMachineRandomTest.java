package io.batchweave.bridge.ring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Random runs of a whole modelled node (U12, U35, U40, U42 at the level of the protocol): no region
 * is handed out while a live lease or an unfinished fetch overlaps it, every rank gets every step
 * once and in order with the right bytes, nothing stops for ever, and everything is free at the
 * end. The seed is in the message: a failing run can be repeated.
 */
@Timeout(value = 4, unit = TimeUnit.MINUTES)
class RingMachineRandomTest {
  private static final int RUNS = Integer.getInteger("batchweave.ringRuns", 4_000);

  @Test
  void shouldServeEveryRankWhateverHappens() {
    long takes = 0;
    long closes = 0;
    long takeovers = 0;
    long helds = 0;
    for (int seed = 1; seed <= RUNS; seed++) {
      try {
        RingWorld world = run(seed);
        takes += world.takes;
        closes += world.closes;
        takeovers += world.takeovers;
        helds += world.helds;
      } catch (AssertionError | RuntimeException e) {
        throw new AssertionError("seed=" + seed + ": " + e.getMessage(), e);
      }
    }
    assertTrue(takes > RUNS * 10L, "too few steps were taken to mean anything: " + takes);
    assertTrue(takeovers > RUNS, "too few daemons died: " + takeovers);
    assertTrue(closes > RUNS, "too few generations were closed: " + closes);
    assertTrue(helds > RUNS / 20, "too few ranks were told that they keep too much: " + helds);
  }

  static RingWorld run(long seed) {
    RingWorld world = new RingWorld(shape(seed), Choices.random(seed));
    int chaos = 200 + (int) world.below(600);
    for (int i = 0; i < chaos; i++) {
      world.nowNs += world.below(60);
      act(world, true);
    }
    world.limit(Long.MAX_VALUE);
    if (world.down) {
      world.startDaemon();
    }
    // From here on nobody dies any more, and everybody gets to the end.
    if (isRoomy(seed)) { // whatever they keep
      world.ranks.forEach(world::keepNoMoreThanAllowed);
      world.choices = Choices.stubborn(seed);
    }
    for (ModelRank rank : world.ranks) {
      if (!rank.alive && !rank.finished) {
        world.restart(rank, rank.nextStep);
      }
      if (!rank.session.equals(world.newestSession())) {
        world.kill(rank);
        rank.finished = true;
      }
    }
    int rounds = 0;
    while (world.ranks.stream().anyMatch(rank -> !rank.finished)) {
      world.nowNs += 60;
      for (int i = 0; i < 8; i++) {
        act(world, false);
      }
      assertTrue(++rounds < 20_000, () -> "stopped for ever: " + world.machine.status(""));
    }
    for (int i = 0; i < 2_000 && !world.machine.isFree(); i++) {
      world.look(true);
      world.fetchMore(true);
    }
    assertTrue(world.machine.isFree(), () -> "not free: " + world.machine.status(""));
    assertEquals(0, world.machine.status("").usedBytes());
    return world;
  }

  /** Whether the ring is so large that what a rank may keep is never in the way of another. */
  private static boolean isRoomy(long seed) {
    return seed / 24 % 2 == 0;
  }

  private static RingWorld.Shape shape(long seed) {
    int ranks = 1 + (int) (seed % 3);
    int hold = 1 + (int) (seed / 3 % 2);
    int maxRegion = 3 * ranks;
    int slack = (int) (seed / 6 % 4) * ranks;
    int pages = (hold + 2) * maxRegion + slack;
    if (isRoomy(seed)) {
      int kept = ranks * hold; // wherever they lie, a gap of (hold + 2) regions is left
      pages = ((kept + 1) * (hold + 2) + kept) * maxRegion;
    }
    return new RingWorld.Shape(ranks, hold, pages, maxRegion, 12 + seed % 9, 4 << seed % 2);
  }

  private static void act(RingWorld world, boolean chaos) {
    ModelRank rank = world.ranks.get((int) world.below(world.ranks.size()));
    switch ((int) world.below(chaos ? 37 : 30)) {
      case 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 -> world.step(rank);
      case 13, 14, 15, 16 -> world.offer();
      case 17, 18, 19, 20, 21, 22 -> world.fetchMore(world.below(3) != 0);
      case 23, 24, 25, 26, 27, 28 -> world.look(false);
      case 29 -> {
        RingMachine copy = world.machine.copy();
        assertEquals(world.machine.fingerprint(), copy.fingerprint());
        world.machine = copy;
      }
      case 30 -> {
        if (world.below(4) == 0) {
          world.kill(rank);
        }
      }
      case 31 -> {
        if (!rank.alive || world.below(6) == 0) {
          long from = world.below(3) == 0 ? Math.max(0, rank.nextStep - 3) : rank.nextStep;
          world.restart(rank, from % 7 == 4 ? from + 1 : from);
        }
      }
      case 32 -> {
        if (world.below(20) == 0) {
          relaunch(world);
        }
      }
      case 33 -> {
        if (world.below(4) == 0) {
          world.attachAnew(rank);
        }
      }
      case 34 -> {
        if (world.down) {
          world.startDaemon();
        } else if (world.below(8) == 0) {
          world.limit(world.below(12));
        }
      }
      case 35 -> {
        if (world.down) {
          world.limit(world.below(3) == 0 ? world.below(6) : Long.MAX_VALUE);
          world.startDaemon();
        }
      }
      default -> world.step(rank);
    }
  }

  /** A new launch of the job; ranks of the old one hang for a while, with their leases. */
  private static void relaunch(RingWorld world) {
    world.sessions++;
    int old = world.ranks.size();
    for (int i = 0; i < world.shape.ranks(); i++) {
      ModelRank rank = new ModelRank(world.ranks.size(), i, world.newestSession());
      world.ranks.add(rank);
    }
    for (ModelRank rank : world.ranks.subList(0, old)) {
      if (world.below(2) == 0) {
        world.kill(rank);
        rank.finished = true;
      }
    }
  }
}
