package io.batchweave.bridge.handshake;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.CachedEpochClock;
import org.agrona.concurrent.CachedNanoClock;
import org.junit.jupiter.api.Test;

class ClampedClockTest {
  private final CachedNanoClock source = new CachedNanoClock();
  private final CachedEpochClock epoch = new CachedEpochClock();
  private final ClampedClock clock = new ClampedClock(source, epoch);

  @Test
  void shouldStandStillBetweenDutyCycles() {
    source.update(5_000);
    epoch.update(7);

    assertEquals(0, clock.nanoTime());
    assertEquals(0, clock.time());
    clock.update();
    assertEquals(5_000, clock.nanoTime());
    assertEquals(7, clock.time());
  }

  @Test
  void shouldAdvanceAtMostALittleWhenTheProcessWasStopped() {
    source.update(TimeUnit.MINUTES.toNanos(1));
    epoch.update(60_000);
    clock.update();
    assertEquals(ClampedClock.MAX_ADVANCE_NS, clock.nanoTime());
    assertEquals(60_000, clock.time());
    source.update(TimeUnit.MINUTES.toNanos(1) + 10);
    clock.update();
    assertEquals(ClampedClock.MAX_ADVANCE_NS + 10, clock.nanoTime());
  }

  @Test
  void shouldNeverGoBack() {
    source.update(100);
    clock.update();
    source.update(50);
    clock.update();
    assertEquals(100, clock.nanoTime());
  }
}
