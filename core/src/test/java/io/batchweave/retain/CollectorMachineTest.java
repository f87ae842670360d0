package io.batchweave.retain;

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
import io.batchweave.format.DataObject;
import io.batchweave.format.Limits;
import io.batchweave.format.ManifestCodec;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.SourceState;
import io.batchweave.format.TgbEntry;
import io.batchweave.log.Bits;
import io.batchweave.log.Fold;
import io.batchweave.log.LogWriter;
import io.batchweave.log.Machine;
import io.batchweave.log.State;
import io.batchweave.log.Verdict;
import io.batchweave.retain.CollectPolicy.Effect;
import io.batchweave.retain.CollectPolicy.Versions;
import io.batchweave.retain.CollectorMachine.Phase;
import io.batchweave.simulate.ModelStore;
import io.batchweave.store.StoreRequest;
import io.batchweave.store.StoreResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a run deletes and what it leaves, on a modelled store. */
@Timeout(300)
class CollectorMachineTest {
  private static final int MAX_EVENTS = 1_000_000;
  private static final CollectPolicy ONE_LIST = CollectPolicy.DEFAULT;

  /** Every group is listed on its own, and what is kept is gone over in four passes. */
  private static final CollectPolicy GROUPS =
      new CollectPolicy(Effect.RECLAIM, Versions.KEEP, 3_000, 4, 10, 1, 8);

  private final ModelStore store = new ModelStore(1);
  private final LogWriter log = new LogWriter(store.objects(), 1);
  private long seed = 100;

  // ---- what there is

  private DataObject upload(String producer, int epoch, long firstSeq, long lastSeq) {
    DataObject object = new DataObject(producer, epoch, firstSeq, lastSeq, ++seed);
    store.objects().put(ObjectNames.data(object), Bytes.wrap(new byte[10]));
    return object;
  }

  private DataObject uploadState(String producer, int epoch, long firstSeq, long lastSeq) {
    DataObject object = new DataObject(producer, epoch, firstSeq, lastSeq, ++seed);
    store.objects().put(ObjectNames.state(object), Bytes.wrap(new byte[7]));
    return object;
  }

  private void fence(String producer) {
    var known = log.state().producer(producer);
    int epoch = known == null ? 1 : known.epoch() + 1;
    assertTrue(
        log.commit(new Block.Fence(producer, epoch, new UUID(epoch, ++seed)))
            .blocks()
            .getFirst()
            .accepted());
  }

  private void accept(Block block) {
    assertEquals(Verdict.ACCEPTED, log.commit(block).blocks().getFirst().verdict());
  }

  private void pin(String id, long step) {
    accept(new Block.OperatorPin("g", id, step, log.state().group("g").changed()));
  }

  private void unpin(String id) {
    accept(new Block.Unpin("g", id, log.state().group("g").changed()));
  }

  /** So many objects of one batch each, committed. */
  private List<DataObject> produce(String producer, int count) {
    List<DataObject> made = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      var known = assertNotNullState(producer);
      DataObject object = upload(producer, known.epoch(), known.nextSeq(), known.nextSeq());
      made.add(object);
      accept(LogWriter.produce(object, object.firstSeq()));
    }
    return made;
  }

  private io.batchweave.log.ProducerState assertNotNullState(String producer) {
    var known = log.state().producer(producer);
    assertNotNull(known);
    return known;
  }

  private boolean there(DataObject object) {
    return store.objects().containsKey(ObjectNames.data(object));
  }

  private boolean stateThere(DataObject object) {
    return store.objects().containsKey(ObjectNames.state(object));
  }

  private Set<String> keys(String prefix) {
    Set<String> keys = new TreeSet<>(store.objects().tailMap(prefix).keySet());
    keys.removeIf(key -> !key.startsWith(prefix));
    return keys;
  }

  // ---- running it

  private CollectorMachine finish(CollectPolicy policy) {
    CollectorMachine machine = new CollectorMachine(policy, new Bits(++seed));
    var _ = store.attach(machine);
    assertTrue(
        store.run(
            () -> machine.phase() == Phase.DONE || machine.phase() == Phase.FAILED, MAX_EVENTS));
    catchUp();
    return machine;
  }

  private CollectReport collect(CollectPolicy policy) {
    CollectorMachine machine = finish(policy);
    assertNull(machine.failure(), () -> String.valueOf(machine.failure()));
    return machine.report();
  }

  private CollectReport collect() {
    return collect(ONE_LIST);
  }

  /** Folds what the collector committed. */
  private void catchUp() {
    String next = ObjectNames.version(log.state().version() + 1);
    Bytes body = store.objects().get(next);
    while (body != null) {
      Fold.apply(log.state(), ManifestCodec.decode(next, body));
      next = ObjectNames.version(log.state().version() + 1);
      body = store.objects().get(next);
    }
  }

  /** Every step from the horizon on has its object; nothing else is left but what may come. */
  private void assertKept(List<DataObject> kept) {
    Set<String> expected = new TreeSet<>();
    kept.forEach(object -> expected.add(ObjectNames.data(object)));
    assertEquals(expected, keys(ObjectNames.DATA));
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldDeleteWhatNothingNamesAndKeepTheRest(boolean oneList) {
    fence("p");
    List<DataObject> made = produce("p", 600);
    log.snapshot();
    List<DataObject> later = produce("p", 60);
    made.addAll(later);
    pin("c", 300);
    CollectReport report = collect(oneList ? ONE_LIST : GROUPS);
    assertEquals(300, report.horizon());
    assertEquals(300, report.movedSteps());
    assertEquals(new CollectReport.Amount(300, 3_000), report.data());
    assertEquals(new CollectReport.Amount(360, 3_600), report.kept());
    assertEquals(1, report.segments());
    assertKept(made.subList(300, 660));
    assertEquals(Set.of(ObjectNames.segment(1)), keys(ObjectNames.SEGMENTS));
    CollectReport again = collect();
    assertEquals(CollectReport.Amount.NONE, again.data());
    assertEquals(0, again.movedSteps());
  }

  @Test
  void shouldChangeNothingInADryRunAndSayWhatTheRunThenDoes() {
    fence("p");
    produce("p", 300);
    log.snapshot();
    pin("c", 260);
    Set<String> before = Set.copyOf(store.objects().keySet());
    CollectReport said = collect(ONE_LIST.with(Effect.DRY_RUN));
    assertEquals(before, Set.copyOf(store.objects().keySet()));
    CollectReport done = collect();
    assertEquals(said.data(), done.data());
    assertEquals(said.kept(), done.kept());
    assertEquals(said.horizon(), done.horizon());
    assertEquals(said.movedSteps(), done.movedSteps());
    assertEquals(said.segments(), done.segments());
    assertEquals(260, done.data().objects());
  }

  @Test
  void shouldDeleteNoStepWhenNothingIsRegistered() {
    fence("p");
    List<DataObject> made = produce("p", 10);
    CollectReport report = collect();
    assertEquals(0, report.horizon());
    assertKept(made);
  }

  /** D1: upload finished, commit delayed by seconds, hours, days while collection runs. */
  @ParameterizedTest
  @ValueSource(longs = {1, 3_600, 3 * 86_400})
  void shouldKeepAnUploadThatIsCommittedLater(long delaySeconds) {
    fence("p");
    List<DataObject> made = produce("p", 3);
    pin("c", 3);
    DataObject late = upload("p", 1, 4, 6);
    DataObject lateState = uploadState("p", 1, 4, 6);
    CollectorLoop loop =
        new CollectorLoop(ONE_LIST, TimeUnit.SECONDS.toNanos(delaySeconds) / 4, new Bits(++seed));
    ModelStore.Client client = store.attach(loop);
    long untilNs = store.nowNs() + TimeUnit.SECONDS.toNanos(delaySeconds);
    assertTrue(store.run(() -> store.nowNs() > untilNs && loop.runs() > 1, MAX_EVENTS));
    client.crash();
    catchUp();
    made.forEach(object -> assertFalse(there(object)));
    assertTrue(there(late));
    assertTrue(stateThere(lateState));
    accept(LogWriter.produce(late, 4));
    collect();
    assertTrue(there(late));
  }

  /** D2: uploads finish out of the order of their commits. */
  @Test
  void shouldKeepUploadsThatFinishOutOfOrder() {
    fence("p");
    DataObject third = upload("p", 1, 3, 3);
    collect();
    DataObject second = upload("p", 1, 2, 2);
    collect();
    DataObject first = upload("p", 1, 1, 1);
    collect();
    assertKept(List.of(first, second, third));
    for (DataObject object : List.of(first, second, third)) {
      accept(LogWriter.produce(object, object.firstSeq()));
      collect();
      assertKept(List.of(first, second, third));
    }
  }

  /** D3: the collector dies after each single step; the next one finishes. */
  @Test
  void shouldFinishWhatACollectorThatDiedAtAnyStepLeft() {
    fence("p");
    List<DataObject> made = produce("p", 300);
    log.snapshot();
    pin("c", 260);
    upload("p", 1, 5, 5);
    var before = new java.util.TreeMap<>(store.objects());
    State start = log.state().copy();
    collect(GROUPS);
    Set<String> after = Set.copyOf(store.objects().keySet());
    assertKept(made.subList(260, 300));
    boolean died = true;
    int steps = 0;
    while (died) {
      steps++;
      ModelStore fresh = new ModelStore(steps);
      fresh.objects().putAll(before);
      CollectorMachine victim = new CollectorMachine(GROUPS, new Bits(++seed));
      ModelStore.Client client = fresh.attach(victim);
      int requests = steps;
      fresh.run(() -> client.sent().size() >= requests || victim.phase() == Phase.DONE, MAX_EVENTS);
      died = victim.phase() != Phase.DONE;
      client.crash();
      // What it had sent takes effect all the same.
      long endNs = fresh.nowNs() + 1_000_000_000L;
      fresh.after(1_000_000_001L, () -> {});
      fresh.run(() -> fresh.nowNs() > endNs, MAX_EVENTS);
      nothingLiveIsGone(fresh, start, made);
      CollectorMachine next = new CollectorMachine(ONE_LIST, new Bits(++seed));
      var _ = fresh.attach(next);
      assertTrue(fresh.run(() -> next.phase() == Phase.DONE, MAX_EVENTS));
      assertEquals(after, Set.copyOf(fresh.objects().keySet()), "died at request " + steps);
    }
    assertTrue(steps > ObjectNames.DATA_GROUPS, "steps=" + steps);
  }

  private static void nothingLiveIsGone(ModelStore fresh, State start, List<DataObject> made) {
    State now = start.copy();
    String next = ObjectNames.version(now.version() + 1);
    Bytes body = fresh.objects().get(next);
    if (body != null) {
      Fold.apply(now, ManifestCodec.decode(next, body));
    }
    for (long step = now.horizon(); step < made.size(); step++) {
      assertTrue(fresh.objects().containsKey(ObjectNames.data(made.get((int) step))));
    }
  }

  /** D13: data that the store did not delete keeps the segments, which tell where to look on. */
  @Test
  void shouldKeepSegmentsWhileDataBelowThemIsLeft() {
    fence("p");
    List<DataObject> made = produce("p", 600);
    log.snapshot();
    pin("c", 600);
    Set<String> segments = Set.of(ObjectNames.segment(0), ObjectNames.segment(1));
    assertEquals(segments, keys(ObjectNames.SEGMENTS));
    CollectorMachine machine = new CollectorMachine(ONE_LIST, new Bits(++seed));
    var _ = store.attach(new Refused(machine, store, ObjectNames.data(made.get(400))));
    assertTrue(store.run(() -> machine.phase() == Phase.DONE, MAX_EVENTS));
    catchUp();
    assertEquals(1, machine.report().failedKeys());
    assertKept(List.of(made.get(400)));
    assertEquals(segments, keys(ObjectNames.SEGMENTS));
    assertEquals(1, collect().data().objects());
    assertKept(List.of());
    assertEquals(Set.of(), keys(ObjectNames.SEGMENTS));
  }

  /** A collector whose store does not delete one object, and says so. */
  private record Refused(CollectorMachine machine, ModelStore store, String key)
      implements Machine<Refused> {
    @Override
    public void onResponse(long requestId, StoreResponse response, long nowNs, Requests requests) {
      boolean left = response instanceof StoreResponse.Deleted && !store.objects().containsKey(key);
      if (left) {
        store.objects().put(key, Bytes.wrap(new byte[10]));
      }
      machine.onResponse(
          requestId, left ? new StoreResponse.Deleted(List.of(key)) : response, nowNs, requests);
    }

    @Override
    public void onTime(long nowNs, Requests requests) {
      machine.onTime(nowNs, requests);
    }

    @Override
    public long wakeAtNs() {
      return machine.wakeAtNs();
    }

    @Override
    public Refused copy() {
      return new Refused(machine.copy(), store, key);
    }

    @Override
    public long fingerprint() {
      return machine.fingerprint();
    }
  }

  /** D8: a segment that the verdict needs is gone or damaged. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldStopWhenASegmentItNeedsCannotBeRead(boolean gone) {
    fence("p");
    produce("p", 600);
    log.snapshot();
    pin("c", 300);
    String segment = ObjectNames.segment(1);
    if (gone) {
      store.objects().remove(segment);
    } else {
      flip(segment);
    }
    Set<String> before = keys(ObjectNames.DATA);
    BatchWeaveException failure = finish(ONE_LIST).failure();
    assertNotNull(failure);
    assertEquals(Kind.CORRUPT, failure.kind());
    assertTrue(String.valueOf(failure.getMessage()).contains(segment), failure::getMessage);
    assertEquals(before, keys(ObjectNames.DATA));
  }

  /** D8: a version that the verdict needs is damaged, or lost. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldStopWhenAVersionItNeedsCannotBeRead(boolean gone) {
    fence("p");
    produce("p", 20);
    log.snapshot();
    produce("p", 20);
    pin("c", 30);
    String version = ObjectNames.version(log.state().version() - 5);
    if (gone) {
      store.objects().remove(version);
    } else {
      flip(version);
    }
    Set<String> before = Set.copyOf(store.objects().keySet());
    BatchWeaveException failure = finish(ONE_LIST).failure();
    assertNotNull(failure);
    assertEquals(Kind.CORRUPT, failure.kind());
    assertEquals(before, Set.copyOf(store.objects().keySet()));
  }

  /** D8: no snapshot can be read, and the versions before the last of them are trimmed. */
  @Test
  void shouldStopWhenNoSnapshotItNeedsCanBeRead() {
    fence("p");
    produce("p", 20);
    log.snapshot();
    flip(ObjectNames.snapshot(log.state().version()));
    for (long version = 1; version < log.state().version(); version++) {
      log.trim(version);
    }
    produce("p", 20);
    pin("c", 30);
    Set<String> before = Set.copyOf(store.objects().keySet());
    BatchWeaveException failure = finish(ONE_LIST).failure();
    assertNotNull(failure);
    assertEquals(Kind.CORRUPT, failure.kind());
    assertEquals(before, Set.copyOf(store.objects().keySet()));
  }

  private void flip(String key) {
    byte[] bytes = assertBytes(key).toByteArray();
    bytes[bytes.length - 1] ^= 1;
    store.objects().put(key, Bytes.wrap(bytes));
  }

  private Bytes assertBytes(String key) {
    Bytes body = store.objects().get(key);
    assertNotNull(body, key);
    return body;
  }

  /** D14: announced in one object, offered again packed in another, committed by a helper. */
  @Test
  void shouldKeepWhatALaterVersionNamesWhoeverCommitsIt() {
    for (int collectAt = 0; collectAt < 8; collectAt++) {
      String producer = "d14-" + collectAt;
      fence(producer);
      DataObject announced = upload(producer, 1, 1, 1);
      Block.Produce first = LogWriter.produce(announced, 1);
      collectIf(collectAt == 0);
      DataObject packed = upload(producer, 1, 2, 3);
      collectIf(collectAt == 1);
      DataObject again = upload(producer, 1, 1, 3);
      Block.Produce rest = LogWriter.produce(packed, 2);
      collectIf(collectAt == 2);
      accept(first);
      assertTrue(there(announced));
      collectIf(collectAt == 3);
      pin("at-" + collectAt, log.state().nextStep());
      collectIf(collectAt == 4);
      accept(rest);
      for (TgbEntry entry : rest.entries()) {
        assertTrue(there(entry.object()));
      }
      collectIf(collectAt == 5);
      assertTrue(there(packed));
      unpin("at-" + collectAt);
      pin("end-" + collectAt, log.state().nextStep() - 1);
      collectIf(collectAt == 6);
      assertTrue(there(packed));
      collect();
      assertFalse(there(announced));
      assertFalse(there(again), "its seqs are all committed, by other objects");
      assertTrue(there(packed));
      unpin("end-" + collectAt);
    }
  }

  private void collectIf(boolean now) {
    if (now) {
      collect();
    }
  }

  /** D15: pin beyond the head, pins after a rollback, a late duplicate of an old pin. */
  @Test
  void shouldKeepWhatEveryCheckpointOfARolledBackJobNeeds() {
    fence("p");
    List<DataObject> made = produce("p", 40);
    long first = session("run-1", 0);
    assertEquals(
        Verdict.STEP_OUT_OF_RANGE,
        log.commit(sessionPin("run-1", first, "far", 41)).blocks().getFirst().verdict());
    accept(sessionPin("run-1", first, "a", 10));
    Block old = sessionPin("run-1", first, "b", 20);
    accept(old);
    accept(sessionPin("run-1", first, "c", 30));
    collect();
    assertEquals(20, log.state().horizon());
    // c turns out to be bad: the job goes back to b, and on from there.
    long second = session("run-2", 20);
    accept(sessionPin("run-2", second, "d", 25));
    assertEquals(Verdict.NO_SUCH_SESSION, log.commit(old).blocks().getFirst().verdict());
    collect();
    assertEquals(25, log.state().horizon());
    assertKept(made.subList(25, 40));
    assertEquals(
        Verdict.STEP_OUT_OF_RANGE,
        log.commit(new Block.OperatorPin("g", "late", 20, log.state().group("g").changed()))
            .blocks()
            .getFirst()
            .verdict());
  }

  private long session(String id, long start) {
    accept(
        new Block.OpenSession(
            "g", id, start, Takeover.SUPERSEDE, log.state().group("g").changed()));
    return log.state().version();
  }

  private static Block sessionPin(String session, long view, String id, long step) {
    return new Block.Pin("g", session, view, id, step, 2);
  }

  /** D16: the horizon stands in the middle of a packed object. */
  @Test
  void shouldKeepAPackUntilAllItsStepsAreBelow() {
    fence("p");
    DataObject pack = upload("p", 1, 1, 4);
    accept(LogWriter.produce(pack, 1));
    for (long step = 1; step <= 3; step++) {
      pin("at-" + step, step);
      collect();
      assertEquals(step, log.state().horizon());
      assertTrue(there(pack), "horizon=" + step);
      pin("next", step + 1);
      unpin("at-" + step);
      if (step < 3) {
        pin("at-" + (step + 1), step + 1);
        unpin("next");
        pin("again", step + 1);
        unpin("again");
        unpin("at-" + (step + 1));
      }
    }
    collect();
    assertEquals(4, log.state().horizon());
    assertFalse(there(pack));
  }

  /** D16: half of a pack is committed, the rest not yet, or never again. */
  @Test
  void shouldKeepTheRestOfAPackThatMayStillBeCommitted() {
    fence("p");
    DataObject pack = upload("p", 1, 1, 4);
    Block.Produce all = LogWriter.produce(pack, 1);
    accept(new Block.Produce("p", 1, 1, all.entries().subList(0, 2), all.sourceState()));
    pin("c", 2);
    collect();
    assertTrue(there(pack));
    fence("p");
    collect();
    assertFalse(there(pack), "nobody of the new epoch can name it");
  }

  @Test
  void shouldDeleteWhatCrashedProducersLeftByNameAlone() {
    fence("p");
    List<DataObject> made = produce("p", 2);
    DataObject crashed = upload("p", 1, 3, 9);
    DataObject crashedState = uploadState("p", 1, 3, 9);
    DataObject stranger = upload("nobody", 1, 1, 1);
    store.objects().put("data/ff/README", Bytes.wrap(new byte[3]));
    collect();
    assertTrue(there(crashed) && stateThere(crashedState), "its epoch is the current one");
    fence("p");
    CollectReport report = collect();
    assertFalse(there(crashed));
    assertFalse(stateThere(crashedState));
    assertTrue(there(stranger), "its producer may be known later");
    assertEquals(new CollectReport.Amount(1, 10), report.unknown());
    assertTrue(store.objects().containsKey("data/ff/README"));
    made.forEach(object -> assertTrue(there(object)));
    DataObject waiting = upload("p", 2, 3, 4);
    collect();
    assertTrue(there(waiting));
    accept(
        new Block.Retire(
            "p",
            log.state().version()
                - (log.state().version() - assertNotNullState("p").lastVersion())));
    collect();
    assertFalse(there(waiting));
    made.forEach(object -> assertTrue(there(object), "steps above the horizon"));
  }

  @Test
  void shouldKeepTheCurrentSourceStateOnly() {
    fence("p");
    List<DataObject> states = new ArrayList<>();
    for (long seq = 1; seq <= 3; seq++) {
      DataObject object = upload("p", 1, seq, seq);
      DataObject sourceState = uploadState("p", 1, seq, seq);
      states.add(sourceState);
      Block.Produce block = LogWriter.produce(object, seq);
      accept(
          new Block.Produce(
              "p", 1, seq, block.entries(), new SourceState.External(sourceState, 7, 0)));
    }
    CollectReport report = collect();
    assertEquals(new CollectReport.Amount(2, 14), report.sourceStates());
    assertFalse(stateThere(states.get(0)) || stateThere(states.get(1)));
    assertTrue(stateThere(states.get(2)));
  }

  @Test
  void shouldDeleteAnnouncementsThatNothingDependsOn() {
    fence("p");
    produce("p", 4 * Limits.ANNOUNCE_VERSIONS);
    Block block = new Block.Seal();
    long head = log.state().version();
    for (long back = 0; back <= head; back += Limits.ANNOUNCE_VERSIONS) {
      store.objects().put(ObjectNames.announcement(head - back, block), Bytes.EMPTY);
    }
    CollectReport report = collect();
    assertEquals(head / Limits.ANNOUNCE_VERSIONS - 2, report.announcements());
    assertEquals(3, keys(ObjectNames.ANNOUNCEMENTS).size());
  }

  /** D17: a reclaim that somebody else overtook, and one that a registration came before. */
  @Test
  void shouldGoOnWhereItIsWhenARegistrationComesFirst() {
    fence("p");
    List<DataObject> made = produce("p", 20);
    pin("c", 15);
    CollectorMachine machine = new CollectorMachine(ONE_LIST, new Bits(++seed));
    var _ = store.attach(machine);
    // The pin of a lower step lands in the version that the collector wants to create.
    awaitPut(machine);
    pin("rollback", 5);
    assertTrue(store.run(() -> machine.phase() == Phase.DONE, MAX_EVENTS));
    catchUp();
    assertEquals(5, log.state().horizon());
    assertKept(made.subList(5, 20));
  }

  @Test
  void shouldMoveOnWithARegistrationThatMovesOnWhileItCommits() {
    fence("p");
    List<DataObject> made = produce("p", 20);
    pin("older", 5);
    pin("newer", 15);
    CollectorMachine machine = new CollectorMachine(ONE_LIST, new Bits(++seed));
    var _ = store.attach(machine);
    awaitPut(machine);
    unpin("older");
    assertTrue(store.run(() -> machine.phase() == Phase.DONE, MAX_EVENTS));
    catchUp();
    assertEquals(15, log.state().horizon());
    assertEquals(15, machine.report().movedSteps());
    assertKept(made.subList(15, 20));
  }

  @Test
  void shouldGoOnWithWhatItHasWhenRegistrationsMoveOnAgainAndAgain() {
    fence("p");
    List<DataObject> made = produce("p", 20);
    for (int step = 1; step < 20; step++) {
      pin("c" + step, step);
    }
    CollectorMachine machine = new CollectorMachine(ONE_LIST, new Bits(++seed));
    var _ = store.attach(machine);
    long horizon = -1;
    for (int step = 1; machine.phase() == Phase.COMMIT; ) {
      awaitPut(machine);
      catchUp();
      if (machine.phase() == Phase.COMMIT && log.state().horizon() != horizon) {
        horizon = log.state().horizon();
        unpin("c" + step++);
      }
    }
    assertTrue(store.run(() -> machine.phase() == Phase.DONE, MAX_EVENTS));
    catchUp();
    assertEquals(4, log.state().horizon());
    assertKept(made.subList(4, 20));
  }

  /** Until the machine sends another version or announcement, or has learned the head. */
  private void awaitPut(CollectorMachine machine) {
    long before = store.count(StoreRequest.PutIfAbsent.class);
    assertTrue(
        store.run(
            () ->
                store.count(StoreRequest.PutIfAbsent.class) > before
                    || machine.phase() != Phase.COMMIT,
            MAX_EVENTS));
  }

  @Test
  void shouldNotHurryWhenTheRateIsLow() {
    fence("p");
    produce("p", 2_500);
    pin("c", 2_400);
    long before = store.nowNs();
    collect(ONE_LIST.withDeletesPerSecond(100));
    long seconds = (store.nowNs() - before) / 1_000_000_000L;
    assertTrue(seconds >= 20, "2,400 objects at 100 per second took seconds=" + seconds);
  }

  private Set<Long> tombstones() {
    Set<Long> versions = new TreeSet<>();
    for (String key : keys("manifest/")) {
      if (ManifestCodec.isTombstone(assertBytes(key))) {
        versions.add(ObjectNames.parseVersion(key).orElseThrow());
      }
    }
    return versions;
  }

  @Test
  void shouldTrimTheVersionsThatNoKeptSnapshotNeeds() {
    log.fill(700, 20);
    CollectReport said = collect(ONE_LIST.with(Versions.TRIM).with(Effect.DRY_RUN));
    assertEquals(Set.of(), tombstones());
    CollectReport report = collect(ONE_LIST.with(Versions.TRIM));
    long oldest =
        ObjectNames.parseSnapshot(keys(ObjectNames.SNAPSHOTS).iterator().next()).orElseThrow();
    assertEquals(16, keys(ObjectNames.SNAPSHOTS).size());
    assertEquals(oldest - 1, report.tombstones());
    assertEquals(said.tombstones(), report.tombstones());
    Set<Long> expected = new TreeSet<>();
    for (long version = 1; version < oldest; version++) {
      expected.add(version);
    }
    assertEquals(expected, tombstones());
    log.fill(760, 20);
    CollectReport next = collect(ONE_LIST.with(Versions.TRIM));
    assertEquals(oldest - 1 + 60, tombstones().size());
    assertTrue(next.tombstones() >= 60 && next.tombstones() <= 70, next::toString);
  }

  @Test
  void shouldTrimNothingBeforeThereAreSixteenSnapshots() {
    log.fill(290, 20);
    assertEquals(0, collect(ONE_LIST.with(Versions.TRIM)).tombstones());
    assertEquals(Set.of(), tombstones());
  }

  /** D8: before the first tombstone all that will be relied on is checked. */
  @ParameterizedTest
  @ValueSource(ints = {0, 7, 14})
  void shouldTrimNothingWhenASnapshotIsNotTheFold(int which) {
    log.fill(700, 20);
    flip(List.copyOf(keys(ObjectNames.SNAPSHOTS)).get(which));
    BatchWeaveException failure = finish(ONE_LIST.with(Versions.TRIM)).failure();
    assertNotNull(failure);
    assertEquals(Kind.CORRUPT, failure.kind());
    assertEquals(Set.of(), tombstones());
  }

  /** D8: a version between the kept snapshots is lost or damaged. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldTrimNothingWhenAVersionInBetweenCannotBeRead(boolean gone) {
    log.fill(700, 20);
    String version = ObjectNames.version(500);
    if (gone) {
      store.objects().remove(version);
    } else {
      flip(version);
    }
    BatchWeaveException failure = finish(ONE_LIST.with(Versions.TRIM)).failure();
    assertNotNull(failure);
    assertEquals(Kind.CORRUPT, failure.kind());
    assertEquals(Set.of(), tombstones());
  }
}
