package io.batchweave.simulate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.Bytes;
import io.batchweave.format.Announcement;
import io.batchweave.format.AnnouncementCodec;
import io.batchweave.format.Block;
import io.batchweave.format.DataObject;
import io.batchweave.format.Grid;
import io.batchweave.format.Limits;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SourceState;
import io.batchweave.log.Bits;
import io.batchweave.log.Folding;
import io.batchweave.produce.ProducerMachine;
import io.batchweave.simulate.Fleet.Member;
import io.batchweave.simulate.ModelStore.Answer;
import io.batchweave.simulate.ModelStore.Effect;
import io.batchweave.simulate.ModelStore.Fate;
import io.batchweave.store.StoreRequest;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Helping commits at a steady load on the latencies of S3, in virtual time. */
@Timeout(240)
class FleetTest {
  private static final long MS = Fleet.MS;
  private static final long SECOND = Fleet.SECOND;
  private static final String LIST_ANNOUNCED = "ListPrefix announce";
  private static final Latencies SLOW = new Latencies(105, 75, 180, 120, 0.45);

  private static Fleet fleet(long seed) {
    return new Fleet(seed, Latencies.S3_STANDARD);
  }

  /** Means over some seeds: what the targets are stated on. */
  private static void checkTargets(int producers, int seconds, int seeds, Latencies latencies) {
    double p99Ms = 0;
    double puts = 0;
    double requests = 0;
    for (int seed = 1; seed <= seeds; seed++) {
      Fleet fleet = new Fleet(seed, latencies);
      fleet.startAll(producers, 2 * SECOND);
      fleet.run(seconds * SECOND);
      assertTrue(fleet.jain() >= 0.98, "jain=" + fleet.jain());
      double readsPerSecond = fleet.count("Get manifest") / (double) seconds;
      assertTrue(readsPerSecond <= 3_000, "version reads per second: " + readsPerSecond);
      p99Ms += fleet.percentileMs(99) / (double) seeds;
      puts += fleet.putsPerVersion() / seeds;
      requests += fleet.requestsPerBatch() / seeds;
    }
    assertTrue(p99Ms < 1_000, "p99Ms=" + p99Ms);
    assertTrue(puts <= 1.2, "version PUTs per version: " + puts);
    assertTrue(requests <= (producers == 1 ? 3 : 4), "requests per batch: " + requests);
  }

  private static void checkTargets(int producers, int seconds, int seeds) {
    checkTargets(producers, seconds, seeds, Latencies.S3_STANDARD);
  }

  @Test
  void shouldMeetTheTargetsWhenAlone() {
    checkTargets(1, 60, 4);
  }

  @Test
  void shouldMeetTheTargetsWithFew() {
    checkTargets(4, 60, 8);
  }

  @Test
  void shouldMeetTheTargetsWithSixteen() {
    checkTargets(16, 40, 4);
  }

  /** B1: in small. */
  @Test
  void shouldMeetTheTargetsWithSixtyFour() {
    checkTargets(64, 30, 1);
  }

  @Test
  void shouldMeetTheTargetsOnAFastStore() {
    checkTargets(16, 20, 2, Latencies.TEN_MS);
    checkTargets(64, 10, 1, Latencies.TEN_MS);
  }

  /** B1: over several seeds, and with 256; 1,024 are measured by the benchmark commit-scaling. */
  @Tag("full")
  @Test
  void shouldMeetTheTargetsWithHundreds() {
    checkTargets(64, 60, 8);
    checkTargets(256, 12, 2);
  }

  private static void checkStart(int producers, int seeds, long withinNs) {
    for (int seed = 1; seed <= seeds; seed++) {
      Fleet fleet = new Fleet(seed, Latencies.S3_STANDARD, new Grid(1, 1));
      for (int i = 0; i < producers; i++) {
        fleet.start("p" + i, 1_000 * SECOND, 0);
      }
      fleet.run(withinNs);
      assertEquals(producers, fleet.committed.size(), "all are committed, fences included");
      double requests = fleet.requestsPerBatch();
      assertTrue(requests <= 5, "requests per batch, fences included: " + requests);
    }
  }

  /** B2: with 128 producers; whoever waits its turn finds out soon that another was quicker. */
  @Test
  void shouldCommitAllWhenManyStartInTheSameInstant() {
    checkStart(128, 3, 2_400 * MS);
  }

  /** B2: 1,024 producers. */
  @Tag("full")
  @Timeout(1_800)
  @Test
  void shouldCommitAllWhenAThousandStartInTheSameInstant() {
    checkStart(1_024, 20, 3 * SECOND);
  }

  /**
   * B3: a minute of 503 on the manifest, on all of it or on its PUTs alone: what waits is written
   * within three commits after it.
   */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void shouldRecoverWithinThreeCommitsWhenTheStoreThrottledForAMinute(boolean reads) {
    Fleet fleet = fleet(4);
    fleet.startAll(8, 2 * SECOND);
    fleet.run(10 * SECOND);
    long before = fleet.count(Fleet.PUT_VERSION);
    fleet.trouble((request, random) ->
        isPutOfVersion(request) || (reads && request.key().startsWith("manifest/"))
            ? new Fate(5 * MS, 20 * MS, Effect.NOT_APPLIED, Answer.THROTTLED)
            : null);
    fleet.run(60 * SECOND);
    long refused = fleet.count(Fleet.PUT_VERSION) - before;
    assertTrue(refused <= 8 * 30, "a throttled store is left alone: " + refused);
    assertTrue(fleet.pending() >= 8 * 25, "buffered: " + fleet.pending());
    int versions = fleet.versionAtNs.size();
    long healedNs = fleet.store.nowNs();
    fleet.trouble((request, random) -> null);
    fleet.run(60 * SECOND);
    assertTrue(fleet.pending() <= 8, "pending=" + fleet.pending());
    List<Long> after = fleet.versionAtNs.subList(versions, fleet.versionAtNs.size());
    assertTrue(after.size() > 20, "versions after it: " + after.size());
    long begunNs = after.get(0);
    assertTrue(begunNs - healedNs < 10 * SECOND, "the first: " + (begunNs - healedNs));
    assertTrue(
        after.get(3) - begunNs < 15 * SECOND, "the first three: " + (after.get(3) - begunNs));
  }

  /**
   * B3: a store that takes few versions a second and refuses the others, for as long as it likes.
   */
  @Test
  void shouldSlowDownWhenTheStoreTakesFewVersions() {
    Fleet fleet = fleet(19);
    fleet.startAll(8, 2 * SECOND);
    fleet.run(10 * SECOND);
    long[] lastNs = {0};
    int[] refused = {0};
    fleet.trouble((request, random) -> {
      if (!isPutOfVersion(request)) {
        return null;
      }
      if (fleet.store.nowNs() - lastNs[0] >= 2 * SECOND) {
        lastNs[0] = fleet.store.nowNs();
        return null;
      }
      refused[0]++;
      return new Fate(5 * MS, 20 * MS, Effect.NOT_APPLIED, Answer.THROTTLED);
    });
    int versions = fleet.versions();
    fleet.run(60 * SECOND);
    int taken = fleet.versions() - versions;
    assertTrue(taken >= 15, "versions: " + taken);
    assertTrue(refused[0] <= 10 * taken, "refused: " + refused[0] + " of " + taken + " versions");
    assertTrue(fleet.pending() <= 24, "pending=" + fleet.pending());
  }

  /**
   * A8: some versions have an unclear outcome, whether they landed or not: nothing is deleted that
   * the log has not decided (of announcements the fleet itself sees to that).
   */
  @Test
  void shouldDeleteNothingWhenOutcomesAreUnclear() {
    Fleet fleet = fleet(18);
    fleet.startAll(8, 2 * SECOND);
    fleet.run(5 * SECOND);
    int[] unclear = {0};
    fleet.trouble((request, random) -> {
      if (!isPutOfVersion(request) || random.nextBelow(3) != 0) {
        return null;
      }
      Effect effect = unclear[0]++ % 2 == 0 ? Effect.APPLIED : Effect.NOT_APPLIED;
      return new Fate(20 * MS, 20 * MS, effect, Answer.SERVER_ERROR);
    });
    fleet.run(60 * SECOND);
    assertTrue(unclear[0] > 20, "unclear=" + unclear[0]);
    assertTrue(fleet.count("Delete announce") > 0, "what is decided goes");
    for (String place : List.of("data", "index", "snapshot", "manifest")) {
      assertEquals(0, fleet.count("Delete " + place), place);
    }
    assertTrue(fleet.pending() <= 24, "pending=" + fleet.pending());
  }

  /** B4: one producer is ten times slower. */
  @Test
  void shouldCommitTheWorkOfAProducerWhoseRequestsAreTenTimesSlower() {
    Fleet fleet = fleet(5);
    fleet.startAll(8, 2 * SECOND);
    Member slow = fleet.start("slow", 4 * SECOND, 0);
    fleet.slow(slow);
    fleet.run(60 * SECOND);
    assertTrue(fleet.committed.getOrDefault("slow", 0) >= 10, "" + fleet.committed);
  }

  /** B5: one producer that adds without end; its LISTs of announcements always fail. */
  @Test
  void shouldStepInWhenWhoeverCommitsCannotListAndItsWorkNeverEnds() {
    Fleet fleet = fleet(6);
    Member blind = fleet.start("blind", 100 * MS, 0);
    fleet.blind(blind);
    fleet.run(5 * SECOND);
    for (int i = 0; i < 4; i++) {
      fleet.start("p" + i, 2 * SECOND, 300L * i * MS);
    }
    fleet.run(30 * SECOND);
    for (int i = 0; i < 4; i++) {
      assertTrue(fleet.committed.getOrDefault("p" + i, 0) >= 12, "" + fleet.committed);
    }
    assertTrue(fleet.committed.getOrDefault("blind", 0) > 50, "" + fleet.committed);
  }

  /** LISTs of announcements that are never answered, and such as fail only after half a second. */
  private static void checkCommitsWithoutLists(int producers, Fate list) {
    Fleet fleet = fleet(13);
    fleet.startAll(producers, 2 * SECOND);
    fleet.run(20 * SECOND);
    fleet.trouble((request, random) -> isListOfAnnouncements(request) ? list : null);
    int batches = fleet.batches();
    long lists = listsIn(60 * SECOND, fleet);
    assertTrue(fleet.pending() <= 3 * producers, "pending=" + fleet.pending());
    assertTrue(
        fleet.batches() - batches >= 20 * producers, "batches: " + (fleet.batches() - batches));
    assertTrue(lists <= 60L * producers, "LISTs: " + lists);
  }

  /** B5: a LIST that takes longer than a version keeps nobody from committing, alone or not. */
  @Test
  void shouldCommitWhenListsAreSlowToFail() {
    Fate hangs = new Fate(5 * MS, 20 * MS, Effect.NOT_APPLIED, Answer.LOST);
    Fate fails = new Fate(5 * MS, 500 * MS, Effect.NOT_APPLIED, Answer.SERVER_ERROR);
    for (int producers : new int[] {1, 2, 5}) {
      checkCommitsWithoutLists(producers, hangs);
      checkCommitsWithoutLists(producers, fails);
    }
  }

  /**
   * Clocks go back while a version is on its way, and LISTs fail at once: what is remembered seems
   * to lie ahead, and nobody lists without a pause for that.
   */
  @Test
  void shouldListAsOftenAsEverWhenClocksGoBackDuringACommit() {
    Fleet fleet = fleet(14);
    fleet.startAll(2, 2 * SECOND);
    fleet.run(10 * SECOND);
    boolean[] jumps = {false};
    fleet.trouble((request, random) -> {
      if (jumps[0] && isPutOfVersion(request)) {
        jumps[0] = false;
        for (Member member : fleet.members) {
          fleet.store.after(MS, () -> member.client.jump(-10 * SECOND));
        }
      }
      return isListOfAnnouncements(request)
          ? new Fate(MS, MS, Effect.NOT_APPLIED, Answer.SERVER_ERROR)
          : null;
    });
    long usual = listsIn(20 * SECOND, fleet);
    jumps[0] = true;
    long after = listsIn(20 * SECOND, fleet);
    assertFalse(jumps[0], "a version was written");
    assertTrue(after <= 2 * usual, "LISTs: " + after + " usually: " + usual);
  }

  private static long listsIn(long timeNs, Fleet fleet) {
    long before = fleet.count(LIST_ANNOUNCED);
    fleet.run(timeNs);
    return fleet.count(LIST_ANNOUNCED) - before;
  }

  private static boolean isPutOfVersion(StoreRequest request) {
    return request instanceof StoreRequest.PutIfAbsent && request.key().startsWith("manifest/");
  }

  private static boolean isListOfAnnouncements(StoreRequest request) {
    return request instanceof StoreRequest.ListPrefix && request.key().startsWith("announce/");
  }

  /**
   * Committers die in turn and are replaced; announcements of a group stay within two pages of a
   * LIST, and the time from version to version does not grow.
   */
  private static void checkDeaths(int producers, int versions) {
    Fleet fleet = new Fleet(7, Latencies.S3_STANDARD, new Grid(1, 1));
    fleet.startAll(producers, 2 * SECOND);
    // Of somebody who never came to his fence: never acceptable, never decided.
    Block orphan = batchOf(fleet, new DataObject("gone", 1, 1, 1, 77));
    String orphanKey = ObjectNames.announcement(0, orphan);
    fleet.store.objects().put(orphanKey, announced(fleet, orphan));
    fleet.run(6 * SECOND);
    int rounds = 0;
    while (fleet.versionAtNs.size() < versions) {
      fleet.crashCommitter();
      fleet.start("q" + rounds, 2 * SECOND, 0);
      fleet.run(6 * SECOND);
      rounds++;
      assertTrue(rounds < 200, "versions=" + fleet.versionAtNs.size());
    }
    assertTrue(rounds >= 5, "deaths=" + rounds);
    int half = versions / 2;
    long firstNs = fleet.versionAtNs.get(half) - fleet.versionAtNs.get(0);
    long secondNs = fleet.versionAtNs.get(versions - 1) - fleet.versionAtNs.get(half);
    assertTrue(secondNs < firstNs * 5 / 4, "the first half: " + firstNs + " second: " + secondNs);
    int most = Math.min(2_000, 4 * producers);
    assertTrue(fleet.mostAnnounced < most, "announcements in a group: " + fleet.mostAnnounced);
    String live = ObjectNames.announceGroup(fleet.versions() - 4L * Limits.ANNOUNCE_VERSIONS);
    assertEquals(
        List.of(),
        fleet.store.objects().subMap("announce/", live).keySet().stream().toList(),
        "what the dead announced, long ago: " + orphanKey);
    for (Member member : fleet.members.subList(0, producers)) {
      int committed = fleet.committed.getOrDefault(member.producer, 0);
      assertTrue(
          member.stopped || committed >= rounds * 5 / 2,
          member.producer + " committed " + committed + " in " + rounds + " times six seconds");
    }
  }

  /** What processes share is what each would have folded for itself, newcomers included. */
  @Test
  void shouldNeedTheSameWhetherProcessesShareWhatTheyFoldOrNot() {
    Fleet shared = grown(new SharedFolding());
    Fleet own = grown(Folding.OWN);
    assertTrue(shared.versions() > 130, "there are snapshots: " + shared.versions());
    assertEquals(own.visibleNs(), shared.visibleNs());
    assertEquals(own.versionAtNs, shared.versionAtNs);
    assertEquals(own.store.count(), shared.store.count());
    assertEquals(own.state().fingerprint(), shared.state().fingerprint());
  }

  private static Fleet grown(Folding folding) {
    Fleet fleet = new Fleet(15, Latencies.TEN_MS, new Grid(2, 1), folding);
    fleet.startAll(12, Fleet.SECOND);
    fleet.run(15 * SECOND);
    fleet.crashCommitter();
    fleet.start("late", 500 * MS, 0);
    fleet.slow(fleet.members.getFirst());
    fleet.run(10 * SECOND);
    return fleet;
  }

  /**
   * G2: clocks that are up to a day off, before or behind, and a store that tells no time: nothing
   * is another.
   */
  @Test
  void shouldNeedTheSameWhateverTheClocksSay() {
    Fleet right = fleet(16);
    Fleet wrong = fleet(16);
    Bits bits = new Bits(17);
    for (Fleet fleet : List.of(right, wrong)) {
      fleet.startAll(8, SECOND);
    }
    for (Member member : wrong.members) {
      member.client.jump((bits.nextBelow(2 * 86_400) - 86_400) * SECOND);
    }
    for (Fleet fleet : List.of(right, wrong)) {
      fleet.run(10 * SECOND);
      fleet.crashCommitter();
      fleet.run(10 * SECOND);
    }
    assertTrue(right.batches() > 100, "batches: " + right.batches());
    assertEquals(right.visibleNs(), wrong.visibleNs());
    assertEquals(right.versionAtNs, wrong.versionAtNs);
    assertEquals(right.store.count(), wrong.store.count());
  }

  /** B8: in small, with 24 producers for 400 versions. */
  @Test
  void shouldGoOnWhenCommittersDieNowAndThen() {
    checkDeaths(24, 400);
  }

  /** B8: 1,024 producers for 640 versions. */
  @Tag("full")
  @Timeout(1_800)
  @Test
  void shouldGoOnWhenCommittersOfAThousandDieNowAndThen() {
    checkDeaths(1_024, 640);
  }

  /**
   * More full blocks are offered than a version holds, for a time; whoever they are and whatever
   * they are called, each gets its share; whoever leads may get more.
   */
  private static Fleet checkOverflow(int seconds, Latencies latencies, int leastFull) {
    Fleet fleet = new Fleet(12, latencies, new Grid(256, 1));
    fleet.saturate();
    for (String name : List.of("a", "aa", "m-1", "z", "zzzz", "0", "p", "q9")) {
      fleet.start(name, 500 * MS, 0);
    }
    fleet.run(seconds * SECOND);
    assertTrue(
        fleet.fullVersions() > leastFull, "versions that were full: " + fleet.fullVersions());
    assertEquals(8, fleet.committed.size(), "nobody starves: " + fleet.committed);
    double mean = fleet.committed.values().stream().mapToInt(n -> n).average().orElseThrow();
    for (int committed : fleet.committed.values()) {
      assertTrue(committed > mean * 4 / 5, "mean=" + mean + " " + fleet.committed);
    }
    return fleet;
  }

  private static void checkShares(Fleet fleet, double leastJain) {
    assertTrue(fleet.jain() >= leastJain, "jain=" + fleet.jain() + " " + fleet.committed);
  }

  /** B7: for ten seconds, in which nobody leads for long enough to have more. */
  @Test
  void shouldStarveNobodyWhenVersionsAreFull() {
    checkShares(checkOverflow(10, Latencies.S3_STANDARD, 10), 0.98);
  }

  /**
   * B7: where a block takes long from its owner to a version, the next version is known to come at
   * once, so that others have theirs announced by then: whoever leads, from its start on, does not
   * have twice as much.
   */
  @Test
  void shouldLookForTheNextVersionAtOnceWhenOneIsFull() {
    checkShares(checkOverflow(20, SLOW, 20), 0.95);
  }

  /**
   * B7: for an hour, on a slow store, so that it is thousands of versions and not ten thousands.
   */
  @Tag("full")
  @Timeout(3_600)
  @Test
  void shouldStarveNobodyWhenVersionsAreFullForAnHour() {
    checkShares(checkOverflow(3_600, SLOW, 1_000), 0.98);
  }

  @Test
  void shouldAdaptWhenAlmostAllLeave() {
    Fleet fleet = fleet(8);
    fleet.startAll(64, 2 * SECOND);
    fleet.run(12 * SECOND);
    for (int i = 2; i < 64; i++) {
      fleet.members.get(i).crash();
    }
    fleet.run(2 * SECOND);
    int versions = fleet.versionAtNs.size();
    int batches = fleet.visibleNs.size();
    fleet.run(10 * SECOND);
    assertTrue(fleet.versionAtNs.size() - versions >= 5, "versions go on");
    List<Long> visible = fleet.visibleNs.subList(batches, fleet.visibleNs.size());
    assertTrue(visible.size() >= 8, "batches: " + visible.size());
    for (long tookNs : visible.subList(3, visible.size())) {
      assertTrue(tookNs < 1_500 * MS, "after three commits as usual: " + tookNs / MS);
    }
  }

  private static Block batchOf(Fleet fleet, DataObject object) {
    long seq = object.firstSeq();
    return new Block.Produce(
        object.producer(),
        object.epoch(),
        seq,
        List.of(fleet.entry(object, seq)),
        new SourceState.Inline(Bytes.EMPTY));
  }

  private static Bytes announced(Fleet fleet, Block block) {
    return Bytes.wrap(AnnouncementCodec.encode(new Announcement(fleet.streamId(), block)));
  }

  /** C5: an announcement of the first epoch is listed after the second began. */
  @Test
  void shouldIgnoreWhatAZombieAnnouncesAfterTheFence() {
    Fleet fleet = fleet(9);
    fleet.start("p", 2 * SECOND, 0);
    fleet.start("other", 300 * MS, 0);
    fleet.run(4 * SECOND);
    fleet.members.getFirst().crash();
    Member next = fleet.start("p", 2 * SECOND, 0);
    fleet.run(4 * SECOND);
    assertEquals(2, next.machine.epoch());
    long seq = next.machine.committedSeq();
    DataObject object = new DataObject("p", 1, seq, seq, 77);
    Block zombie = batchOf(fleet, object);
    for (int back = 0; back < 2; back++) {
      fleet
          .store
          .objects()
          .put(
              ObjectNames.announcement(fleet.versionAtNs.size(), zombie), announced(fleet, zombie));
      fleet.run(4 * SECOND);
    }
    assertFalse(next.machine.phase() == ProducerMachine.Phase.FAILED, "goes on");
    assertTrue(fleet.objectsOf("p").stream().noneMatch(object::equals), "never in the log");
    assertTrue(
        Objects.requireNonNull(fleet.state().producer("p")).nextSeq() > seq + 1,
        "its successor went on");
  }

  /** B5: garbage under the name of a batch; its owner commits it directly. */
  @Test
  void shouldIgnoreAnnouncementsThatNobodyCanDecode() {
    Fleet fleet = fleet(10);
    fleet.damage(key -> key.startsWith("announce/") && key.contains("/p.p3."));
    fleet.startAll(6, 2 * SECOND);
    fleet.run(30 * SECOND);
    assertTrue(fleet.committed.getOrDefault("p3", 0) >= 12, "" + fleet.committed);
    assertTrue(fleet.count("PutIfAbsent announce") > 0);
  }

  @Test
  void shouldNotAnnounceWhenAlone() {
    Fleet fleet = fleet(11);
    fleet.startAll(1, 2 * SECOND);
    fleet.run(60 * SECOND);
    assertEquals(0, fleet.count("PutIfAbsent announce"));
    assertEquals(
        fleet.versionAtNs.size(), fleet.count("PutIfAbsent manifest"), "and loses no version");
  }
}
