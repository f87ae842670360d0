package io.batchweave.bridge.handshake;

import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.EpochClock;
import org.agrona.concurrent.NanoClock;

/**
 * One clock read per duty cycle, shared by driver and client; its nano time advances at most 100 ms
 * per cycle.
 *
 * <p>A process that is stopped for a while must not take itself for dead: Aeron's client closes
 * itself, and the driver closes it, when two of their clock reads lie more than the liveness
 * timeout apart. The wall clock is read once per cycle too, so that the client's heartbeat and the
 * driver's look at it use the same instant.
 */
final class ClampedClock implements NanoClock, EpochClock {
  static final long MAX_ADVANCE_NS = TimeUnit.MILLISECONDS.toNanos(100);

  private final NanoClock source;
  private final EpochClock epochSource;
  private long sourceNs;
  private long currentNs;
  private long currentMillis;

  ClampedClock(NanoClock source, EpochClock epochSource) {
    this.source = source;
    this.epochSource = epochSource;
    this.sourceNs = source.nanoTime();
    this.currentNs = sourceNs;
    this.currentMillis = epochSource.time();
  }

  /** Reads the clocks; once per duty cycle. */
  void update() {
    long now = source.nanoTime();
    currentNs += Math.clamp(now - sourceNs, 0, MAX_ADVANCE_NS);
    sourceNs = now;
    currentMillis = epochSource.time();
  }

  @Override
  public long nanoTime() {
    return currentNs;
  }

  @Override
  public long time() {
    return currentMillis;
  }
}
