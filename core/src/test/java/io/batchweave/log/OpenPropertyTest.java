package io.batchweave.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.ObjectNames;
import io.batchweave.simulate.ModelStore;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Opening, following and looking up while the log grows, snapshots come and go and versions turn
 * into tombstones, under lost, doubled, late and throttled answers. What a follower says is held
 * against the state that the log had at that very version.
 */
@Timeout(120)
class OpenPropertyTest {
  private static final int CASES = 200;
  private static final int SNAPSHOT_EVERY = 8;
  private static final int MAX_EVENTS = 200_000;

  /** A stream that somebody else works on, in virtual time. */
  private static final class World {
    final Bits bits;
    final ModelStore store;
    final LogWriter log;
    final Map<Long, Long> fingerprints = new HashMap<>();
    long trimmed;

    World(long seed) {
      this.bits = new Bits(seed);
      this.store = new ModelStore(seed);
      this.log = new LogWriter(store.objects(), seed);
      fingerprints.put(0L, log.state().fingerprint());
      grow(bits.nextBelow(400));
      store.fates(ModelStore.Fates.troubled((int) bits.nextBelow(40)));
    }

    void grow(long count) {
      for (long i = 0; i < count; i++) {
        log.fill(log.state().version() + 1, SNAPSHOT_EVERY);
        fingerprints.put(log.state().version(), log.state().fingerprint());
      }
    }

    List<Long> snapshots() {
      List<Long> versions = new ArrayList<>();
      for (String key : store.objects().keySet()) {
        OptionalLong version = ObjectNames.parseSnapshot(key);
        version.ifPresent(versions::add);
      }
      return versions;
    }

    /** Only what the design allows: versions older than the 16th snapshot. */
    void trim() {
      List<Long> snapshots = snapshots();
      if (snapshots.size() < SnapshotPolicy.KEPT) {
        return;
      }
      for (long v = trimmed + 1; v < snapshots.getFirst(); v++) {
        log.trim(v);
        trimmed = v;
      }
    }

    void damageNewestSnapshots(long count) {
      List<Long> snapshots = snapshots();
      for (long i = 0; i < count && !snapshots.isEmpty(); i++) {
        store
            .objects()
            .put(ObjectNames.snapshot(snapshots.removeLast()), Bytes.wrap(new byte[] {1, 2, 3}));
      }
    }

    void live(int rounds) {
      for (int i = 1; i <= rounds; i++) {
        store.after(i * 40_000_000L + bits.nextBelow(40_000_000L), this::tick);
      }
    }

    private void tick() {
      grow(bits.nextBelow(30));
      if (bits.nextBelow(2) == 0) {
        trim();
      }
    }
  }

  private static void drain(LogFollower follower) {
    while (follower.nextEvent() != null) {
      // only drained
    }
  }

  /** E2, E10, E12: it ends, and in a state that the log had; trouble is never taken for a head. */
  @Test
  void shouldEndInAStateThatTheLogHad() {
    int openedAgain = 0;
    for (int seed = 0; seed < CASES; seed++) {
      World world = new World(seed);
      world.damageNewestSnapshots(world.bits.nextBelow(3));
      if (seed % 3 == 0) {
        world.store.listing((prefix, key) -> !prefix.startsWith("m") || key.hashCode() % 4 != 0);
      }
      world.live(20);
      LogFollower follower = new LogFollower(FollowPolicy.DEFAULT, new Bits(seed));
      ModelStore.Client client = world.store.attach(follower);
      long[] checked = {-1};
      boolean ended =
          world.store.run(
              () -> {
                drain(follower);
                if (follower.isOpen() && follower.state().version() != checked[0]) {
                  checked[0] = follower.state().version();
                  assertEquals(world.fingerprints.get(checked[0]), follower.state().fingerprint());
                }
                return follower.failure() != null || follower.headKnown();
              },
              MAX_EVENTS);
      assertTrue(ended, "seed=" + seed + " trouble=" + follower.trouble());
      BatchWeaveException failure = follower.failure();
      assertTrue(failure == null, "seed=" + seed + " " + failure);
      // Everything that was there when it began is in.
      follower.requireHead();
      assertTrue(world.store.run(() -> caughtUp(world, follower), MAX_EVENTS), "seed=" + seed);
      long lists = client.sent().stream().filter(r -> r.key().equals("snapshot/")).count();
      openedAgain += lists > 1 ? 1 : 0;
    }
    assertTrue(openedAgain > 10, "openedAgain=" + openedAgain);
  }

  private static boolean caughtUp(World world, LogFollower follower) {
    drain(follower);
    if (follower.failure() != null) {
      throw follower.failure();
    }
    if (follower.headKnown() && follower.state().version() < world.log.state().version()) {
      follower.requireHead();
    }
    return follower.isOpen() && follower.state().version() == world.log.state().version();
  }

  /** A snapshot damaged and all before it trimmed away: CORRUPT or the right state, and an end. */
  @Test
  void shouldEndWhateverIsDamagedOrTrimmed() {
    int corrupt = 0;
    for (int seed = 0; seed < CASES; seed++) {
      World world = new World(seed);
      long head = world.log.state().version();
      for (long v = 1; v <= world.bits.nextBelow(head + 1); v++) {
        world.log.trim(v);
      }
      world.damageNewestSnapshots(world.bits.nextBelow(17));
      LogFollower follower = new LogFollower(FollowPolicy.DEFAULT, new Bits(seed));
      world.store.attach(follower);
      boolean ended =
          world.store.run(
              () -> {
                drain(follower);
                return follower.failure() != null || follower.headKnown();
              },
              MAX_EVENTS);
      assertTrue(ended, "seed=" + seed + " trouble=" + follower.trouble());
      if (follower.failure() != null) {
        corrupt++;
        assertEquals(Kind.CORRUPT, follower.failure().kind());
      } else {
        assertEquals(world.fingerprints.get(head), follower.state().fingerprint());
      }
    }
    assertTrue(corrupt > CASES / 20, "corrupt=" + corrupt);
    assertTrue(corrupt < CASES, "corrupt=" + corrupt);
  }

  /** Every step is found, with the entry the log gave it, whatever segments were lost. */
  @Test
  void shouldFindEveryStepWhateverSegmentsAreLost() {
    for (int seed = 0; seed < 20; seed++) {
      World world = new World(10_000 + seed);
      world.grow(700);
      for (long index = 0; index < 4; index++) {
        if (world.bits.nextBelow(2) == 0) {
          world.store.objects().remove(ObjectNames.segment(index));
        }
      }
      LogFollower follower = new LogFollower(FollowPolicy.DEFAULT, new Bits(seed));
      ModelStore.Client client = world.store.attach(follower);
      assertTrue(world.store.run(() -> caughtUp(world, follower), MAX_EVENTS));
      for (int i = 0; i < 30; i++) {
        long step = world.bits.nextBelow(follower.state().nextStep());
        assertTrue(
            world.store.run(
                () -> {
                  drain(follower);
                  boolean found =
                      follower.failure() != null
                          || !(follower.lookup(step) instanceof StepLookup.NeedSegment);
                  client.touch();
                  return found;
                },
                MAX_EVENTS));
        StepLookup.Entry found = assertInstanceOf(StepLookup.Entry.class, follower.lookup(step));
        assertEquals(step + 1, found.entry().seq());
      }
    }
  }

  /** The same seed gives the same requests, the same states and the same fingerprints. */
  @Test
  void shouldBeDeterministic() {
    for (int seed = 0; seed < 20; seed++) {
      List<Object> first = trace(seed);
      assertEquals(first, trace(seed));
      assertTrue(first.size() > 10);
    }
  }

  private static List<Object> trace(long seed) {
    World world = new World(seed);
    world.live(10);
    LogFollower follower = new LogFollower(FollowPolicy.DEFAULT, new Bits(seed));
    ModelStore.Client client = world.store.attach(follower);
    List<Object> trace = new ArrayList<>();
    world.store.run(
        () -> {
          drain(follower);
          trace.add(follower.fingerprint());
          return follower.headKnown();
        },
        MAX_EVENTS);
    trace.addAll(client.sent());
    trace.add(Objects.requireNonNull(follower.stream()));
    return trace;
  }
}
