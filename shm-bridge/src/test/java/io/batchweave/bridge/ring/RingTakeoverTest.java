package io.batchweave.bridge.ring;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a daemon makes of the ring that it finds, rule by rule. */
class RingTakeoverTest {
  private static final int PAGE = 64;
  private static final int RING_PAGES = 8;
  private static final Id128 AHEAD = new Id128(1, 1);
  private static final Id128 BEHIND = new Id128(1, 2);
  private static final SessionKey RUN = RingWorld.session(1);
  private static final List<Coordinate> BOTH = List.of(new Coordinate(0, 0), new Coordinate(1, 0));

  /** What a rank wrote. */
  private static final class View implements ReaderView {
    private long taken;
    private final Set<Long> acked = new HashSet<>();

    @Override
    public boolean isAttached() {
      return true;
    }

    @Override
    public long taken() {
      return taken;
    }

    @Override
    public boolean isAcked(long n) {
      return acked.contains(n);
    }
  }

  private static FoundRing.Generation generation(long number, long step, long page) {
    StepRegion region = new StepRegion(step, step + 1, page * PAGE, PAGE);
    return new FoundRing.Generation(
        number, RUN, BOTH, 2, step, List.of(new FoundRing.Slot(0, region)));
  }

  private static FoundRing.Reader reader(Id128 id, int dp, long generation, View view) {
    return new FoundRing.Reader(id, Id128.NONE, new Coordinate(dp, 0), generation, 0, view);
  }

  /**
   * U12, U40: one rank was started again far behind the other, which keeps its last step until it
   * gets the next one. After a restart of the daemon the slow rank must be able to come up to it:
   * the ring has to go past the place of that step, even where what is left of it is less than
   * (hold + 2) of its later steps.
   */
  @ParameterizedTest
  @CsvSource({"7, 1", "5, 2"})
  void shouldLetASlowRankCatchUpWithOneThatHoldsALaterStep(long heldPage, long pages) {
    View ahead = new View();
    ahead.taken = 1;
    View behind = new View();
    RingMachine machine =
        RingMachine.takeOver(
            new RingSettings(0, RING_PAGES * PAGE, PAGE, 4, 1, 1_000),
            new FoundRing(
                List.of(generation(1, 20, heldPage), generation(2, 0, 0)),
                List.of(reader(AHEAD, 0, 1, ahead), reader(BEHIND, 1, 2, behind))),
            0);
    Id128 again = new Id128(1, 3);
    machine.onHello(
        new ReaderHello(again, BEHIND, RUN, List.of(new Coordinate(1, 0)), 0, 2, PAGE), 0);
    List<Long> published = new ArrayList<>();
    View view = new View();
    for (int round = 0; round < 100; round++) {
      List<Long> fetches = new ArrayList<>();
      machine.drain(command -> {
        if (command instanceof RingCommand.Fetch fetch) {
          boolean free =
              fetch.region().offset() + fetch.region().lengthBytes() <= heldPage * PAGE
                  || fetch.region().offset() > heldPage * PAGE;
          assertTrue(free, "written where a step is held");
          fetches.add(fetch.fetchId());
        } else if (command instanceof RingCommand.Publish publish) {
          published.add(publish.n());
          view.taken = publish.n() + 1;
          view.acked.add(publish.n());
        }
      });
      fetches.forEach(id -> machine.onFetchFinished(id, FetchOutcome.COMPLETE, null, ""));
      machine.onReader(again, view);
      long wanted = machine.wantedStep();
      if (wanted >= 0) {
        machine.onStep(wanted, wanted + 1, pages * PAGE);
      }
    }
    assertTrue(published.contains(21L), () -> "stopped after " + published);
  }
}
