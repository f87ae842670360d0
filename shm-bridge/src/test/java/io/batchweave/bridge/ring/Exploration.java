package io.batchweave.bridge.ring;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.log.Bits;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.agrona.collections.Long2LongHashMap;
import org.agrona.collections.LongHashSet;
import org.jspecify.annotations.Nullable;

/**
 * Every interleaving of a small {@link RingWorld}: each rank's stores and loads, requests that end
 * or are cancelled, looks of the daemon, deaths of ranks at any moment and of daemons between any
 * two of its commands, those of a takeover included. In one state of {@value #SAMPLE} it is tried
 * whether, left alone, all comes to a good end.
 *
 * <p>What differs only in what {@link WorldHash} leaves out is one world. Beside that, four things
 * are not gone into, as nothing else could follow:
 *
 * <ul>
 *   <li>a world where at least as much could still go wrong before: all that follows now followed
 *       then
 *   <li>how long a rank's process is missing: the next one is there at once. It says nothing before
 *       its Hello, which may come at any time, and no other looks at anything but the locks, which
 *       are gone
 *   <li>a daemon's death after a rank's move. Ranks do not see a death, and it takes with it
 *       nothing of what they did, a Hello that is not answered yet included: in either order they
 *       lead to one world. So a daemon dies at the beginning, between two of its commands, and
 *       after each of its own moves
 *   <li>moves that change nothing: the daemon offers a step when none is wanted; without whims, a
 *       rank looks for a step or an answer that is not there
 * </ul>
 *
 * <p>{@link #compare} goes into all of them, with exact fingerprints, and finds the same worlds.
 */
final class Exploration {
  /**
   * What may happen.
   *
   * @param shape the world
   * @param daemonDeaths so many
   * @param rankDeaths so many, all ranks together
   * @param anew so many times a rank attaches anew, its client made again
   * @param whims what else may happen at any time
   * @param maxStates stops there
   */
  record Scope(
      RingWorld.Shape shape,
      int daemonDeaths,
      int rankDeaths,
      int anew,
      Set<Choices.Whim> whims,
      long maxStates) {
    /** Whether it is to come to its end. */
    boolean isWhole() {
      return maxStates == Long.MAX_VALUE;
    }
  }

  /**
   * What was found.
   *
   * @param states so many were told apart
   * @param worlds so many differ whatever may still go wrong, no process missing
   * @param moves so many led from one to another
   * @param completed so many were brought to their end
   * @param isComplete whether there are no others
   * @param takeovers so many, at most, on the way to one
   * @param closes generations closed, at most, on the way to one
   */
  record Found(
      long states,
      long worlds,
      long moves,
      long completed,
      boolean isComplete,
      int takeovers,
      int closes) {}

  /** Goes through all ways of an action one after the other. */
  private static final class Script implements Choices {
    private final Set<Whim> allowed;
    private final List<int[]> made = new ArrayList<>(); // {choice, bound}
    private int at;

    Script(Set<Whim> allowed) {
      this.allowed = allowed;
    }

    @Override
    public long below(long bound) {
      if (bound == 1) {
        return 0;
      }
      if (at == made.size()) {
        made.add(new int[] {0, (int) bound});
      }
      return made.get(at++)[0];
    }

    @Override
    public long anyOf(long bound) {
      return 0;
    }

    @Override
    public boolean happens(Whim whim) {
      return allowed.contains(whim) && below(2) == 1;
    }

    /** The next way; false when there is none. */
    boolean next() {
      at = 0;
      while (!made.isEmpty()) {
        int[] last = made.getLast();
        if (++last[0] < last[1]) {
          return true;
        }
        made.removeLast();
      }
      return false;
    }
  }

  /**
   * A state to be gone on from, and what may still go wrong.
   *
   * @param fingerprint of the world alone
   */
  private record Node(
      RingWorld world, long fingerprint, int daemonDeaths, int rankDeaths, int anew) {
    long with(long worldFingerprint) {
      return new StateHash()
          .add(worldFingerprint)
          .add(daemonDeaths)
          .add(rankDeaths)
          .add(anew)
          .value();
    }
  }

  private static final int SAMPLE = 64;

  /** Everybody is patient and keeps as much as it may for as long as it may. */
  private static final Choices TO_THE_END =
      new Choices() {
        @Override
        public long below(long bound) {
          return 0;
        }

        @Override
        public boolean happens(Whim whim) {
          return whim == Whim.REPEAT;
        }
      };

  private final Scope scope;

  /** Whether what leads nowhere else is left out. */
  private final boolean isReduced;

  /** By fingerprint of a world: what may still go wrong there, as far as it was gone into. */
  private final SeenWorlds seen = new SeenWorlds();

  private long states;
  private final List<Node> open = new ArrayList<>();
  private final Bits bits = new Bits(1);
  private long moves;
  private long completed;
  private int takeovers;
  private int closes;

  /** By fingerprint of a state: that of those that follow, where all that is left out counts. */
  private final @Nullable Long2LongHashMap followers;

  /** Those of the state at hand. */
  private final LongHashSet following = new LongHashSet();

  /** Worlds in which no process is missing. */
  private final LongHashSet worlds = new LongHashSet();

  private Exploration(Scope scope, boolean isExact) {
    this.scope = scope;
    this.isReduced = !isExact;
    this.followers = isExact ? new Long2LongHashMap(0) : null;
    int ways = (scope.daemonDeaths() + 1) * (scope.rankDeaths() + 1) * (scope.anew() + 1);
    assertTrue(ways <= Character.SIZE, "too much may go wrong");
  }

  /**
   * The same without leaving anything out: states are told apart by what decides nothing as well,
   * and each dead process stays away as long as it likes. Checks that states with one fingerprint
   * are followed by states with the same fingerprints.
   */
  static Found compare(Scope scope) {
    return new Exploration(scope, true).run(null);
  }

  static Found explore(Scope scope) {
    return new Exploration(scope, false).run(null);
  }

  /** The same with something wrong. */
  static Found explore(Scope scope, RingBug bug) {
    return new Exploration(scope, false).run(bug);
  }

  private Found run(@Nullable RingBug bug) {
    assertTrue(!scope.whims().contains(Choices.Whim.STATUS), "fingerprints leave the status out");
    RingWorld first = new RingWorld(scope.shape(), new Script(Set.of()));
    first.bug = bug;
    add(first, scope.daemonDeaths(), scope.rankDeaths(), scope.anew());
    die(open.getFirst(), RingWorld::die);
    while (!open.isEmpty() && states < scope.maxStates()) {
      // The latest first, so that few wait; where not all is looked at, every other time any.
      boolean isAny = !scope.isWhole() && bits.nextBelow(2) == 0;
      int chosen = (int) (isAny ? bits.nextBelow(open.size()) : open.size() - 1);
      Node node = open.get(chosen);
      Node last = open.removeLast();
      if (chosen < open.size()) {
        open.set(chosen, last);
      }
      expand(node);
      compareFollowers(node);
      if ((node.with(node.fingerprint()) & SAMPLE - 1) == 0) {
        complete(node.world().copy());
        completed++;
      }
    }
    return new Found(
        states,
        followers == null ? seen.size() : worlds.size(),
        moves,
        completed,
        open.isEmpty(),
        takeovers,
        closes);
  }

  private void compareFollowers(Node node) {
    if (followers != null) {
      long itself = node.with(node.fingerprint());
      following.remove(itself);
      long sum = 1;
      for (long follower : following) {
        sum += new StateHash().add(follower).value();
      }
      following.clear();
      long before = followers.put(itself, sum);
      assertTrue(before == 0 || before == sum, "states that are not alike have one fingerprint");
    }
  }

  private void add(RingWorld world, int daemonDeaths, int rankDeaths, int anew) {
    Node node = new Node(world, world.fingerprint(), daemonDeaths, rankDeaths, anew);
    if (followers != null) {
      following.add(node.with(node.fingerprint()));
    }
    // Whoever lives is counted by the next daemon: nobody finds its step gone.
    boolean onlyDaemonsDie = scope.rankDeaths() == 0 && scope.anew() == 0;
    assertTrue(!onlyDaemonsDie || world.olderSteps == 0, "began too late");
    if (isNew(node)) {
      states++;
      open.add(node);
      if (followers != null && world.ranks.stream().allMatch(rank -> rank.alive || rank.finished)) {
        worlds.add(node.fingerprint());
      }
      takeovers = Math.max(takeovers, world.takeovers);
      closes = Math.max(closes, world.closes);
    }
  }

  /** Whoever went on from the same world with as much that may go wrong saw all that follows. */
  private boolean isNew(Node node) {
    if (followers != null) {
      long exact = node.with(node.world().exactFingerprint());
      boolean isNew = seen.ways(exact) == 0;
      seen.add(exact, 1);
      return isNew;
    }
    int gone = seen.ways(node.fingerprint());
    if ((gone & 1 << way(node.daemonDeaths(), node.rankDeaths(), node.anew())) != 0) {
      return false;
    }
    for (int daemons = 0; daemons <= node.daemonDeaths(); daemons++) {
      for (int ranks = 0; ranks <= node.rankDeaths(); ranks++) {
        for (int anew = 0; anew <= node.anew(); anew++) {
          gone |= 1 << way(daemons, ranks, anew);
        }
      }
    }
    seen.add(node.fingerprint(), gone);
    return true;
  }

  private int way(int daemonDeaths, int rankDeaths, int anew) {
    return (daemonDeaths * (scope.rankDeaths() + 1) + rankDeaths) * (scope.anew() + 1) + anew;
  }

  private void expand(Node node) {
    RingWorld world = node.world();
    for (int i = 0; i < world.ranks.size(); i++) {
      int number = i;
      ModelRank rank = world.ranks.get(number);
      if (rank.alive && !rank.finished) {
        if (!isReduced || !scope.whims().isEmpty() || !world.isWaiting(rank)) {
          move(node, 1, next -> next.step(next.ranks.get(number)));
        }
        if (node.rankDeaths() > 0) {
          RingWorld next = world.copy();
          ModelRank killed = next.ranks.get(number);
          next.kill(killed);
          if (followers == null) {
            next.restart(killed, killed.nextStep); // nobody sees that there is no process
          }
          add(next, node.daemonDeaths(), node.rankDeaths() - 1, node.anew());
        }
        if (node.anew() > 0) {
          RingWorld next = world.copy();
          next.attachAnew(next.ranks.get(number));
          add(next, node.daemonDeaths(), node.rankDeaths(), node.anew() - 1);
        }
      } else if (!rank.finished) {
        move(
            node, 1, next -> next.restart(next.ranks.get(number), next.ranks.get(number).nextStep));
      }
    }
    if (world.down) {
      move(node, 0, RingWorld::startDaemon);
      return;
    }
    if (!isReduced || world.machine.wantedStep() >= 0) {
      move(node, 0, RingWorld::offer); // which may leave half a descriptor
    }
    if (!world.fetches.isEmpty()) {
      move(node, 0, next -> next.fetchMore(true));
    }
    move(node, 1, next -> next.look(true));
    if (!isReduced) {
      die(node, RingWorld::die);
    }
  }

  /**
   * One action in every way, and with the daemon dying in the middle of it or right after it.
   *
   * @param fewest commands that it carries out before it dies: one where dying before the first is
   *     dying before the action
   */
  private void move(Node node, int fewest, Consumer<RingWorld> action) {
    Script script = new Script(scope.whims());
    int most = 0;
    do {
      RingWorld next = node.world().copy();
      next.choices = script;
      action.accept(next);
      moves++;
      add(next, node.daemonDeaths(), node.rankDeaths(), node.anew());
      most = Math.max(most, next.commands);
    } while (script.next());
    for (int left = isReduced ? fewest : 0; left <= most; left++) {
      int crash = left;
      die(
          node,
          dying -> {
            dying.limit(crash);
            action.accept(dying);
            dying.die();
          });
    }
  }

  private void die(Node node, Consumer<RingWorld> action) {
    if (node.daemonDeaths() == 0) {
      return;
    }
    Set<Choices.Whim> whims = EnumSet.of(Choices.Whim.LATE_WRITE);
    whims.addAll(scope.whims());
    Script script = new Script(whims);
    do {
      RingWorld next = node.world().copy();
      next.choices = script;
      action.accept(next);
      moves++;
      add(next, node.daemonDeaths() - 1, node.rankDeaths(), node.anew());
    } while (script.next());
  }

  /** Nothing goes wrong any more: everybody gets to the end, and everything is free. */
  static void complete(RingWorld world) {
    world.choices = TO_THE_END;
    if (world.down) {
      world.startDaemon();
    }
    int rounds = 0;
    while (world.ranks.stream().anyMatch(rank -> !rank.finished)) {
      for (ModelRank rank : world.ranks) {
        if (!rank.alive && !rank.finished) {
          world.restart(rank, rank.nextStep);
        }
        world.step(rank);
      }
      world.offer();
      world.fetchMore(true);
      world.look(true);
      world.nowNs += 60;
      assertTrue(++rounds < 500, () -> "stopped for ever: " + world.machine.status(""));
    }
    while (!world.machine.isFree()) {
      world.fetchMore(true);
      world.look(true);
      assertTrue(++rounds < 1_000, () -> "not free: " + world.machine.status(""));
    }
    assertTrue(world.machine.status("").usedBytes() == 0);
  }
}
