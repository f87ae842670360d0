package io.batchweave.bridge.handshake;

import io.batchweave.BatchWeaveException;
import io.batchweave.bridge.memory.FutexWaiter;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.ring.Doorbell;
import java.nio.file.Path;
import org.agrona.concurrent.IdleStrategy;
import org.jspecify.annotations.Nullable;

/**
 * How a rank's Aeron client waits for the driver: it first rings the daemon's doorbell, since the
 * daemon may sleep and Aeron does not wake it. Aeron resets this when it has sent a command and is
 * about to wait for what comes of it. One thread.
 */
final class CallingIdleStrategy implements IdleStrategy, AutoCloseable {
  private final IdleStrategy idle;
  private final FutexWaiter waker;
  private final @Nullable Doorbell doorbell;

  /**
   * Creates one. Where the doorbell cannot be opened, it does not ring, and the daemon looks by
   * itself a little later; what is wrong is said where the rank maps its files.
   *
   * @param memory the system
   * @param daemonDirectory the daemon directory
   * @param idle how it waits
   */
  CallingIdleStrategy(NativeMemory memory, Path daemonDirectory, IdleStrategy idle) {
    this.idle = idle;
    this.waker = memory.newWaiter();
    this.doorbell = open(memory, daemonDirectory);
  }

  private static @Nullable Doorbell open(NativeMemory memory, Path daemonDirectory) {
    try {
      return Doorbell.open(memory, daemonDirectory);
    } catch (BatchWeaveException notThere) {
      return null;
    }
  }

  @Override
  public void idle(int workCount) {
    idle.idle(workCount);
  }

  @Override
  public void idle() {
    idle.idle();
  }

  @Override
  public void reset() {
    idle.reset();
    Doorbell open = doorbell;
    if (open != null) {
      open.ring(waker);
    }
  }

  @Override
  public void close() {
    waker.close();
    Doorbell open = doorbell;
    if (open != null) {
      open.close();
    }
  }
}
