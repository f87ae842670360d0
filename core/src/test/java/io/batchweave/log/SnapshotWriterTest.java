package io.batchweave.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.Block;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SegmentCodec;
import io.batchweave.format.SegmentRecord;
import io.batchweave.format.SnapshotCodec;
import io.batchweave.log.SnapshotWriter.Status;
import io.batchweave.simulate.ModelStore;
import io.batchweave.simulate.ModelStore.Answer;
import io.batchweave.simulate.ModelStore.Effect;
import io.batchweave.simulate.ModelStore.Fate;
import io.batchweave.store.StoreRequest;
import java.util.List;
import java.util.Objects;
import java.util.TreeSet;
import java.util.UUID;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Snapshots and segments are written in an order and with care that leave no doubt. */
@Timeout(60)
class SnapshotWriterTest {
  private static final int MAX_EVENTS = 100_000;

  private final ModelStore store = new ModelStore(1);
  private final LogWriter log = new LogWriter(store.objects(), 2);

  @BeforeEach
  void fillThreeSegments() {
    log.commit(new Block.Fence("filler", 1, new UUID(1, 1)));
    log.commit(LogWriter.produce("filler", 1, 1, 800));
  }

  private SnapshotWriter writer() {
    return new SnapshotWriter(log.state().copy(), log.segments());
  }

  private SnapshotWriter write() {
    return write(writer());
  }

  private SnapshotWriter write(SnapshotWriter writer) {
    store.attach(writer);
    assertTrue(
        store.run(
            () -> writer.status() == Status.DONE || writer.status() == Status.FAILED, MAX_EVENTS));
    return writer;
  }

  private Bytes object(String key) {
    return Objects.requireNonNull(store.objects().get(key), key);
  }

  /** snapshot(v) = fold(all <= v), byte for byte, on the store. */
  @Test
  void shouldWriteSegmentsThenTheSnapshot() {
    SnapshotWriter writer = writer();
    ModelStore.Client client = store.attach(writer);
    assertTrue(store.run(() -> writer.status() == Status.WRITTEN, MAX_EVENTS));
    List<String> keys = client.sent().stream().map(StoreRequest::key).toList();
    assertEquals(
        List.of(
            ObjectNames.segment(0),
            ObjectNames.segment(1),
            ObjectNames.segment(2),
            ObjectNames.snapshot(2)),
        keys.subList(0, 4));
    byte[] expected = SnapshotCodec.encode(log.state().toRecord());
    assertEquals(Bytes.wrap(expected), object(ObjectNames.snapshot(2)));
    assertEquals(expected.length, writer.lengthBytes());
    for (SegmentRecord segment : log.segments()) {
      assertEquals(
          Bytes.wrap(SegmentCodec.encode(segment)), object(ObjectNames.segment(segment.index())));
    }
    assertTrue(store.run(() -> writer.status() == Status.DONE, MAX_EVENTS));
    assertEquals(Long.MAX_VALUE, writer.wakeAtNs());
  }

  @Test
  void shouldHaveNoSnapshotBeforeItsSegments() {
    SnapshotWriter writer = writer();
    store.attach(writer);
    store.run(
        () -> {
          if (store.objects().containsKey(ObjectNames.snapshot(2))) {
            for (long index = 0; index < 3; index++) {
              assertTrue(store.objects().containsKey(ObjectNames.segment(index)));
            }
          }
          return writer.status() == Status.DONE;
        },
        MAX_EVENTS);
    assertEquals(Status.DONE, writer.status());
  }

  @Test
  void shouldSucceedWhenEverythingExistsWithTheSameBytes() {
    log.snapshot();
    assertEquals(Status.DONE, write().status());
    assertEquals(4, store.count(StoreRequest.Get.class));
  }

  /** A12: a segment of an unacknowledged branch is never taken because it exists. */
  @Test
  void shouldNotTakeASegmentWithOtherBytes() {
    ModelStore elsewhere = new ModelStore(9);
    LogWriter branch = new LogWriter(elsewhere.objects(), 7);
    branch.commit(new Block.Fence("other", 1, new UUID(1, 1)));
    branch.commit(LogWriter.produce("other", 1, 1, 256));
    branch.snapshot();
    Bytes foreign = Objects.requireNonNull(elsewhere.objects().get(ObjectNames.segment(0)));
    store.objects().put(ObjectNames.segment(0), foreign);
    SnapshotWriter writer = write();
    assertEquals(Status.FAILED, writer.status());
    assertEquals(Kind.CORRUPT, Objects.requireNonNull(writer.failure()).kind());
    assertFalse(store.objects().containsKey(ObjectNames.snapshot(2)));
    assertEquals(foreign, object(ObjectNames.segment(0)));
  }

  /** A12: nor a snapshot. */
  @Test
  void shouldNotTakeASnapshotWithOtherBytes() {
    store.objects().put(ObjectNames.snapshot(2), Bytes.wrap(new byte[] {1}));
    SnapshotWriter writer = write();
    assertEquals(Status.FAILED, writer.status());
    assertEquals(Kind.CORRUPT, Objects.requireNonNull(writer.failure()).kind());
  }

  @Test
  void shouldKeepTheNewestSixteen() {
    for (long version = 100; version < 2_000; version += 100) {
      store.objects().put(ObjectNames.snapshot(version), Bytes.EMPTY);
    }
    log.fill(1_900 + 50);
    store.objects().keySet().removeIf(key -> key.startsWith("index/"));
    write();
    List<Long> kept =
        store.objects().keySet().stream()
            .map(ObjectNames::parseSnapshot)
            .filter(version -> version.isPresent())
            .map(version -> version.getAsLong())
            .toList();
    assertEquals(SnapshotPolicy.KEPT, kept.size());
    assertEquals(1_950, kept.getLast());
    assertEquals(new TreeSet<>(kept).getFirst(), kept.getFirst());
  }

  /** A8: an unclear answer deletes nothing; the next attempt completes what is missing. */
  @Test
  void shouldBeHarmlessWhenRequestsFail() {
    int failed = 0;
    for (int seed = 0; seed < 200; seed++) {
      ModelStore troubled = new ModelStore(seed);
      troubled.objects().putAll(store.objects());
      troubled.fates(ModelStore.Fates.troubled(30));
      SnapshotWriter writer = writer();
      troubled.attach(writer);
      troubled.run(() -> false, MAX_EVENTS);
      failed += writer.status() == Status.FAILED ? 1 : 0;
      assertTrue(writer.status() == Status.FAILED || writer.status() == Status.DONE);
      troubled.objects().forEach(this::assertRightOrAbsent);
      if (writer.status() == Status.DONE) {
        assertTrue(troubled.objects().containsKey(ObjectNames.snapshot(2)));
      }
      assertEquals(0, troubled.count(StoreRequest.Delete.class));
      troubled.fates(ModelStore.Fates.SMOOTH);
      SnapshotWriter next = writer();
      troubled.attach(next);
      assertTrue(troubled.run(() -> next.status() == Status.DONE, MAX_EVENTS));
    }
    assertTrue(failed > 20, "failed=" + failed);
  }

  private void assertRightOrAbsent(String key, Bytes body) {
    if (key.startsWith("index/")) {
      int index = (int) ObjectNames.parseSegment(key).orElseThrow();
      assertEquals(Bytes.wrap(SegmentCodec.encode(log.segments().get(index))), body);
    }
  }

  @Test
  void shouldTakeAnUnclearCreateThatLanded() {
    store.fates((request, bits) ->
        new Fate(
            1,
            1,
            Effect.APPLIED,
            request instanceof StoreRequest.PutIfAbsent ? Answer.LOST : Answer.DELIVERED));
    assertEquals(Status.DONE, write().status());
  }

  @Test
  void shouldGoOnAlikeFromACopy() {
    SnapshotWriter writer = writer();
    store.attach(writer);
    store.run(() -> store.objects().containsKey(ObjectNames.segment(1)), MAX_EVENTS);
    SnapshotWriter copy = writer.copy();
    assertEquals(writer.fingerprint(), copy.fingerprint());
    assertTrue(store.run(() -> writer.status() == Status.DONE, MAX_EVENTS));
    assertEquals(Status.WRITING, copy.status());
    assertNull(writer.failure());
  }

  // ---- together with a follower

  private static boolean atHead(LogFollower follower) {
    while (follower.nextEvent() != null) {
      // only drained
    }
    return follower.headKnown() || follower.failure() != null;
  }

  private LogFollower follower() {
    LogFollower follower = new LogFollower(FollowPolicy.DEFAULT, new Bits(4));
    store.attach(follower);
    assertTrue(store.run(() -> atHead(follower), MAX_EVENTS));
    return follower;
  }

  @Test
  void shouldWriteWhatAFollowerHasFolded() {
    LogFollower follower = follower();
    SnapshotWriter writer = write(follower.snapshotWriter());
    assertEquals(Status.DONE, writer.status());
    for (long index = 0; index < 3; index++) {
      assertTrue(store.objects().containsKey(ObjectNames.segment(index)));
    }
    follower.snapshotWritten(writer.version(), writer.lengthBytes());
    assertEquals(new SnapshotPolicy.Standing(2, 2, Long.MAX_VALUE), follower.snapshots());
    // The next one has nothing but itself to write.
    log.commit();
    follower.requireHead();
    assertTrue(store.run(() -> atHead(follower), MAX_EVENTS));
    long puts = store.count(StoreRequest.PutIfAbsent.class);
    assertEquals(Status.DONE, write(follower.snapshotWriter()).status());
    assertEquals(puts + 1, store.count(StoreRequest.PutIfAbsent.class));
    assertEquals(log.state().toRecord(), follower().state().toRecord());
  }

  @Test
  void shouldLearnOfOthersSnapshotsFromHeaders() {
    LogFollower follower = follower();
    log.snapshot();
    log.commit(LogWriter.produce("filler", 1, 801, 300));
    follower.requireHead();
    assertTrue(store.run(() -> atHead(follower), MAX_EVENTS));
    assertEquals(2, follower.snapshots().newestVersion());
    long puts = store.count(StoreRequest.PutIfAbsent.class);
    assertEquals(Status.DONE, write(follower.snapshotWriter()).status());
    // Segment 3 became full since, and the snapshot.
    assertEquals(puts + 2, store.count(StoreRequest.PutIfAbsent.class));
    assertTrue(store.objects().containsKey(ObjectNames.segment(3)));
  }

  // ---- when it is due

  @Test
  void shouldBeDueAfterManyVersionsAndEverySixteenAfterThat() {
    SnapshotTrail trail = new SnapshotTrail();
    TreeSet<Long> due = new TreeSet<>();
    for (long version = 1; version <= 200; version++) {
      trail.folded(version, 500, version);
      SnapshotPolicy.Standing standing = trail.standing(version);
      if (standing.due()) {
        due.add(version);
      }
      assertFalse(standing.blocking());
    }
    assertEquals(new TreeSet<>(List.of(128L, 144L, 160L, 176L, 192L)), due);
    assertEquals(160, trail.exists(160, 10_000));
    assertEquals(-1, trail.exists(150, 10_000));
    assertEquals(Long.MAX_VALUE, trail.standing(200).dueVersion());
  }

  @Test
  void shouldBeDueWhenTheVersionsOutweighTheSnapshot() {
    SnapshotTrail trail = new SnapshotTrail();
    trail.folded(1, (1 << 20) - 1, 1);
    assertFalse(trail.standing(1).due());
    trail.folded(2, 1, 2);
    assertTrue(trail.standing(2).due());
    trail.exists(2, 1 << 20);
    for (long version = 3; version <= 5; version++) {
      trail.folded(version, 1 << 20, version);
      assertFalse(trail.standing(version).due());
    }
    trail.folded(6, 1 << 20, 6);
    assertTrue(trail.standing(6).due());
  }

  @Test
  void shouldBlockCommitsPast1024VersionsWithoutOne() {
    assertFalse(new SnapshotPolicy.Standing(10, 1_034, 138).blocking());
    assertTrue(new SnapshotPolicy.Standing(10, 1_035, 138).blocking());
  }
}
