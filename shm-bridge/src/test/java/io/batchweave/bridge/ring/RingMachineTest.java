package io.batchweave.bridge.ring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The ring's rules one by one. Ring of 8 pages, N = 4, hold = 1. */
class RingMachineTest {
  private static final int PAGE = 64;
  private static final Id128 A = new Id128(1, 1);
  private static final Id128 B = new Id128(1, 2);
  private static final Id128 C = new Id128(1, 3);
  private static final SessionKey RUN_1 = RingWorld.session(1);
  private static final SessionKey RUN_2 = RingWorld.session(2);

  private final RingMachine machine =
      new RingMachine(new RingSettings(0, 8 * PAGE, PAGE, 4, 1, 1_000), 0);
  private final List<RingCommand> done = new ArrayList<>();
  private final Map<Id128, View> views = new HashMap<>();

  /** What a rank wrote. */
  private static final class View implements ReaderView {
    boolean attached = true;
    long taken;
    final Set<Long> acked = new HashSet<>();

    @Override
    public boolean isAttached() {
      return attached;
    }

    @Override
    public long taken() {
      return attached ? taken : 0;
    }

    @Override
    public boolean isAcked(long n) {
      return attached && acked.contains(n);
    }
  }

  private void drain() {
    machine.drain(command -> {
      done.add(command);
      if (command instanceof RingCommand.Close) {
        machine.onClosed(reader -> views.computeIfAbsent(reader, id -> new View()), 0);
      }
    });
  }

  private void hello(Id128 reader, Id128 previous, int dp, long step, int localReaders) {
    hello(reader, previous, dp, step, localReaders, RUN_1);
  }

  private void hello(
      Id128 reader, Id128 previous, int dp, long step, int localReaders, SessionKey session) {
    machine.onHello(
        new ReaderHello(
            reader,
            previous,
            session,
            List.of(new Coordinate(dp, 0)),
            step,
            localReaders,
            2L * PAGE),
        0);
    drain();
  }

  private void step(int pages) {
    long step = machine.wantedStep();
    machine.onStep(step, step + 1, (long) pages * PAGE);
    drain();
  }

  private void finishAll() {
    for (RingCommand.Fetch fetch : all(RingCommand.Fetch.class)) {
      machine.onFetchFinished(fetch.fetchId(), FetchOutcome.COMPLETE, null, "");
    }
    drain();
  }

  private void took(Id128 reader, long taken, long... acked) {
    View view = views.computeIfAbsent(reader, id -> new View());
    view.taken = taken;
    for (long n : acked) {
      view.acked.add(n);
    }
    machine.onReader(reader, view);
    drain();
  }

  private <T extends RingCommand> List<T> all(Class<T> type) {
    return done.stream().filter(type::isInstance).map(type::cast).toList();
  }

  private <T extends RingCommand> T last(Class<T> type) {
    return all(type).getLast();
  }

  @Test
  void shouldWaitForLocalReadersOrTheTimeout() {
    hello(A, Id128.NONE, 0, 5, 2);
    assertFalse(machine.isOpen());
    assertEquals(1_000, machine.wakeAtNs());
    machine.onTime(999);
    drain();
    assertFalse(machine.isOpen());
    machine.onTime(1_000);
    drain();
    assertTrue(machine.isOpen());
    assertEquals(new RingCommand.Welcome(A, 1, 0, 5), last(RingCommand.Welcome.class));
    assertEquals(5, machine.wantedStep());
  }

  @Test
  void shouldBeginAtTheLowestStepAndPlaceTheOthersWhenTheirStepIsAllocated() {
    hello(A, Id128.NONE, 0, 7, 2);
    hello(B, Id128.NONE, 1, 5, 2);
    assertEquals(List.of(new RingCommand.Welcome(B, 1, 0, 5)), all(RingCommand.Welcome.class));
    step(1);
    step(1);
    assertEquals(new RingCommand.Welcome(A, 1, 2, 7), last(RingCommand.Welcome.class));
  }

  @Test
  void shouldAnswerTheSameHelloWithTheSameWelcome() {
    hello(A, Id128.NONE, 0, 5, 1);
    hello(A, Id128.NONE, 0, 5, 1);
    assertEquals(2, all(RingCommand.Welcome.class).size());
    assertEquals(all(RingCommand.Welcome.class).getFirst(), last(RingCommand.Welcome.class));
    assertEquals(1, all(RingCommand.Create.class).size());
  }

  @Test
  void shouldPublishOutOfOrderAndFreeInOrder() {
    hello(A, Id128.NONE, 0, 0, 1);
    step(2);
    step(2);
    step(2);
    machine.onFetchFinished(2, FetchOutcome.COMPLETE, null, "");
    drain();
    assertEquals(1, last(RingCommand.Publish.class).n());
    finishAll();
    took(A, 2, 1); // released n = 1 before n = 0
    assertEquals(6 * PAGE, machine.status("").usedBytes());
    took(A, 2, 0);
    assertEquals(2 * PAGE, machine.status("").usedBytes());
  }

  @Test
  void shouldWrapAndSayWhoIsInTheWay() {
    hello(A, Id128.NONE, 0, 0, 1);
    step(2);
    step(2);
    step(2);
    finishAll();
    took(A, 3, 0);
    step(2);
    assertEquals(6 * PAGE, last(RingCommand.Allocate.class).region().offset());
    finishAll();
    step(2);
    assertEquals(0, last(RingCommand.Allocate.class).region().offset(), "wrapped");
    step(2);
    RingStatus status = machine.status("");
    assertEquals(2 * PAGE, status.blockedBytes());
    assertEquals(5, status.blockedStep());
    assertEquals(A, status.blockedReader());
    assertEquals(4, status.blockedReaderSteps());
    took(A, 3, 1);
    step(2);
    assertEquals(0, machine.status("").blockedBytes());
    assertEquals(2 * PAGE, last(RingCommand.Allocate.class).region().offset());
  }

  @Test
  void shouldNotReuseASlotBeforeItIsReleased() {
    hello(A, Id128.NONE, 0, 0, 1);
    for (int i = 0; i < 4; i++) {
      step(1);
    }
    finishAll();
    assertEquals(-1, machine.wantedStep());
    took(A, 1);
    assertEquals(-1, machine.wantedStep());
    took(A, 1, 0);
    assertEquals(4, machine.wantedStep());
  }

  @Test
  void shouldFailAStepThatCanNeverFitAndTryAgainWhenAsked() {
    hello(A, Id128.NONE, 0, 0, 1);
    step(3);
    RingCommand.Publish failed = last(RingCommand.Publish.class);
    assertEquals(ControlDescriptor.KIND_FAILED, failed.kind());
    assertEquals(FailReason.LIMIT.code(), failed.reason());
    assertTrue(failed.text().contains("needed=" + 9 * PAGE), failed.text());
    assertTrue(failed.text().contains("--memory"), failed.text());
    assertEquals(-1, machine.wantedStep(), "nothing follows FAILED");
    hello(B, A, 0, 0, 1);
    assertEquals(CloseReason.RETRY, last(RingCommand.Close.class).reason());
    assertEquals(new RingCommand.Welcome(B, 2, 0, 0), last(RingCommand.Welcome.class));
    assertEquals(0, machine.wantedStep());
  }

  @Test
  void shouldEndTheStream() {
    hello(A, Id128.NONE, 0, 4, 1);
    machine.onEndOfStream(4);
    drain();
    assertEquals(ControlDescriptor.KIND_END, last(RingCommand.Publish.class).kind());
    assertEquals(-1, machine.wantedStep());
    hello(B, A, 0, 4, 1);
    assertEquals(new RingCommand.Welcome(B, 1, 0, 4), last(RingCommand.Welcome.class));
    assertEquals(0, all(RingCommand.Close.class).size());
  }

  /** U41 in small: the same ranks go on in the same places; no memory is needed. */
  @Test
  void shouldKeepPlacesWhenTheSameRanksGoOn() {
    hello(A, Id128.NONE, 0, 0, 1);
    step(2);
    step(2);
    machine.onFetchFinished(1, FetchOutcome.COMPLETE, null, "");
    machine.onFetchFinished(2, FetchOutcome.FAILED, FailReason.MISSING, "gone");
    drain();
    took(A, 1);
    hello(B, A, 0, 1, 1);
    assertEquals(CloseReason.RETRY, last(RingCommand.Close.class).reason());
    RingCommand.Fetch again = last(RingCommand.Fetch.class);
    assertEquals(FetchMode.VERIFY_FIRST, again.mode());
    assertEquals(new StepRegion(1, 2, 2 * PAGE, 2 * PAGE), again.region());
    assertEquals(new RingCommand.Welcome(B, 2, 0, 1), last(RingCommand.Welcome.class));
    assertEquals(4 * PAGE, machine.status("").usedBytes(), "A's lease stays");
    machine.onReaderGone(A, 0);
    drain();
    assertEquals(new RingCommand.DropControl(1), last(RingCommand.DropControl.class));
    assertEquals(2 * PAGE, machine.status("").usedBytes());
  }

  @Test
  void shouldWaitForUnfinishedFetchesBeforeTheNextGeneration() {
    hello(A, Id128.NONE, 0, 5, 1);
    step(2);
    hello(B, Id128.NONE, 0, 2, 1); // an older step
    assertEquals(CloseReason.OLDER_STEP, last(RingCommand.Close.class).reason());
    assertEquals(new RingCommand.Cancel(1), last(RingCommand.Cancel.class));
    assertEquals(1, all(RingCommand.Create.class).size());
    machine.onFetchFinished(1, FetchOutcome.CANCELLED, null, "");
    drain();
    assertEquals(2, last(RingCommand.Create.class).firstStep());
    assertEquals(new RingCommand.Welcome(B, 2, 0, 2), last(RingCommand.Welcome.class));
  }

  @Test
  void shouldForgetALeaseThatTheRankBacksOutOf() {
    hello(A, Id128.NONE, 0, 5, 1);
    step(2);
    finishAll();
    views.computeIfAbsent(A, id -> new View()).taken = 1; // stored, the state not yet looked at
    hello(B, Id128.NONE, 1, 5, 1);
    assertEquals(CloseReason.COORDINATE, last(RingCommand.Close.class).reason());
    assertEquals(5, last(RingCommand.Create.class).firstStep(), "counted as not taken");
    long leased = machine.status("").usedBytes();
    took(A, 0); // backs out
    assertEquals(leased - 2 * PAGE, machine.status("").usedBytes());
  }

  /** What a rank took since the last look counts when it comes back with another file. */
  @Test
  void shouldKeepWhatAReplacedFileTookUnseen() {
    hello(A, Id128.NONE, 0, 0, 1);
    step(2);
    step(2);
    finishAll();
    views.computeIfAbsent(A, id -> new View()).taken = 1; // not looked at
    hello(B, A, 0, 1, 1);
    assertEquals(new RingCommand.Welcome(B, 1, 1, 1), last(RingCommand.Welcome.class));
    took(A, 1);
    took(B, 2, 1);
    assertEquals(4 * PAGE, machine.status("").usedBytes(), "A still holds step 0");
    took(A, 1, 0);
    assertEquals(0, machine.status("").usedBytes());
  }

  /** U42: an old rank hangs with a lease; the rest of the ring suffices, or it is named. */
  @Test
  void shouldUseTheLargestGapOrNameWhoHoldsTheRing() {
    hello(A, Id128.NONE, 0, 0, 1);
    step(1);
    finishAll();
    took(A, 1);
    hello(B, Id128.NONE, 0, 0, 1, RUN_2);
    assertEquals(CloseReason.NEW_SESSION, last(RingCommand.Close.class).reason());
    assertEquals(new RingCommand.Welcome(B, 2, 0, 0), last(RingCommand.Welcome.class));
    step(2);
    assertEquals(PAGE, last(RingCommand.Allocate.class).region().offset());
    finishAll();
    took(B, 1);
    step(2);
    finishAll();
    took(B, 2);
    step(2);
    finishAll();
    took(B, 3);
    int closes = all(RingCommand.Close.class).size();
    hello(C, Id128.NONE, 0, 0, 1, RingWorld.session(3));
    RingCommand.Refuse refused = last(RingCommand.Refuse.class);
    assertEquals(RingRefusal.RING_HELD, refused.refusal());
    assertTrue(refused.text().contains(B.toString()), refused.text());
    assertEquals(closes, all(RingCommand.Close.class).size(), "stopped B in vain");
    assertTrue(machine.isOpen());
  }

  @Test
  void shouldRefuseOtherSizesAndUsedReaderFiles() {
    hello(A, Id128.NONE, 0, 0, 1);
    hello(B, Id128.NONE, 0, 0, 3);
    assertEquals(RingRefusal.SIZES_DISAGREE, last(RingCommand.Refuse.class).refusal());
    hello(C, A, 0, 0, 1);
    hello(A, Id128.NONE, 0, 0, 1);
    assertEquals(RingRefusal.READER_FILE, last(RingCommand.Refuse.class).refusal());
  }

  @Test
  void shouldFreeEverythingWhenTheLastRankDies() {
    hello(A, Id128.NONE, 0, 0, 1);
    step(2);
    machine.onReaderGone(A, 0);
    drain();
    assertEquals(new RingCommand.Cancel(1), last(RingCommand.Cancel.class));
    assertFalse(machine.isFree(), "a request may still write");
    machine.onFetchFinished(1, FetchOutcome.CANCELLED, null, "");
    drain();
    assertTrue(machine.isFree());
  }

  @Test
  void shouldCopyAndTellStatesApart() {
    hello(A, Id128.NONE, 0, 0, 1);
    RingMachine copy = machine.copy();
    assertEquals(machine.fingerprint(), copy.fingerprint());
    step(2);
    assertNotEquals(machine.fingerprint(), copy.fingerprint());
    copy.onStep(0, 1, 2L * PAGE);
    copy.drain(command -> {});
    assertEquals(machine.fingerprint(), copy.fingerprint());
  }

  @Test
  void shouldRefuseSettingsThatCannotWork() {
    assertThrows(BatchWeaveException.class, () -> new RingSettings(0, 8 * PAGE, PAGE, 4, 3, 0));
    assertThrows(BatchWeaveException.class, () -> new RingSettings(0, 8 * PAGE, PAGE, 6, 1, 0));
    assertThrows(BatchWeaveException.class, () -> new RingSettings(0, 8 * PAGE + 1, PAGE, 4, 1, 0));
    assertThrows(BatchWeaveException.class, () -> new RingSettings(0, 8 * PAGE, PAGE, 2048, 1, 0));
  }
}
