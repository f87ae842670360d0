package io.batchweave.bridge.ring;

import io.batchweave.bridge.memory.FileAccess;
import io.batchweave.bridge.memory.FutexWaiter;
import io.batchweave.bridge.memory.Mapping;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.memory.Protection;
import io.batchweave.bridge.memory.SharedFile;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The control file of a generation in the hands of its daemon, its only writer. Every change wakes
 * the ranks. Owned by one thread.
 */
public final class ControlFile implements AutoCloseable {
  private final Path path;
  private final GenerationHeader header;
  private final Mapping mapping;
  private final FutexWaiter waiter;
  private RingStatus status = RingStatus.IDLE;

  private ControlFile(Path path, GenerationHeader header, Mapping mapping, FutexWaiter waiter) {
    this.path = path;
    this.header = header;
    this.mapping = mapping;
    this.waiter = waiter;
  }

  /**
   * Creates the file, state NEW; its memory is really allocated, and nothing is left if that fails.
   *
   * @param memory the system
   * @param directory the daemon directory
   * @param header what it says for its whole life
   * @param mode permission bits
   * @param waiter of the owning thread
   */
  public static ControlFile create(
      NativeMemory memory, Path directory, GenerationHeader header, int mode, FutexWaiter waiter) {
    Path path = directory.resolve(RingAbi.controlName(header.ring().number(), header.generation()));
    long length =
        ControlDescriptor.fileLength(header.descriptorCount(), header.coordinates().size());
    try (SharedFile file = memory.open(path, FileAccess.CREATE)) {
      file.allocateNew(length, mode);
      Mapping mapping = file.map(length, Protection.READ_WRITE);
      ControlDescriptor.writeHeader(mapping.segment(), header);
      return new ControlFile(path, header, mapping, waiter);
    }
  }

  /** What it says for its whole life. */
  public GenerationHeader header() {
    return header;
  }

  /** Its name in the daemon directory. */
  public String name() {
    return String.valueOf(path.getFileName());
  }

  /** Its length. */
  public long lengthBytes() {
    return mapping.lengthBytes();
  }

  private MemorySegment segment() {
    return mapping.segment();
  }

  private long descriptor(long n) {
    return ControlDescriptor.descriptorOffset(n, header.descriptorCount());
  }

  /** Says where step n will lie. */
  public void allocate(long n, StepRegion region) {
    ControlDescriptor.allocate(segment(), descriptor(n), n, region);
  }

  /** From now on steps may be taken. */
  public void open() {
    // SYNC POINT: generation-open
    ControlDescriptor.stateStoreRelease(segment(), ControlDescriptor.STATE_OPEN);
    wake();
  }

  /**
   * Publishes step n.
   *
   * @param n allocated before
   * @param kind one of the KIND constants
   * @param reason of FAILED, else 0
   * @param text of FAILED, else empty
   */
  public void publish(long n, int kind, int reason, String text) {
    if (kind == ControlDescriptor.KIND_FAILED) {
      ControlDescriptor.storeFailure(segment(), text);
    }
    ControlDescriptor.publishRelease(segment(), descriptor(n), n, kind, reason);
    wake();
  }

  /**
   * From now on nothing may be taken. When this returns, a reader whose {@code taken} is read
   * afterwards either shows its last step or will back out of it.
   *
   * @param reason why
   */
  public void closeGeneration(CloseReason reason) {
    ControlDescriptor.stateStoreRelease(segment(), ControlDescriptor.closedWord(reason));
    // SYNC POINT: taken-or-closed
    VarHandle.fullFence();
    wake();
  }

  /** Stores how the ring stands, if that changed. */
  public void status(RingStatus newStatus) {
    if (!newStatus.equals(status)) {
      status = newStatus;
      ControlDescriptor.storeStatus(segment(), newStatus);
      wake();
    }
  }

  private void wake() {
    // SYNC POINT: wake
    ControlDescriptor.wakeIncrementRelease(segment());
    waiter.wakeAll(segment(), ControlDescriptor.WAKE_OFFSET);
  }

  /** Removes the file; ranks that map it keep their mapping. */
  public void unlink() {
    try {
      Files.deleteIfExists(path);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Unmaps; the file stays. */
  @Override
  public void close() {
    mapping.close();
  }
}
