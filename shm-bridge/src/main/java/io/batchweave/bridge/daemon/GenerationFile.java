package io.batchweave.bridge.daemon;

import io.batchweave.bridge.memory.FileAccess;
import io.batchweave.bridge.memory.FutexWaiter;
import io.batchweave.bridge.memory.Mapping;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.memory.Protection;
import io.batchweave.bridge.memory.SharedFile;
import io.batchweave.bridge.ring.CloseReason;
import io.batchweave.bridge.ring.ControlDescriptor;
import io.batchweave.bridge.ring.GenerationHeader;
import io.batchweave.bridge.ring.RingStatus;
import io.batchweave.bridge.ring.StepRegion;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.nio.file.Files;
import java.nio.file.Path;

/** The control file of one generation, as its daemon writes it. Every change wakes the ranks. */
final class GenerationFile implements AutoCloseable {
  private final Path path;
  private final GenerationHeader header;
  private final Mapping mapping;
  private final MemorySegment control;
  private final FutexWaiter waker;

  /** Creates it, state NEW; its memory is really allocated, and nothing is left if that fails. */
  GenerationFile(NativeMemory memory, Path path, GenerationHeader header, FutexWaiter waker) {
    this.path = path;
    this.header = header;
    this.waker = waker;
    long length =
        ControlDescriptor.fileLength(header.descriptorCount(), header.coordinates().size());
    try (SharedFile file = memory.open(path, FileAccess.CREATE)) {
      file.allocateNew(length, DaemonDirectory.FILE_MODE);
      mapping = file.map(length, Protection.READ_WRITE);
    }
    control = mapping.segment();
    ControlDescriptor.writeHeader(control, header);
  }

  GenerationHeader header() {
    return header;
  }

  String name() {
    return String.valueOf(path.getFileName());
  }

  long lengthBytes() {
    return mapping.lengthBytes();
  }

  /** Steps may be taken from here on. */
  void open() {
    // SYNC POINT: generation-open
    ControlDescriptor.stateStoreRelease(control, ControlDescriptor.STATE_OPEN);
    wake();
  }

  /** Nothing may be taken any more; whoever took something before is seen by what follows. */
  void close(CloseReason reason) {
    // SYNC POINT: taken-or-closed
    ControlDescriptor.stateStoreRelease(control, ControlDescriptor.closedWord(reason));
    VarHandle.fullFence();
    wake();
  }

  void allocate(long n, StepRegion region) {
    ControlDescriptor.allocate(control, descriptor(n), n, region);
  }

  void publish(long n, int kind, int reason, String text) {
    if (kind == ControlDescriptor.KIND_FAILED) {
      ControlDescriptor.storeFailure(control, text);
    }
    ControlDescriptor.publishRelease(control, descriptor(n), n, kind, reason);
    wake();
  }

  void status(RingStatus status) {
    ControlDescriptor.storeStatus(control, status);
    wake();
  }

  private long descriptor(long n) {
    return ControlDescriptor.descriptorOffset(n, header.descriptorCount());
  }

  private void wake() {
    // SYNC POINT: wake
    ControlDescriptor.wakeIncrementRelease(control);
    waker.wakeAll(control, ControlDescriptor.WAKE_OFFSET);
  }

  /** Takes the name away; ranks that map it keep what they have. */
  void unlink() {
    try {
      Files.deleteIfExists(path);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() {
    mapping.close();
  }
}
