package io.batchweave.bridge.memory;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A shared mapping of a file. The owner closes it; views of {@link #segment} cannot, and fail with
 * IllegalStateException afterwards. If the file is cut short by somebody, access fails with an
 * InternalError: that peer must be treated as dead.
 */
public final class Mapping implements AutoCloseable {
  private final Arena arena;
  private final MemorySegment segment;
  private final AtomicBoolean closed = new AtomicBoolean();

  // Restricted: a segment over memory that this class mapped itself and unmaps once; close() closes
  // the arena.
  @SuppressWarnings({"restricted", "MustBeClosedChecker"})
  Mapping(long address, long lengthBytes, Protection protection) {
    this.arena = Arena.ofShared();
    MemorySegment mapped =
        MemorySegment.ofAddress(address)
            .reinterpret(lengthBytes, arena, ignored -> unmap(address, lengthBytes));
    this.segment = protection == Protection.READ ? mapped.asReadOnly() : mapped;
    NativeMemoryAccount.MAPPINGS.incrementAndGet();
    NativeMemoryAccount.MAPPED_BYTES.addAndGet(lengthBytes);
  }

  private static void unmap(long address, long lengthBytes) {
    int result = Posix.unmap(address, lengthBytes);
    if (result < 0) {
      throw Posix.failure("unmap", "0x" + Long.toHexString(address), result);
    }
    NativeMemoryAccount.MAPPINGS.decrementAndGet();
    NativeMemoryAccount.MAPPED_BYTES.addAndGet(-lengthBytes);
  }

  /** The mapped bytes. */
  public MemorySegment segment() {
    return segment;
  }

  /** Their number. */
  public long lengthBytes() {
    return segment.byteSize();
  }

  /** Unmaps; a lock that only this mapping kept is gone. Further calls do nothing. */
  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      arena.close();
    }
  }
}
