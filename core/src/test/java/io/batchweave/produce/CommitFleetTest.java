package io.batchweave.produce;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.Bytes;
import io.batchweave.format.Announcement;
import io.batchweave.format.AnnouncementCodec;
import io.batchweave.format.Block;
import io.batchweave.format.DataObject;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SourceState;
import io.batchweave.produce.CommitFleet.Member;
import io.batchweave.simulate.ModelStore.Answer;
import io.batchweave.simulate.ModelStore.Effect;
import io.batchweave.simulate.ModelStore.Fate;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Helping commits at a steady load on the latencies of S3, in virtual time. */
@Timeout(240)
class CommitFleetTest {
  private static final long MS = CommitFleet.MS;
  private static final long SECOND = CommitFleet.SECOND;

  /** Means over some seeds: what the targets are stated on. */
  private static void checkTargets(int producers, int seconds, int seeds) {
    double p99Ms = 0;
    double puts = 0;
    double requests = 0;
    System.out.println(CommitFleet.HEAD);
    for (int seed = 1; seed <= seeds; seed++) {
      CommitFleet fleet = new CommitFleet(seed);
      fleet.startAll(producers, 2 * SECOND);
      fleet.run(seconds * SECOND);
      System.out.println(fleet.row(producers, seconds));
      assertTrue(fleet.jain() >= 0.98, "jain=" + fleet.jain());
      p99Ms += fleet.percentileMs(99) / (double) seeds;
      puts += fleet.putsPerVersion() / seeds;
      requests += fleet.requestsPerBatch() / seeds;
    }
    assertTrue(p99Ms < 1_000, "p99Ms=" + p99Ms);
    assertTrue(puts <= 1.2, "version PUTs per version: " + puts);
    assertTrue(requests <= (producers == 1 ? 3 : 4), "requests per batch: " + requests);
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

  @Test
  void shouldMeetTheTargetsWithSixtyFour() {
    // B1
    checkTargets(64, 30, 1);
  }

  @Tag("full")
  @Test
  void shouldMeetTheTargetsWithHundreds() {
    // B1, with 256
    checkTargets(256, 30, 1);
  }

  private static void checkStart(int producers, int seeds) {
    double requests = 0;
    for (int seed = 1; seed <= seeds; seed++) {
      CommitFleet fleet = new CommitFleet(seed);
      for (int i = 0; i < producers; i++) {
        fleet.start("p" + i, 1_000 * SECOND, 0);
      }
      fleet.run(3 * SECOND);
      assertEquals(producers, fleet.visibleNs.size(), "all are committed, fences included");
      requests += fleet.requestsPerBatch() / seeds;
    }
    assertTrue(requests <= 5, "requests per batch, fences included: " + requests);
  }

  @Test
  void shouldCommitAllWhenManyStartInTheSameInstant() {
    // B2, with 128
    checkStart(128, 4);
  }

  @Test
  void shouldRecoverWithinThreeCommitsWhenTheStoreThrottledForAMinute() {
    // B3
    CommitFleet fleet = new CommitFleet(4);
    fleet.startAll(8, 2 * SECOND);
    fleet.run(10 * SECOND);
    fleet.trouble((request, random) ->
        request.key().startsWith("manifest/")
            ? new Fate(5 * MS, 20 * MS, Effect.NOT_APPLIED, Answer.THROTTLED)
            : null);
    fleet.run(60 * SECOND);
    int versions = fleet.versionAtNs.size();
    fleet.trouble((request, random) -> null);
    fleet.run(30 * SECOND);
    assertTrue(fleet.pending() <= 8, "pending=" + fleet.pending());
    List<Long> after = fleet.versionAtNs.subList(versions, fleet.versionAtNs.size());
    assertTrue(after.size() > 10, "versions after it: " + after.size());
    long begun = after.get(0);
    assertTrue(after.get(3) - begun < 5 * SECOND, "the first three: " + (after.get(3) - begun));
  }

  @Test
  void shouldCommitTheWorkOfAProducerWhoseRequestsAreTenTimesSlower() {
    // B4
    CommitFleet fleet = new CommitFleet(5);
    fleet.startAll(8, 2 * SECOND);
    Member slow = fleet.start("slow", 4 * SECOND, 0);
    fleet.slow(slow);
    fleet.run(60 * SECOND);
    assertTrue(fleet.committed.getOrDefault("slow", 0) >= 10, "" + fleet.committed);
  }

  @Test
  void shouldStepInWhenWhoeverCommitsCannotListAndItsWorkNeverEnds() {
    // B5: one producer that adds without end; its LISTs of announcements always fail.
    CommitFleet fleet = new CommitFleet(6);
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

  @Test
  void shouldGoOnWhenCommittersDieNowAndThen() {
    // B8, in small: groups stay small, cycles do not grow.
    CommitFleet fleet = new CommitFleet(7);
    fleet.startAll(24, 2 * SECOND);
    for (int i = 0; i < 10; i++) {
      fleet.run(6 * SECOND);
      fleet.members.get(i).crash();
      fleet.start("q" + i, 2 * SECOND, 0);
    }
    int before = fleet.versionAtNs.size();
    fleet.run(10 * SECOND);
    assertTrue(fleet.versionAtNs.size() - before > 15, "versions in the last ten seconds");
    assertTrue(fleet.mostAnnounced < 200, "announcements in a group: " + fleet.mostAnnounced);
  }

  @Test
  void shouldAdaptWhenAlmostAllLeave() {
    CommitFleet fleet = new CommitFleet(8);
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

  @Test
  void shouldIgnoreWhatAZombieAnnouncesAfterTheFence() {
    // C5: an announcement of the first epoch is listed after the second began.
    CommitFleet fleet = new CommitFleet(9);
    fleet.start("p", 2 * SECOND, 0);
    fleet.start("other", 300 * MS, 0);
    fleet.run(4 * SECOND);
    fleet.members.getFirst().crash();
    Member next = fleet.start("p", 2 * SECOND, 0);
    fleet.run(4 * SECOND);
    assertEquals(2, next.machine.epoch());
    long seq = next.machine.committedSeq();
    DataObject object = new DataObject("p", 1, seq, seq, 77);
    Block zombie =
        new Block.Produce(
            "p",
            1,
            seq,
            List.of(CommitFleet.entry(object, seq)),
            new SourceState.Inline(Bytes.EMPTY));
    UUID streamId = fleet.streamId();
    for (int back = 0; back < 2; back++) {
      fleet
          .store
          .objects()
          .put(
              ObjectNames.announcement(fleet.versionAtNs.size(), zombie),
              Bytes.wrap(AnnouncementCodec.encode(new Announcement(streamId, zombie))));
      fleet.run(4 * SECOND);
    }
    assertFalse(next.machine.phase() == ProducerMachine.Phase.FAILED, "goes on");
    assertTrue(fleet.objectsOf("p").stream().noneMatch(object::equals), "never in the log");
    assertTrue(
        Objects.requireNonNull(fleet.state().producer("p")).nextSeq() > seq + 1,
        "its successor went on");
  }

  @Test
  void shouldIgnoreAnnouncementsThatNobodyCanDecode() {
    // B5: garbage under the name of a batch; its owner commits it directly.
    CommitFleet fleet = new CommitFleet(10);
    fleet.damage(key -> key.startsWith("announce/") && key.contains("/p.p3."));
    fleet.startAll(6, 2 * SECOND);
    fleet.run(30 * SECOND);
    assertTrue(fleet.committed.getOrDefault("p3", 0) >= 12, "" + fleet.committed);
    assertTrue(fleet.count("PutIfAbsent announce") > 0);
  }

  @Test
  void shouldNotAnnounceWhenAlone() {
    CommitFleet fleet = new CommitFleet(11);
    fleet.startAll(1, 2 * SECOND);
    fleet.run(60 * SECOND);
    assertEquals(0, fleet.count("PutIfAbsent announce"));
    assertEquals(
        fleet.versionAtNs.size(), fleet.count("PutIfAbsent manifest"), "and loses no version");
  }
}
