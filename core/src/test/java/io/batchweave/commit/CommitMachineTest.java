package io.batchweave.commit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.Block;
import io.batchweave.format.Block.Takeover;
import io.batchweave.format.Envelope;
import io.batchweave.format.ManifestCodec;
import io.batchweave.format.ManifestVersion;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.StreamCodec;
import io.batchweave.format.StreamDescriptor;
import io.batchweave.format.VersionHeader;
import io.batchweave.log.Bits;
import io.batchweave.log.FollowPolicy;
import io.batchweave.log.LogFollower;
import io.batchweave.log.Verdict;
import io.batchweave.simulate.ModelStore;
import io.batchweave.simulate.ModelStore.Answer;
import io.batchweave.simulate.ModelStore.Effect;
import io.batchweave.simulate.ModelStore.Fate;
import io.batchweave.simulate.ModelStore.Fates;
import io.batchweave.store.StoreRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class CommitMachineTest {
  private static final int MAX_EVENTS = 1_000_000;
  private static final long MS = 1_000_000;

  private final UUID streamId = new UUID(3, 4);
  private final ModelStore store = new ModelStore(1);

  CommitMachineTest() {
    byte[] stream = StreamCodec.encode(new StreamDescriptor(streamId, Envelope.FORMAT, 1, 1, 0));
    store.objects().put(ObjectNames.STREAM, Bytes.wrap(stream));
  }

  private ProposalMachine propose(Proposal proposal, long seed) {
    ProposalMachine machine = new ProposalMachine(proposal, FollowPolicy.DEFAULT, new Bits(seed));
    store.attach(machine);
    return machine;
  }

  private static Proposal session(String sessionId, Takeover takeover) {
    return state -> new Block.OpenSession("g", sessionId, 0, takeover, state.group("g").changed());
  }

  private ManifestVersion version(long number) {
    String name = ObjectNames.version(number);
    Bytes body = store.objects().get(name);
    assertNotNull(body, name);
    return ManifestCodec.decode(name, body);
  }

  private static boolean isVersion(StoreRequest request) {
    return request instanceof StoreRequest.PutIfAbsent && request.key().startsWith("manifest/");
  }

  @Test
  void shouldSayWhichVersionAcceptedTheBlock() {
    ProposalMachine machine = propose(session("one", Takeover.REFUSE), 1);
    assertTrue(store.run(() -> machine.decision() != null, MAX_EVENTS));
    assertNotNull(machine.decision());
    assertTrue(machine.decision().accepted());
    assertEquals(1, machine.decision().version());
    assertEquals(streamId, version(1).header().parentCommitId());
  }

  @Test
  void shouldRefuseTheLaunchWhoseBaseWasOvertaken() {
    ProposalMachine one = propose(session("one", Takeover.SUPERSEDE), 1);
    ProposalMachine two = propose(session("two", Takeover.SUPERSEDE), 2);
    assertTrue(store.run(() -> one.decision() != null && two.decision() != null, MAX_EVENTS));
    assertNotNull(one.decision());
    assertNotNull(two.decision());
    assertTrue(one.decision().accepted() != two.decision().accepted(), "one of them");
    Decision refused = one.decision().accepted() ? two.decision() : one.decision();
    assertEquals(Verdict.WRONG_BASE, refused.verdict());
  }

  @Test
  void shouldDoNothingWhenTheProposalFindsNothingToDo() {
    ProposalMachine machine = propose(state -> null, 1);
    assertTrue(store.run(() -> machine.decision() != null, MAX_EVENTS));
    assertNotNull(machine.decision());
    assertNull(machine.decision().block());
    assertFalse(machine.written());
    assertEquals(0, store.count(StoreRequest.PutIfAbsent.class));
  }

  @Test
  void shouldStayUndecidedWhileABlockMayStillBeAccepted() {
    // Step 5 lies beyond the head: not acceptable now, perhaps later.
    ProposalMachine machine = propose(state -> new Block.OperatorPin("g", "pin", 5, 0), 1);
    store.run(() -> store.nowNs() > 10_000 * MS, MAX_EVENTS);
    assertNull(machine.decision());
    assertFalse(machine.written());
    assertTrue(store.count() < 200, "looks now and then: " + store.count());
  }

  @Test
  void shouldGiveUpWhenTheStoreRefusesAgainAndAgain() {
    ProposalMachine machine = propose(state -> new Block.Seal(), 1);
    store.fates((request, bits) ->
        isVersion(request)
            ? new Fate(5 * MS, 5 * MS, Effect.NOT_APPLIED, Answer.LOST)
            : Fates.SMOOTH.of(request, bits));
    store.run(() -> store.nowNs() > 120_000 * MS, MAX_EVENTS);
    assertNull(machine.failure(), "unclear is no refusal");
    assertNull(machine.decision());
    assertTrue(machine.written());
    store.fates(Fates.SMOOTH);
    assertTrue(store.run(() -> machine.decision() != null, MAX_EVENTS));
  }

  @Test
  void shouldStopWithCorruptWhenItsOwnVersionIsVoid() {
    // The bytes it wrote are not those that stand there: another parent, its own commit id.
    boolean[] swapped = {false};
    ProposalMachine machine = propose(state -> new Block.Seal(), 1);
    store.fates((request, bits) -> {
      if (isVersion(request) && !swapped[0]) {
        swapped[0] = true;
        StoreRequest.PutIfAbsent put = (StoreRequest.PutIfAbsent) request;
        ManifestVersion version = ManifestCodec.decode(put.key(), put.body());
        VersionHeader header = version.header();
        VersionHeader wrong =
            new VersionHeader(
                header.streamId(),
                header.version(),
                header.commitId(),
                new UUID(9, 9),
                header.nextStep(),
                header.horizon(),
                header.runningHash(),
                header.newestSnapshot(),
                header.paceMillis());
        store.objects().put(put.key(), Bytes.wrap(ManifestCodec.encode(wrong, version.blocks())));
      }
      return Fates.SMOOTH.of(request, bits);
    });
    assertTrue(store.run(() -> machine.failure() != null, MAX_EVENTS));
    BatchWeaveException failure = machine.failure();
    assertNotNull(failure);
    assertEquals(Kind.CORRUPT, failure.kind());
  }

  /** A committer that always has one more block: fences of ever new incarnations. */
  private final class Busy {
    final CommitMachine machine;
    final String producer;
    final Bits bits;
    final ModelStore.Client client;
    int accepted;
    int epoch = 1;

    Busy(String producer, long seed) {
      this.producer = producer;
      this.bits = new Bits(seed);
      this.machine =
          new CommitMachine(
              new LogFollower(FollowPolicy.DEFAULT, new Bits(bits.nextLong())),
              new CommitPolicy("p." + producer, new Bits(bits.nextLong())),
              new Bits(bits.nextLong()));
      this.client = store.attach(machine);
      next();
      tick();
    }

    private void next() {
      machine.offer(List.of(new Block.Fence(producer, epoch, bits.nextId())));
    }

    private void tick() {
      for (var event = machine.nextEvent(); event != null; event = machine.nextEvent()) {
        if (event instanceof io.batchweave.log.LogEvent.Folded folded) {
          for (var outcome : folded.outcome().blocks()) {
            if (outcome.accepted()
                && outcome.block() instanceof Block.Fence fence
                && fence.producer().equals(producer)) {
              accepted++;
              epoch++;
              next();
            }
          }
        }
      }
      client.touch();
      store.after(3 * MS, this::tick);
    }
  }

  private static Fates s3Like() {
    return (request, bits) -> {
      long halfNs = (10 + bits.nextBelow(20)) * MS;
      return new Fate(halfNs, halfNs, Effect.APPLIED, Answer.DELIVERED);
    };
  }

  private List<Busy> contend(int count, long seconds) {
    List<Busy> all = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      all.add(new Busy("p" + i, 100 + i));
    }
    long untilNs = store.nowNs() + seconds * 1_000 * MS;
    assertTrue(store.run(() -> store.nowNs() > untilNs, 20 * MAX_EVENTS));
    return all;
  }

  private void checkFair(List<Busy> all, long seconds) {
    double sum = all.stream().mapToDouble(busy -> busy.accepted).sum();
    double squares = all.stream().mapToDouble(busy -> (double) busy.accepted * busy.accepted).sum();
    double jain = sum * sum / (all.size() * squares);
    assertTrue(all.stream().allMatch(busy -> busy.accepted > 0), "nobody starves");
    assertTrue(jain > 0.8, "jain=" + jain);
    long versions =
        store.objects().keySet().stream().filter(key -> key.startsWith("manifest/")).count();
    assertTrue(
        versions <= seconds * CommitPolicy.MAX_VERSIONS_PER_SECOND + 2, "versions=" + versions);
    assertTrue(sum >= seconds * 2, "blocks=" + sum);
  }

  @Test
  void shouldLetAllMakeProgressWhenTwoContendOnAFastStore() {
    store.fates((request, bits) -> new Fate(MS, MS, Effect.APPLIED, Answer.DELIVERED));
    checkFair(contend(2, 30), 30);
  }

  @Test
  void shouldLetAllMakeProgressWhenSixteenContend() {
    store.fates(s3Like());
    checkFair(contend(16, 60), 60);
  }

  @Test
  void shouldPaceALoneCommitter() {
    store.fates((request, bits) -> new Fate(MS, MS, Effect.APPLIED, Answer.DELIVERED));
    Busy busy = contend(1, 10).getFirst();
    assertTrue(busy.accepted <= 10 * CommitPolicy.MAX_VERSIONS_PER_SECOND + 1);
    assertTrue(busy.accepted > 8 * CommitPolicy.MAX_VERSIONS_PER_SECOND, "" + busy.accepted);
    long versions = busy.client.sent().stream().filter(CommitMachineTest::isVersion).count();
    long reads =
        busy.client.sent().stream()
            .filter(r -> r instanceof StoreRequest.Get && r.key().startsWith("manifest/"))
            .count();
    // Only before its fence, which waits for its turn.
    assertTrue(reads <= 10, "a lone committer does not look: " + reads + " of " + versions);
  }
}
