package io.batchweave.bridge.ring;

import io.batchweave.bridge.memory.FileAccess;
import io.batchweave.bridge.memory.FutexWaiter;
import io.batchweave.bridge.memory.Mapping;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.memory.Protection;
import io.batchweave.bridge.memory.SharedFile;
import java.nio.file.Path;

/** The doorbell: ranks ring it after each release and when they attach, the daemon waits for it. */
public final class Doorbell implements AutoCloseable {
  private final Mapping mapping;

  private Doorbell(Mapping mapping) {
    this.mapping = mapping;
  }

  /**
   * Creates the file, or takes over the one of a former daemon: ranks still ring that one.
   *
   * @param memory the system
   * @param directory the daemon directory
   * @param mode permission bits
   */
  public static Doorbell create(NativeMemory memory, Path directory, int mode) {
    Path path = directory.resolve(RingAbi.DOORBELL_NAME);
    try (SharedFile file = memory.open(path, FileAccess.OPEN_OR_CREATE)) {
      file.changeMode(mode);
      file.allocate(0, DoorbellDescriptor.LENGTH);
      Mapping mapping = file.map(DoorbellDescriptor.LENGTH, Protection.READ_WRITE);
      DoorbellDescriptor.writeHeader(mapping.segment());
      return new Doorbell(mapping);
    }
  }

  /**
   * Opens the file of a daemon.
   *
   * @param memory the system
   * @param directory the daemon directory
   */
  public static Doorbell open(NativeMemory memory, Path directory) {
    Path path = directory.resolve(RingAbi.DOORBELL_NAME);
    try (SharedFile file = memory.open(path, FileAccess.READ_WRITE)) {
      long length = file.lengthBytes();
      if (length < DoorbellDescriptor.LENGTH) {
        throw ControlDescriptor.corrupt(path.toString(), "too short", "length", length);
      }
      Mapping mapping = file.map(DoorbellDescriptor.LENGTH, Protection.READ_WRITE);
      try {
        DoorbellDescriptor.checkHeader(mapping.segment());
        return new Doorbell(mapping);
      } catch (RuntimeException e) {
        mapping.close();
        throw e;
      }
    }
  }

  /**
   * Rings: whoever waits looks again.
   *
   * @param waiter of the calling thread
   */
  public void ring(FutexWaiter waiter) {
    DoorbellDescriptor.ringRelease(mapping.segment());
    waiter.wakeAll(mapping.segment(), DoorbellDescriptor.WORD_OFFSET);
  }

  /** The word, to be loaded before looking for work. */
  public int wordLoadAcquire() {
    // SYNC POINT: doorbell
    return DoorbellDescriptor.wordLoadAcquire(mapping.segment());
  }

  /**
   * Waits until it rings.
   *
   * @param waiter of the calling thread
   * @param word as loaded before looking for work
   * @param timeoutNs at most so long
   */
  public void await(FutexWaiter waiter, int word, long timeoutNs) {
    waiter.await(mapping.segment(), DoorbellDescriptor.WORD_OFFSET, word, timeoutNs);
  }

  /** Unmaps; the file stays. */
  @Override
  public void close() {
    mapping.close();
  }
}
