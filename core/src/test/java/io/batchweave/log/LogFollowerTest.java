package io.batchweave.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.Block;
import io.batchweave.format.Limits;
import io.batchweave.format.ManifestCodec;
import io.batchweave.format.ObjectNames;
import io.batchweave.simulate.ModelStore;
import io.batchweave.simulate.ModelStore.Answer;
import io.batchweave.simulate.ModelStore.Effect;
import io.batchweave.simulate.ModelStore.Fate;
import io.batchweave.store.ListedObject;
import io.batchweave.store.StoreFailure;
import io.batchweave.store.StoreRequest;
import io.batchweave.store.StoreResponse;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeSet;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Opening, following and looking up, against a modelled store. */
@Timeout(120)
class LogFollowerTest {
  private static final int MAX_EVENTS = 1_000_000;

  private final ModelStore store = new ModelStore(1);
  private final LogWriter log = new LogWriter(store.objects(), 2);
  private LogFollower follower = follower(FollowPolicy.DEFAULT);
  private ModelStore.Client client = store.attach(follower);
  private final List<LogEvent> events = new ArrayList<>();

  private static LogFollower follower(FollowPolicy policy) {
    return new LogFollower(policy, new Bits(3));
  }

  private void replaceFollower(FollowPolicy policy) {
    client.crash();
    follower = follower(policy);
    client = store.attach(follower);
  }

  private static FollowPolicy wide() {
    FollowPolicy d = FollowPolicy.DEFAULT;
    return new FollowPolicy(
        4_096, d.minPollNs(), d.maxPollNs(), d.minBackoffNs(), d.maxBackoffNs(), 8, 4);
  }

  private boolean settled() {
    drain();
    return follower.failure() != null || follower.headKnown();
  }

  private void drain() {
    for (LogEvent e = follower.nextEvent(); e != null; e = follower.nextEvent()) {
      events.add(e);
    }
  }

  private void toHead() {
    assertTrue(store.run(this::settled, MAX_EVENTS), () -> "stuck: " + follower.trouble());
    assertNull(follower.failure());
    assertSameState();
  }

  private void assertSameState() {
    assertEquals(log.state().toRecord(), follower.state().toRecord());
  }

  private BatchWeaveException fails() {
    assertTrue(store.run(this::settled, MAX_EVENTS), () -> "stuck: " + follower.trouble());
    return Objects.requireNonNull(follower.failure());
  }

  private StepLookup lookup(long step) {
    StepLookup[] last = new StepLookup[1];
    store.run(
        () -> {
          drain();
          if (follower.failure() == null) {
            last[0] = follower.lookup(step);
            client.touch();
          }
          return follower.failure() != null || !(last[0] instanceof StepLookup.NeedSegment);
        },
        MAX_EVENTS);
    return last[0];
  }

  private void assertEntry(long step) {
    StepLookup.Entry entry = assertInstanceOf(StepLookup.Entry.class, lookup(step));
    assertEquals(step + 1, entry.entry().seq());
  }

  // ---- opening

  @Test
  void shouldOpenAnEmptyStream() {
    toHead();
    assertEquals(0, follower.state().version());
    assertEquals(LogWriter.STREAM, follower.stream().streamId());
    assertEquals(new StepLookup.NotYet(0), follower.lookup(0));
    assertEquals(List.of(), events);
  }

  @Test
  void shouldSayThatARootIsNoStream() {
    store.objects().clear();
    assertEquals(Kind.CONFIG, fails().kind());
    assertEquals(Long.MAX_VALUE, follower.wakeAtNs());
  }

  /** E1 in the small: the depth does not depend on the history. */
  @ParameterizedTest
  @ValueSource(longs = {0, 1, 127, 128, 511, 512, 1_000, 1_023, 1_024, 1_135, 10_000})
  void shouldOpenInFourRoundTripsAtAnyHistory(long versions) {
    log.fill(versions);
    replaceFollower(wide());
    toHead();
    assertTrue(client.maxDepth() <= 4, () -> "depth=" + client.maxDepth());
    // LIST snapshot/, stream, snapshot, its version, one or two groups, the tail, the look beyond.
    assertTrue(client.sent().size() <= 7 + 128, () -> "requests=" + client.sent().size());
  }

  @Test
  void shouldHaveAtMostEightRequestsInFlight() {
    log.fill(1_100);
    toHead();
    assertTrue(client.maxInFlight() <= 8, () -> "inFlight=" + client.maxInFlight());
    assertTrue(client.maxInFlight() >= 6, "the tail is read in parallel");
  }

  /** E1: same tail, 100 times the history, the same requests. */
  @Test
  void shouldSendTheSameRequestsWhateverTheHistory() {
    log.fill(128 + 40);
    replaceFollower(wide());
    toHead();
    int few = client.sent().size();
    log.fill(12_800 + 40);
    replaceFollower(wide());
    toHead();
    assertTrue(Math.abs(client.sent().size() - few) <= 1, few + " " + client.sent().size());
  }

  /** E10: a LIST shows a newer name but misses older ones. */
  @Test
  void shouldFillAHoleInAListByGet() {
    log.fill(200);
    store.listing((prefix, key) -> !prefix.startsWith("manifest/") || key.hashCode() % 3 != 0);
    toHead();
  }

  @Test
  void shouldFindTheHeadWhenAListMissesTheNewest() {
    log.fill(300);
    String hidden = ObjectNames.version(290);
    store.listing((prefix, key) -> key.compareTo(hidden) < 0 || !key.startsWith("manifest/"));
    toHead();
  }

  /** E9: a gap above the trimmed part is never skipped. */
  @Test
  void shouldCallAGapCorrupt() {
    log.fill(40);
    store.objects().remove(ObjectNames.version(20));
    BatchWeaveException failure = fails();
    assertEquals(Kind.CORRUPT, failure.kind());
    assertTrue(failure.toString().contains(ObjectNames.version(20)));
    assertTrue(follower.state().version() < 20);
    assertFalse(store.run(() -> false, 10_000), "a failed follower is quiet");
  }

  /** E9: also when everything else says that the log goes on. */
  @Test
  void shouldCallAGapCorruptWhileFollowing() {
    log.fill(3);
    toHead();
    log.fill(6);
    store.objects().remove(ObjectNames.version(5));
    follower.requireHead();
    toHeadAt(4);
    log.fill(600);
    follower.requireHead();
    assertTrue(store.run(this::settled, MAX_EVENTS));
    // A look at 5 alone cannot know; with a LIST that shows 600 it does.
    assertEquals(4, follower.state().version());
    replaceFollower(FollowPolicy.DEFAULT);
    store.objects().keySet().removeIf(key -> key.startsWith("snapshot/"));
    assertEquals(Kind.CORRUPT, fails().kind());
  }

  private void toHeadAt(long version) {
    assertTrue(store.run(this::settled, MAX_EVENTS));
    assertEquals(version, follower.state().version());
  }

  @Test
  void shouldStopAtUndecodableBytes() {
    log.fill(10);
    byte[] bytes = version(7).toByteArray();
    bytes[bytes.length / 2] ^= 1;
    store.objects().put(ObjectNames.version(7), Bytes.wrap(bytes));
    BatchWeaveException failure = fails();
    assertEquals(Kind.CORRUPT, failure.kind());
    assertTrue(failure.toString().contains(ObjectNames.version(7)), failure::toString);
  }

  private Bytes version(long version) {
    return Objects.requireNonNull(store.objects().get(ObjectNames.version(version)));
  }

  private void damage(String key) {
    byte[] bytes = Objects.requireNonNull(store.objects().get(key)).toByteArray();
    bytes[bytes.length / 2] ^= 0x40;
    store.objects().put(key, Bytes.wrap(bytes));
  }

  /** E2: damaged, truncated, missing snapshots fall back to the one before; same result. */
  @Test
  void shouldFallBackWhenTheNewestSnapshotsAreDamaged() {
    log.fill(128 * 6 + 5);
    damage(ObjectNames.snapshot(768));
    Bytes whole = Objects.requireNonNull(store.objects().get(ObjectNames.snapshot(640)));
    byte[] half = java.util.Arrays.copyOf(whole.toByteArray(), whole.length() / 2);
    store.objects().put(ObjectNames.snapshot(640), Bytes.wrap(half));
    store.objects().put(ObjectNames.snapshot(512), Bytes.EMPTY);
    toHead();
    assertEquals(new LogEvent.Jumped(0, 384), events.getFirst());
    assertEquals(1 + 768 + 5 - 384, events.size());
  }

  @Test
  void shouldTakeAnObjectBeyondItsLimitForDamaged() {
    log.fill(1_500);
    Bytes segment = Bytes.wrap(new byte[Limits.SEGMENT_BYTES + 1]);
    store.objects().put(ObjectNames.segment(1), segment);
    toHead();
    assertEntry(300);
    store.objects().put(ObjectNames.version(1_501), Bytes.wrap(new byte[Limits.VERSION_BYTES + 1]));
    follower.requireHead();
    assertEquals(Kind.CORRUPT, fails().kind());
  }

  /** E2: in the end to version 1. */
  @Test
  void shouldFoldFromVersionOneWhenNoSnapshotIsUsable() {
    log.fill(300);
    damage(ObjectNames.snapshot(128));
    damage(ObjectNames.snapshot(256));
    toHead();
    assertEquals(300, events.size());
  }

  /** A12: whole, well-formed, and of another branch: its version says otherwise. */
  @Test
  void shouldPassOverASnapshotOfAnotherBranch() {
    log.fill(200);
    ModelStore elsewhere = new ModelStore(9);
    LogWriter branch = new LogWriter(elsewhere.objects(), 77);
    branch.fill(190);
    branch.snapshot();
    store
        .objects()
        .put(
            ObjectNames.snapshot(190),
            Objects.requireNonNull(elsewhere.objects().get(ObjectNames.snapshot(190))));
    toHead();
    assertEquals(new LogEvent.Jumped(0, 128), events.getFirst());
  }

  /** A foreign object under snapshot/ with a huge number costs a fallback, nothing more. */
  @Test
  void shouldPassOverASnapshotBeyondTheHead() {
    log.fill(200);
    store.objects().put(ObjectNames.snapshot(999_999_999), Bytes.wrap(new byte[100]));
    toHead();
  }

  @Test
  void shouldOpenAfterATrim() {
    log.fill(128 * 20);
    for (long version = 1; version < 128 * 5; version++) {
      log.trim(version);
    }
    toHead();
  }

  /** E12: snapshots and tombstones move while it opens; it ends, in the right state. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void shouldOpenAgainWhenItMeetsATombstone(boolean afterTheSnapshot) {
    log.fill(300);
    assertTrue(
        store.run(
            () ->
                afterTheSnapshot
                    ? client.sent().stream().anyMatch(ask(ObjectNames.version(257)))
                    : client.sent().stream().anyMatch(ask(ObjectNames.snapshot(256))),
            10_000));
    log.fill(128 * 30);
    for (long version = 1; version < 128 * 15; version++) {
      log.trim(version);
    }
    int before = listsOfSnapshots();
    toHead();
    assertEquals(128L * 30, follower.state().version());
    assertEquals(before + 1, listsOfSnapshots(), "it began once more");
  }

  private int listsOfSnapshots() {
    return (int) client.sent().stream().filter(ask(ObjectNames.SNAPSHOTS)).count();
  }

  private static java.util.function.Predicate<StoreRequest> ask(String key) {
    return request -> request.key().equals(key);
  }

  /** E12: twice after the same anchor is CORRUPT, not for ever. */
  @Test
  void shouldGiveUpWhenTheSameAnchorMeetsATombstoneTwice() {
    log.fill(300);
    log.trim(258);
    BatchWeaveException failure = fails();
    assertEquals(Kind.CORRUPT, failure.kind());
    assertTrue(failure.toString().contains("version=258"), failure::toString);
  }

  /** E12: the newest snapshot stands at a tombstone itself, and no newer one comes. */
  @Test
  void shouldGiveUpWhenTheNewestSnapshotIsOfATrimmedVersion() {
    log.fill(300);
    log.trim(256);
    BatchWeaveException failure = fails();
    assertEquals(Kind.CORRUPT, failure.kind());
    assertTrue(failure.toString().contains("version=256"), failure::toString);
  }

  /** E12: two damaged snapshots, everything before them trimmed. */
  @Test
  void shouldGiveUpWhenAllUsableSnapshotsLieBeforeATrimmedPart() {
    log.fill(128 * 6);
    damage(ObjectNames.snapshot(768));
    damage(ObjectNames.snapshot(640));
    for (long version = 1; version < 600; version++) {
      log.trim(version);
    }
    assertEquals(Kind.CORRUPT, fails().kind());
  }

  @Test
  void shouldJumpWhenItFallsBehindATrim() {
    log.fill(50);
    toHead();
    log.fill(128 * 20);
    for (long version = 1; version < 128 * 5; version++) {
      log.trim(version);
    }
    events.clear();
    follower.requireHead();
    toHead();
    LogEvent.Jumped jumped = assertInstanceOf(LogEvent.Jumped.class, events.getFirst());
    assertEquals(50, jumped.fromVersion());
    assertEquals(128 * 20, jumped.toVersion());
  }

  // ---- following

  @Test
  void shouldReadEachVersionOnceWhenItFollows() {
    toHead();
    follower.follow(LogFollower.Mode.PACED);
    for (int i = 1; i <= 50; i++) {
      store.after(i * 400_000_000L, () -> log.fill(log.state().version() + 1));
    }
    client.resetDepth();
    int before = client.sent().size();
    store.run(() -> settledAt(50), MAX_EVENTS);
    assertSameState();
    int gets = client.sent().size() - before;
    assertTrue(gets >= 50 && gets <= 50 * 5, "gets=" + gets);
    List<Long> versions = events.stream().map(LogFollowerTest::foldedVersion).toList();
    for (int i = 0; i < 50; i++) {
      assertEquals(i + 1, versions.get(i));
    }
  }

  /** How long nothing came says little of how fast versions come once they do. */
  @Test
  void shouldLookAsOftenAfterALongPauseAsBeforeIt() {
    toHead();
    follower.follow(LogFollower.Mode.PACED);
    long beforeNs = slowestOfThirty(0);
    long afterNs = slowestOfThirty(60_000_000_000L);
    assertTrue(afterNs <= 2 * beforeNs, "beforeNs=" + beforeNs + " afterNs=" + afterNs);
  }

  /**
   * After a pause thirty versions, 200 ms apart: how late the latest of the last twenty is seen.
   */
  private long slowestOfThirty(long pauseNs) {
    long everyNs = 200_000_000L;
    long beginNs = store.nowNs() + pauseNs;
    long version = log.state().version();
    for (int i = 1; i <= 30; i++) {
      store.after(pauseNs + i * everyNs, () -> log.fill(log.state().version() + 1));
    }
    long slowestNs = 0;
    for (int i = 1; i <= 30; i++) {
      long seen = version + i;
      assertTrue(store.run(() -> settledAt(seen), MAX_EVENTS));
      if (i > 10) {
        slowestNs = Math.max(slowestNs, store.nowNs() - beginNs - i * everyNs);
      }
    }
    return slowestNs;
  }

  private static long foldedVersion(LogEvent event) {
    return assertInstanceOf(LogEvent.Folded.class, event).outcome().version();
  }

  private boolean settledAt(long version) {
    drain();
    return follower.failure() != null || follower.state().version() >= version;
  }

  @Test
  void shouldNotSpinWhileItWaitsForAnswers() {
    log.fill(120);
    follower.follow(LogFollower.Mode.PACED);
    // Two events per request, and a few wake-ups.
    assertTrue(store.run(this::settled, 400));
    assertSameState();
  }

  @Test
  void shouldNotAskWhenPaused() {
    log.fill(5);
    toHead();
    int before = client.sent().size();
    assertFalse(store.run(() -> false, 10_000));
    assertEquals(before, client.sent().size());
    assertEquals(Long.MAX_VALUE, follower.wakeAtNs());
  }

  @Test
  void shouldSlowDownWhenNothingComes() {
    log.fill(5);
    toHead();
    follower.follow(LogFollower.Mode.PACED);
    long begin = store.nowNs();
    int before = client.sent().size();
    store.run(() -> store.nowNs() - begin > 60_000_000_000L, MAX_EVENTS);
    int sent = client.sent().size() - before;
    assertTrue(sent > 50 && sent < 300, "sent=" + sent);
  }

  @Test
  void shouldListWhenItIsFarBehind() {
    log.fill(2);
    toHead();
    log.fill(450);
    client.resetDepth();
    follower.requireHead();
    toHead();
    assertTrue(
        client.sent().stream()
            .skip(5)
            .anyMatch(r -> r instanceof StoreRequest.ListPrefix && r.key().startsWith("manifest")));
    assertTrue(client.maxDepth() < 100, () -> "depth=" + client.maxDepth());
  }

  @Test
  void shouldNotTakeALookFromBeforeTheDemandForTheHead() {
    log.fill(1);
    toHead();
    follower.follow(LogFollower.Mode.PACED);
    int before = client.sent().size();
    store.run(() -> client.sent().size() > before, 10_000);
    // This look is under way; what is demanded now must begin after now.
    follower.requireHead();
    assertFalse(follower.headKnown());
    toHead();
    assertTrue(client.sent().size() >= before + 2);
  }

  @Test
  void shouldTakeAVersionCommittedHereWithoutReadingIt() {
    log.fill(3);
    toHead();
    log.commit(LogWriter.produce("filler", 1, 3, 2));
    int before = client.sent().size();
    follower.committed(4, version(4), store.nowNs());
    drain();
    assertSameState();
    assertEquals(before, client.sent().size());
    follower.committed(4, version(4), store.nowNs());
    follower.committed(9, version(4), store.nowNs());
    assertSameState();
    log.fill(10);
    follower.requireHead();
    toHead();
  }

  @Test
  void shouldStopWhenAVersionCommittedHereIsVoid() {
    log.fill(3);
    toHead();
    byte[] lie =
        ManifestCodec.encode(
            new io.batchweave.format.VersionHeader(
                LogWriter.STREAM, 4, new UUID(8, 8), new UUID(9, 9), 2, 0, new UUID(7, 7), 0, 1),
            List.of(new Block.Seal()));
    follower.committed(4, Bytes.wrap(lie), store.nowNs());
    assertEquals(Kind.CORRUPT, Objects.requireNonNull(follower.failure()).kind());
  }

  // ---- looking up

  @Test
  void shouldLookUpEveryStepWhereverItIs() {
    log.fill(1_500);
    toHead();
    for (long step : List.of(1_498L, 1_300L, 1_279L, 255L, 256L, 0L, 700L, 1_023L)) {
      assertEntry(step);
    }
    assertEquals(new StepLookup.NotYet(1_499), follower.lookup(1_499));
    log.commit(new Block.Seal());
    follower.requireHead();
    toHead();
    assertEquals(new StepLookup.End(1_499), follower.lookup(1_499));
  }

  @Test
  void shouldReadASegmentOnceForItsSteps() {
    log.fill(1_500);
    toHead();
    int before = client.sent().size();
    for (long step = 256; step < 512; step++) {
      assertEntry(step);
    }
    assertEquals(before + 1, client.sent().size());
  }

  /** Not there yet: from the fold's entries. */
  @Test
  void shouldNotNeedASegmentThatItFoldedItself() {
    log.commit(new Block.Fence("filler", 1, new UUID(1, 1)));
    log.commit(LogWriter.produce("filler", 1, 1, 600));
    toHead();
    for (long step = 0; step < 600; step++) {
      assertEntry(step);
    }
    assertFalse(client.sent().stream().anyMatch(r -> r.key().startsWith("index/")));
  }

  @Test
  void shouldSayReclaimedBelowTheHorizon() {
    log.fill(700);
    log.commit(new Block.OperatorPin("g", "a", 600, 0));
    log.commit(new Block.Reclaim(300, 0));
    toHead();
    assertEquals(new StepLookup.Reclaimed(300), follower.lookup(299));
    assertEntry(300);
  }

  /** D5: reclaimed while a reader of an older state asks: RECLAIMED, never a missing key. */
  @Test
  void shouldSayReclaimedWhenASegmentWentMeanwhile() {
    log.fill(700);
    toHead();
    log.commit(new Block.OperatorPin("g", "a", 600, 0));
    log.commit(new Block.Reclaim(300, 0));
    store.objects().remove(ObjectNames.segment(0));
    // Nor can it be rebuilt, and need not be.
    for (long version = 1; version < 128 * 4; version++) {
      log.trim(version);
    }
    assertEquals(new StepLookup.Reclaimed(300), lookup(10));
    assertFalse(store.run(() -> follower.failure() != null, MAX_EVENTS));
  }

  /** E2: a missing, truncated or flipped segment is rebuilt from the log. */
  @Test
  void shouldRebuildASegmentThatIsMissingOrDamaged() {
    log.fill(1_500);
    toHead();
    store.objects().remove(ObjectNames.segment(0));
    assertEntry(3);
    damage(ObjectNames.segment(2));
    assertEntry(600);
    store.objects().put(ObjectNames.segment(3), Bytes.EMPTY);
    assertEntry(800);
    store
        .objects()
        .put(
            ObjectNames.segment(4),
            Objects.requireNonNull(store.objects().get(ObjectNames.segment(1))));
    assertEntry(1_024 + 9);
    assertNull(follower.failure());
    assertTrue(client.maxInFlight() <= 16);
  }

  @Test
  void shouldGiveUpOnASegmentThatIsNowhere() {
    log.fill(128 * 20);
    for (long version = 1; version < 128 * 4; version++) {
      log.trim(version);
    }
    toHead();
    store.objects().remove(ObjectNames.segment(0));
    lookup(3);
    assertEquals(Kind.CORRUPT, Objects.requireNonNull(follower.failure()).kind());
  }

  // ---- trouble

  /** I4 in the small, and answers that are lost, doubled or late. */
  @Test
  void shouldReachTheSameStateWhateverHappensToRequests() {
    log.fill(700);
    for (int seed = 0; seed < 40; seed++) {
      ModelStore troubled = new ModelStore(seed);
      troubled.objects().putAll(store.objects());
      troubled.fates(ModelStore.Fates.troubled(40));
      LogFollower one = new LogFollower(FollowPolicy.DEFAULT, new Bits(seed));
      troubled.attach(one);
      assertTrue(
          troubled.run(
              () -> {
                while (one.nextEvent() != null) {
                  // only drained
                }
                return one.failure() != null || one.headKnown();
              },
              MAX_EVENTS));
      assertNull(one.failure());
      assertEquals(log.state().toRecord(), one.state().toRecord());
    }
  }

  /** I4: and the rate of requests falls. */
  @Test
  void shouldBackOffWhileTheStoreThrottles() {
    log.fill(30);
    store.fates((r, bits) -> new Fate(1, 1, Effect.NOT_APPLIED, Answer.THROTTLED));
    long begin = store.nowNs();
    store.run(() -> store.nowNs() - begin > 120_000_000_000L, MAX_EVENTS);
    assertTrue(client.sent().size() < 60, () -> "sent=" + client.sent().size());
    assertTrue(String.valueOf(follower.trouble()).contains("THROTTLED"));
    store.fates(ModelStore.Fates.SMOOTH);
    toHead();
    assertNull(follower.trouble());
  }

  /** The origin of a monotonic clock is anybody's choice. */
  @Test
  void shouldAskAtOnceWhenTheClockIsNegative() {
    LogFollower alone = follower(FollowPolicy.DEFAULT);
    List<String> keys = new ArrayList<>();
    long nowNs = Long.MIN_VALUE / 4;
    assertTrue(alone.wakeAtNs() - nowNs < 0);
    alone.onTime(nowNs, (id, request) -> keys.add(request.key()));
    assertEquals(List.of(ObjectNames.STREAM, ObjectNames.SNAPSHOTS), keys);
    assertEquals(Long.MAX_VALUE, alone.wakeAtNs());
  }

  @Test
  void shouldStopWhenAccessIsDenied() {
    LogFollower alone = follower(FollowPolicy.DEFAULT);
    TreeSet<Long> ids = new TreeSet<>();
    alone.onTime(1, (id, request) -> ids.add(id));
    alone.onResponse(
        ids.first(),
        new StoreResponse.Failed(StoreFailure.ACCESS_DENIED, "expired"),
        2,
        (id, request) -> {});
    BatchWeaveException failure = Objects.requireNonNull(alone.failure());
    assertEquals(Kind.CONFIG, failure.kind());
    assertTrue(failure.toString().contains("expired"));
  }

  /** I3: a refusal while credentials are renewed is passing trouble, eight in a row are not. */
  @Test
  void shouldOutliveARefusalOnceItHasWorked() {
    log.fill(5);
    toHead();
    follower.requireHead();
    long[] id = {-1};
    for (int refusal = 1; refusal <= Flight.MAX_REFUSALS; refusal++) {
      assertNull(follower.failure());
      long nowNs = store.nowNs() + refusal * 100_000_000_000L;
      id[0] = -1;
      follower.onTime(nowNs, (requestId, request) -> id[0] = requestId);
      assertTrue(id[0] >= 0, "asked again");
      follower.onResponse(
          id[0],
          new StoreResponse.Failed(StoreFailure.ACCESS_DENIED, "expired"),
          nowNs,
          (requestId, request) -> {});
      assertTrue(String.valueOf(follower.trouble()).contains("expired"));
    }
    assertEquals(Kind.CONFIG, Objects.requireNonNull(follower.failure()).kind());
  }

  /** That the head is found again and again says nothing about a version that is refused. */
  @Test
  void shouldGiveUpOnAVersionThatIsRefusedWhileTheHeadIsLookedFor() {
    log.fill(3);
    String refused = ObjectNames.version(2);
    Map<Long, StoreRequest> sent = new LinkedHashMap<>();
    follower.follow(LogFollower.Mode.PACED);
    for (int round = 0; round < 1_000 && follower.failure() == null; round++) {
      long nowNs = (round + 1) * 1_000_000_000L;
      follower.onTime(nowNs, sent::put);
      for (Map.Entry<Long, StoreRequest> each : List.copyOf(sent.entrySet())) {
        sent.remove(each.getKey());
        follower.onResponse(each.getKey(), answer(each.getValue(), refused), nowNs, sent::put);
      }
    }
    BatchWeaveException failure = Objects.requireNonNull(follower.failure());
    assertEquals(Kind.CONFIG, failure.kind());
    assertTrue(failure.toString().contains(refused), failure::toString);
  }

  private StoreResponse answer(StoreRequest request, String refused) {
    if (request.key().equals(refused)) {
      return new StoreResponse.Failed(StoreFailure.CONFIG, "a pipe");
    }
    if (request instanceof StoreRequest.ListPrefix) {
      List<ListedObject> listed = new ArrayList<>();
      store
          .objects()
          .tailMap(request.key())
          .forEach((key, body) -> {
            if (key.startsWith(request.key())) {
              listed.add(new ListedObject(key, body.length()));
            }
          });
      return new StoreResponse.Listed(listed, false);
    }
    Bytes body = store.objects().get(request.key());
    return body == null ? new StoreResponse.NotFound() : new StoreResponse.Found(body);
  }

  @Test
  void shouldGoOnAlikeFromACopy() {
    log.fill(200);
    store.run(() -> follower.isOpen() && follower.state().version() > 140, 10_000);
    LogFollower copy = follower.copy();
    assertEquals(follower.fingerprint(), copy.fingerprint());
    long version = copy.state().version();
    toHead();
    assertEquals(version, copy.state().version());
  }
}
