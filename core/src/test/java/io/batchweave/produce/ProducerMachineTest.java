package io.batchweave.produce;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.format.Block;
import io.batchweave.format.ManifestCodec;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.TgbEntry;
import io.batchweave.log.Bits;
import io.batchweave.produce.ProducerMachine.Phase;
import io.batchweave.produce.ProducerModel.Incarnation;
import io.batchweave.simulate.ModelStore.Answer;
import io.batchweave.simulate.ModelStore.Effect;
import io.batchweave.simulate.ModelStore.Fate;
import io.batchweave.simulate.ModelStore.Fates;
import io.batchweave.store.StoreRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** One incarnation and several against a store that loses, doubles, delays and refuses. */
@Timeout(120)
class ProducerMachineTest {
  private static final int MAX_EVENTS = 200_000;
  private static final long MS = 1_000_000;

  @Test
  void shouldCommitEverythingInOrderWhenTheStoreIsSmooth() {
    ProducerModel model = new ProducerModel(1);
    Incarnation process = model.start("p", 30);
    assertTrue(model.store.run(process::done, MAX_EVENTS));
    assertEquals(30, process.acknowledged.size());
    assertEquals(30, model.log().state.nextStep());
    model.check();
  }

  @Test
  void shouldShareObjectsAndBlocksWhenBatchesComeFasterThanUploadsFinish() {
    ProducerModel model = new ProducerModel(13);
    model.maxPending(2_000);
    Incarnation process = model.start("p", 10_000);
    assertTrue(model.store.run(process::done, MAX_EVENTS));
    model.check();
    long uploads = model.store.count(StoreRequest.Upload.class);
    assertTrue(uploads < 200, "uploads=" + uploads);
    assertTrue(model.log().state.version() < 100, "versions=" + model.log().state.version());
    long seconds = Math.max(1, model.store.nowNs() / (1_000 * MS));
    assertTrue(10_000 / seconds >= 10_000, "batches per second: " + 10_000 / seconds);
  }

  /** A1: the answer of every other version is lost, or is "exists" for its own version. */
  @Test
  void shouldCommitOnceWhenTheAnswerOfALandedVersionIsLost() {
    ProducerModel model = new ProducerModel(2);
    int[] puts = {0};
    model.store.fates((request, bits) -> {
      int put = isVersion(request) ? puts[0]++ : 1;
      return put % 2 == 0
          ? new Fate(5 * MS, 5 * MS, Effect.APPLIED, put % 4 == 0 ? Answer.LOST : Answer.REPEATED)
          : Fates.SMOOTH.of(request, bits);
    });
    // Enough to know that nobody else writes: then no look at the head comes by itself.
    Incarnation process = model.start("p", 100);
    assertTrue(model.store.run(process::done, MAX_EVENTS));
    assertTrue(puts[0] > 20, "versions sent: " + puts[0]);
    assertEquals(100, process.acknowledged.size());
    assertEquals(puts[0], model.log().state.version(), "each sent once, none again");
    model.check();
  }

  @Test
  void shouldSayThatItWasTakenOverWhenItsSourceStateIsDeletedMeanwhile() {
    ProducerModel model = new ProducerModel(21);
    Incarnation late = recoverSlowly(model);
    Incarnation next = model.start("p", 8);
    assertTrue(model.store.run(next::done, MAX_EVENTS));
    assertNotNull(model.store.objects().remove(stateKey(model)));
    assertTrue(model.store.run(late::ended, MAX_EVENTS));
    assertEquals(Kind.FENCED, Objects.requireNonNull(late.machine.failure()).kind());
  }

  @Test
  void shouldNameItsSourceStateWhenThatIsGoneAndItIsStillTheOwner() {
    ProducerModel model = new ProducerModel(22);
    Incarnation late = recoverSlowly(model);
    String key = stateKey(model);
    assertNotNull(model.store.objects().remove(key));
    assertTrue(model.store.run(late::ended, MAX_EVENTS));
    BatchWeaveException failure = Objects.requireNonNull(late.machine.failure());
    assertEquals(Kind.CORRUPT, failure.kind());
    String message = Objects.requireNonNull(failure.getMessage());
    assertTrue(message.contains("object=" + key), message);
    assertTrue(message.contains("it does not exist"), message);
  }

  /** Commits seven batches, the last with a state of its own, and starts a slow second owner. */
  private static Incarnation recoverSlowly(ProducerModel model) {
    Incarnation first = model.start("p", 7);
    assertTrue(model.store.run(first::done, MAX_EVENTS));
    first.crash();
    boolean[] asked = {false};
    model.store.fates((request, bits) -> {
      if (!asked[0] && request instanceof StoreRequest.Get && request.key().endsWith(".state")) {
        asked[0] = true;
        return new Fate(2_000 * MS, 2_000 * MS, Effect.APPLIED, Answer.DELIVERED);
      }
      return Fates.SMOOTH.of(request, bits);
    });
    Incarnation second = model.start("p", 8);
    assertTrue(model.store.run(() -> asked[0], MAX_EVENTS));
    assertEquals(Phase.RECOVERING, second.machine.phase());
    return second;
  }

  private static String stateKey(ProducerModel model) {
    return model.store.objects().keySet().stream()
        .filter(key -> key.endsWith(".state"))
        .findFirst()
        .orElseThrow();
  }

  /** A2: the others commit v+1, v+2, … while one waits for an answer that never comes. */
  @Test
  void shouldSucceedWhenOthersWentOnBeforeTheLostAnswerIsCleared() {
    ProducerModel model = new ProducerModel(3);
    int[] batches = {0};
    model.store.fates((request, bits) ->
        isVersion(request) && holdsBatchOf("slow", request) && batches[0]++ == 0
            ? new Fate(5 * MS, 5 * MS, Effect.APPLIED, Answer.LOST)
            : Fates.SMOOTH.of(request, bits));
    Incarnation slow = model.start("slow", 1);
    assertTrue(model.store.run(() -> batches[0] == 1, MAX_EVENTS));
    Incarnation other = model.start("other", 100);
    assertTrue(model.store.run(() -> model.log().state.version() >= 8, MAX_EVENTS));
    assertEquals(List.of(), slow.acknowledged, "it still waits");
    assertTrue(model.store.run(() -> other.done() && slow.done(), MAX_EVENTS));
    assertEquals(1, slow.acknowledged.size());
    assertEquals(1, batches[0], "nor is it written again");
    model.check();
  }

  private static boolean holdsBatchOf(String producer, StoreRequest request) {
    return request instanceof StoreRequest.PutIfAbsent put
        && ManifestCodec.decode(put.key(), put.body()).blocks().stream()
            .anyMatch(b -> b instanceof Block.Produce p && p.producer().equals(producer));
  }

  enum Landing {
    BEFORE_THE_LOOK,
    BEFORE_THE_FENCE,
    AFTER_THE_FENCE
  }

  /**
   * A4: dies between the PUT and its answer; the PUT lands before the fence of the next, or after.
   */
  @ParameterizedTest
  @EnumSource
  void shouldResumeAfterTheLastBatchOfTheDeadOrNeverSeeIt(Landing landing) {
    ProducerModel model = new ProducerModel(23);
    List<StoreRequest.PutIfAbsent> late = new ArrayList<>();
    boolean[] landed = {false};
    model.store.fates((request, bits) -> {
      if (isVersion(request) && request instanceof StoreRequest.PutIfAbsent put) {
        if (late.isEmpty() && model.log().state.nextStep() >= 5) {
          late.add(put);
          return new Fate(5 * MS, 5 * MS, Effect.NOT_APPLIED, Answer.LOST);
        }
        if (late.size() == 1 && landing == Landing.BEFORE_THE_FENCE && !landed[0]) {
          landed[0] = land(model, late.getFirst());
        }
      }
      return Fates.SMOOTH.of(request, bits);
    });
    Incarnation dead = model.start("p", 1_000);
    assertTrue(model.store.run(() -> !late.isEmpty(), MAX_EVENTS));
    dead.crash();
    long steps = model.log().state.nextStep();
    if (landing == Landing.BEFORE_THE_LOOK) {
      assertTrue(land(model, late.getFirst()));
    }
    Incarnation next = model.start("p", 60);
    assertTrue(model.store.run(() -> next.machine.phase() == Phase.LIVE, MAX_EVENTS));
    if (landing == Landing.AFTER_THE_FENCE) {
      assertFalse(land(model, late.getFirst()), "its number is taken");
    }
    long resumed = next.machine.nextSeq();
    assertEquals(landing != Landing.AFTER_THE_FENCE, resumed > steps + 1, "resumed=" + resumed);
    assertTrue(model.store.run(next::done, MAX_EVENTS));
    assertEquals(2, next.machine.epoch());
    assertEquals(60, model.log().state.nextStep());
    for (TgbEntry entry : model.log().entries) {
      assertEquals(entry.seq() < resumed ? 1 : 2, entry.object().epoch(), entry.toString());
    }
    model.check();
  }

  private static boolean land(ProducerModel model, StoreRequest.PutIfAbsent put) {
    return model.store.objects().putIfAbsent(put.key(), put.body()) == null;
  }

  /** A5: after the lost answer every GET of a version fails; then the store heals. */
  @Test
  void shouldStayUnknownWhileTheReadThatShouldClearItUpFails() {
    ProducerModel model = new ProducerModel(4);
    boolean[] broken = {false};
    boolean[] healed = {false};
    model.store.fates((request, bits) -> {
      if (!healed[0] && isVersion(request) && model.log().state.version() >= 1) {
        broken[0] = true;
        return new Fate(5 * MS, 5 * MS, Effect.APPLIED, Answer.LOST);
      }
      if (broken[0] && !healed[0] && request instanceof StoreRequest.Get) {
        return new Fate(5 * MS, 5 * MS, Effect.NOT_APPLIED, Answer.THROTTLED);
      }
      return Fates.SMOOTH.of(request, bits);
    });
    Incarnation process = model.start("p", 1);
    long[] untilNs = {0};
    assertTrue(
        model.store.run(
            () -> {
              if (broken[0] && untilNs[0] == 0) {
                untilNs[0] = model.store.nowNs() + 60_000 * MS;
              }
              return untilNs[0] != 0 && model.store.nowNs() > untilNs[0];
            },
            MAX_EVENTS));
    assertEquals(Phase.LIVE, process.machine.phase(), "neither conflict nor success");
    assertTrue(process.acknowledged.isEmpty());
    assertEquals(1, versionsSent(process, 2), "nor is a number that cannot be read free");
    assertFalse(process.machine.drained());
    assertNotNull(process.machine.trouble());
    healed[0] = true;
    assertTrue(model.store.run(process::done, MAX_EVENTS));
    assertEquals(1, process.acknowledged.size());
    model.check();
  }

  private static long versionsSent(Incarnation process, long version) {
    return process.client.sent().stream()
        .filter(ProducerMachineTest::isVersion)
        .filter(request -> request.key().equals(ObjectNames.version(version)))
        .count();
  }

  /** A6: 409 while the key stays empty. */
  @Test
  void shouldTryTheSameVersionAgainWhenTheStoreSaysConflict() {
    ProducerModel model = new ProducerModel(5);
    int[] conflicts = {0};
    model.store.fates((request, bits) ->
        isVersion(request) && conflicts[0]++ % 3 != 2
            ? new Fate(5 * MS, 5 * MS, Effect.NOT_APPLIED, Answer.CONFLICT)
            : Fates.SMOOTH.of(request, bits));
    Incarnation process = model.start("p", 5);
    assertTrue(model.store.run(process::done, MAX_EVENTS));
    List<String> keys =
        process.client.sent().stream()
            .filter(ProducerMachineTest::isVersion)
            .map(StoreRequest::key)
            .toList();
    assertTrue(keys.size() > keys.stream().distinct().count(), "the same version, several times");
    assertEquals(keys.stream().distinct().count(), model.log().state.version(), "none was lost");
    model.check();
  }

  /** A9: X sends fence(1) and dies; its restart Y proposes 1; X's late PUT wins. */
  @Test
  void shouldProposeTheNextEpochWhenTheLateFenceOfADeadIncarnationWins() {
    ProducerModel model = new ProducerModel(6);
    boolean[] first = {true};
    model.store.fates((request, bits) -> {
      if (isVersion(request) && first[0]) {
        first[0] = false;
        return new Fate(40 * MS, 5 * MS, Effect.APPLIED, Answer.LOST);
      }
      return isVersion(request)
          ? new Fate(100 * MS, 5 * MS, Effect.APPLIED, Answer.DELIVERED)
          : Fates.SMOOTH.of(request, bits);
    });
    Incarnation x = model.start("p", 5);
    assertTrue(model.store.run(() -> !first[0], MAX_EVENTS));
    x.crash();
    Incarnation y = model.start("p", 5);
    assertTrue(model.store.run(y::done, MAX_EVENTS));
    assertEquals(2, y.machine.epoch());
    model.check();
  }

  /** A9, C1, C3: two live incarnations of one id; the older is fenced, says so and stays down. */
  @Test
  void shouldStayDownWhenAnotherIncarnationTookOver() {
    ProducerModel model = new ProducerModel(7);
    Incarnation older = model.start("p", 1_000);
    assertTrue(model.store.run(() -> older.acknowledged.size() > 5, MAX_EVENTS));
    Incarnation newer = model.start("p", 60);
    assertTrue(model.store.run(newer::done, MAX_EVENTS));
    assertTrue(model.store.run(older::ended, MAX_EVENTS));
    assertNotNull(older.machine.failure());
    assertEquals(Kind.FENCED, older.machine.failure().kind());
    int requests = older.client.sent().size();
    long untilNs = model.store.nowNs() + 60_000 * MS;
    model.store.after(60_001 * MS, () -> {});
    assertTrue(model.store.run(() -> model.store.nowNs() > untilNs, MAX_EVENTS));
    assertEquals(requests, older.client.sent().size(), "no ping-pong");
    assertEquals(2, newer.machine.epoch());
    model.check();
  }

  @Test
  void shouldFailPendingBatchesWhenTheStreamIsSealed() {
    ProducerModel model = new ProducerModel(8);
    Incarnation process = model.start("p", 1_000);
    assertTrue(model.store.run(() -> process.acknowledged.size() > 3, MAX_EVENTS));
    Sealer sealer = new Sealer(model);
    assertTrue(model.store.run(() -> sealer.done() && process.ended(), MAX_EVENTS));
    assertNotNull(process.machine.failure());
    assertEquals(Kind.CONFIG, process.machine.failure().kind());
    model.check();
    assertEquals(process.machine.committedSeq() - 1, model.log().state.nextStep());
  }

  @Test
  void shouldBehaveAlikeWhenCopied() {
    // The copy is driven by the same answers: equal requests, equal fingerprints.
    ProducerModel model = new ProducerModel(9);
    Incarnation process = model.start("p", 40);
    assertTrue(model.store.run(() -> process.acknowledged.size() > 10, MAX_EVENTS));
    ProducerMachine copy = process.machine.copy();
    assertEquals(process.machine.fingerprint(), copy.fingerprint());
    assertTrue(model.store.run(process::done, MAX_EVENTS));
    assertTrue(copy.fingerprint() != process.machine.fingerprint());
    assertTrue(copy.committedSeq() < process.machine.committedSeq(), "shares nothing");
  }

  @Test
  void shouldWriteSnapshotsWhenTheyAreDue() {
    ProducerModel model = new ProducerModel(10);
    Incarnation process = model.start("p", 700);
    assertTrue(model.store.run(process::done, 10 * MAX_EVENTS));
    assertTrue(
        model.store.objects().keySet().stream().anyMatch(key -> key.startsWith("snapshot/")));
    assertTrue(model.store.objects().keySet().stream().anyMatch(key -> key.startsWith("index/")));
    model.check();
  }

  /** Seeds of the random runs; the launcher's full test asks for more. */
  private static int runs() {
    return Integer.getInteger("batchweave.runs", 1_500);
  }

  /** H1 at machine level: crashes at any point, duplicates, late and lost and doubled answers. */
  @Test
  void shouldKeepEveryPromiseWhenEverythingGoesWrongAtRandom() {
    for (int run = 0; run < runs(); run++) {
      randomRun(1_000_003L * run + 11);
    }
  }

  private static void randomRun(long seed) {
    ProducerModel model = new ProducerModel(seed);
    Bits bits = model.bits();
    int percent = (int) bits.nextBelow(40);
    Fates troubled = Fates.troubled(percent);
    model.store.fates((request, random) ->
        isVersion(request) && random.nextBelow(100) < percent / 4
            ? new Fate(5 * MS, 5 * MS, Effect.NOT_APPLIED, Answer.CONFLICT)
            : troubled.of(request, random));
    int producers = 1 + (int) bits.nextBelow(3);
    long lastSeq = 3 + bits.nextBelow(10);
    model.maxPending(seed % 3 == 0 ? 12 : 4);
    for (int i = 0; i < 6; i++) {
      model.start("p" + bits.nextBelow(producers), lastSeq);
      long untilNs = model.store.nowNs() + bits.nextBelow(3_000) * MS;
      model.store.after(untilNs - model.store.nowNs() + 1, () -> {});
      model.store.run(() -> model.store.nowNs() > untilNs, MAX_EVENTS);
      for (Incarnation process : model.processes) {
        if (!process.ended() && bits.nextBelow(3) == 0) {
          process.crash();
        }
      }
      try {
        model.check();
      } catch (AssertionError e) {
        throw new AssertionError("seed=" + seed, e);
      }
    }
    model.processes.forEach(Incarnation::crash);
    for (int i = 0; i < producers; i++) {
      finish(model, "p" + i, lastSeq, seed);
    }
    try {
      model.check();
      assertEquals(producers * lastSeq, model.log().state.nextStep());
    } catch (AssertionError e) {
      throw new AssertionError("seed=" + seed, e);
    }
  }

  /** Starts until one gets to the end: a late fence of a dead incarnation may cost some. */
  private static void finish(ProducerModel model, String producer, long lastSeq, long seed) {
    Incarnation last = null;
    for (int i = 0; i < 5 && (last == null || !last.done()); i++) {
      Incarnation current = model.start(producer, lastSeq);
      model.store.run(() -> current.done() || current.ended(), 3 * MAX_EVENTS);
      last = current;
    }
    Incarnation ended = Objects.requireNonNull(last);
    assertTrue(
        ended.done(),
        () ->
            "seed="
                + seed
                + " failure="
                + ended.machine.failure()
                + " phase="
                + ended.machine.phase()
                + " committedSeq="
                + ended.machine.committedSeq()
                + " requests="
                + ended.client.sent().size()
                + " trouble="
                + ended.machine.trouble());
    assertEquals(lastSeq + 1, ended.machine.nextSeq());
  }

  private static boolean isVersion(StoreRequest request) {
    return request instanceof StoreRequest.PutIfAbsent && request.key().startsWith("manifest/");
  }
}
