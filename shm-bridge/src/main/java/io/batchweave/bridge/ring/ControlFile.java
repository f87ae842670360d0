package io.batchweave.bridge.ring;

import io.batchweave.BatchWeaveException;
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
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

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

  /**
   * Opens the file of a daemon that is gone; only who holds the daemon's lock may.
   *
   * @param memory the system
   * @param path the file
   * @param waiter of the owning thread
   * @return null when it never was OPEN: nobody can have been told of it
   * @throws BatchWeaveException when it is not what a daemon of this ABI writes under that name
   */
  public static @Nullable ControlFile adopt(NativeMemory memory, Path path, FutexWaiter waiter) {
    try (SharedFile file = memory.open(path, FileAccess.READ_WRITE)) {
      long length = file.lengthBytes();
      if (length < ControlDescriptor.fileLength(RingAbi.MIN_DESCRIPTORS, 0)) {
        return null;
      }
      Mapping mapping = file.map(length, Protection.READ_WRITE);
      try {
        ControlFile adopted = null;
        int state = ControlDescriptor.stateLoadAcquire(mapping.segment());
        if (ControlDescriptor.stateOf(state) != ControlDescriptor.STATE_NEW) {
          GenerationHeader header =
              ControlDescriptor.readHeader(path.toString(), mapping.segment());
          ControlDescriptor.require(
              header.generation() == RingAbi.generationOfControlName(path),
              path.toString(),
              "generation",
              header.generation());
          ControlDescriptor.require(
              header.ring().number() == RingAbi.ringOfControlName(path),
              path.toString(),
              "ring number",
              header.ring().number());
          adopted = new ControlFile(path, header, mapping, waiter);
        } else {
          mapping.close();
        }
        return adopted;
      } catch (RuntimeException | InternalError e) {
        mapping.close();
        throw e;
      }
    }
  }

  /** Whether steps can be taken. */
  public boolean isOpen() {
    return ControlDescriptor.stateOf(ControlDescriptor.stateLoadAcquire(segment()))
        == ControlDescriptor.STATE_OPEN;
  }

  /**
   * Where steps lie, as far as the descriptors tell: ascending and without a gap up to the latest
   * one. A descriptor that its daemon died in ends the list, for it belongs to the next n.
   */
  public List<FoundRing.Slot> slots() {
    long latest = -1;
    int count = header.descriptorCount();
    for (int i = 0; i < count; i++) {
      long n = allocatedN(i);
      latest = (n & (count - 1)) == i ? Math.max(latest, n) : latest;
    }
    List<FoundRing.Slot> slots = new ArrayList<>();
    for (long n = latest; n >= 0 && n > latest - count && allocatedN(n) == n; n--) {
      StepRegion region = ControlDescriptor.regionLoadPlain(segment(), descriptor(n));
      if (!isPossible(region)) {
        break;
      }
      slots.add(new FoundRing.Slot(n, region));
    }
    return slots.reversed();
  }

  /** n of a descriptor that was allocated, or -1. */
  private long allocatedN(long slot) {
    // SYNC POINT: slot-ready
    long seq = ControlDescriptor.seqLoadAcquire(segment(), descriptor(slot));
    return seq <= ControlDescriptor.SEQ_VOID ? -1 : (seq - 1) / 2;
  }

  private boolean isPossible(StepRegion region) {
    GenerationHeader.RingFile ring = header.ring();
    boolean isPlace =
        region.lengthBytes() >= 0
            && region.offset() >= 0
            && region.offset() <= ring.lengthBytes()
            && region.lengthBytes() <= ring.lengthBytes() - region.offset()
            && region.offset() % ring.pageSizeBytes() == 0
            && region.lengthBytes() % ring.pageSizeBytes() == 0;
    boolean isOrder =
        region.lengthBytes() == 0
            ? region.nextStep() == region.step()
            : region.nextStep() > region.step();
    return isPlace && isOrder && region.step() >= header.firstStep();
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
