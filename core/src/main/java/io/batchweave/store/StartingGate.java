package io.batchweave.store;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;

/**
 * Makes uploads finish in the same instant: each sends all of its bytes but the last, and waits for
 * that one until the gate opens. So a race is decided inside the store and not by who connects
 * first.
 *
 * <p>Thread-safe. A store reads a held body on its own threads and is never blocked: until the gate
 * opens there are simply no more bytes. Whoever holds bodies must open the gate.
 */
public final class StartingGate {
  private final Object lock = new Object();
  private int arrived;
  private volatile boolean open;

  /** Creates a closed gate. */
  public StartingGate() {}

  /**
   * The same bytes, the last one held back; every upload counts once when it gets there.
   *
   * @param body at least two bytes
   */
  public Payload hold(Payload body) {
    return new Payload.Held(body, this);
  }

  /**
   * Waits until so many uploads stand before their last byte.
   *
   * @param uploads how many
   * @param timeoutNs longest wait, in nanoseconds
   * @return how many stand there now, perhaps fewer
   * @throws InterruptedException if the waiting thread is interrupted
   */
  public int awaitArrivals(int uploads, long timeoutNs) throws InterruptedException {
    long slices = Math.max(1, TimeUnit.NANOSECONDS.toMillis(timeoutNs));
    synchronized (lock) {
      // Arrivals alone wake this up, so the slices of a millisecond add up to the whole time.
      while (arrived < uploads && slices > 0) {
        int before = arrived;
        lock.wait(1);
        slices -= arrived == before ? 1 : 0;
      }
      return arrived;
    }
  }

  /** Lets all go. */
  public void open() {
    open = true;
  }

  private void arrive() {
    synchronized (lock) {
      arrived++;
      lock.notifyAll();
    }
  }

  /** Reads all but the last byte, then nothing, then the last byte. */
  static final class HeldReader implements Payload.Reader {
    private final Payload.Reader inner;
    private final StartingGate gate;
    private long remaining;

    HeldReader(Payload body, StartingGate gate) throws IOException {
      this.inner = body.open();
      this.gate = gate;
      this.remaining = body.lengthBytes() - 1;
    }

    @Override
    public boolean read(ByteBuffer target) throws IOException {
      if (remaining == 0) {
        return gate.open && inner.read(target);
      }
      int limit = target.limit();
      int start = target.position();
      if (target.remaining() > remaining) {
        target.limit(start + (int) remaining);
      }
      boolean done = inner.read(target);
      target.limit(limit);
      remaining -= target.position() - start;
      if (remaining == 0) {
        gate.arrive();
      }
      return done;
    }

    @Override
    public void close() throws IOException {
      inner.close();
    }
  }
}
