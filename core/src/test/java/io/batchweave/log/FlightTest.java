package io.batchweave.log;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.store.StoreFailure;
import io.batchweave.store.StoreResponse;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** How long a thing is asked for that is refused again and again. */
final class FlightTest {
  private static final Ask REFUSED = new Ask.Segment(0);

  private final Flight flight = new Flight(FollowPolicy.DEFAULT, new Bits(1));

  @BeforeEach
  void nearlyGiveUp() {
    flight.succeeded(new Ask.Stream());
    for (int i = 1; i < Flight.MAX_REFUSALS; i++) {
      assertTrue(refuse(REFUSED));
    }
  }

  private boolean refuse(Ask ask) {
    return flight.failed(ask, new StoreResponse.Failed(StoreFailure.CONFIG, "a pipe"), 0);
  }

  private void refuseOthers(int number) {
    for (int version = 1; version <= number; version++) {
      assertTrue(refuse(new Ask.Version(version)));
    }
  }

  @Test
  void shouldGiveUpThoughOthersWereRefusedMeanwhile() {
    refuseOthers(Flight.REMEMBERED - 1);
    assertFalse(refuse(REFUSED));
  }

  /** Else a follower that lives for long would keep all that was ever refused. */
  @Test
  void shouldForgetWhatWasRefusedBeforeManyOthers() {
    refuseOthers(Flight.REMEMBERED);
    assertTrue(refuse(REFUSED));
  }
}
