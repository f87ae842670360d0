package io.batchweave.bridge.memory;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Really allocates the memory of a ring at start, in huge pages until the system has no more, so
 * that no access to it can fail later. In steps, because past a cgroup's limit the kernel kills
 * instead of answering: before each step every limit and the reserve are looked at.
 */
public final class RingAllocation {
  /** Bytes of one step. */
  public static final long STEP_BYTES = 64L << 20;

  private final NativeMemory memory;
  private final Headroom headroom;
  private final long reserveBytes;

  /**
   * Creates one.
   *
   * @param memory the system
   * @param headroom what limits allocations
   * @param reserveBytes what stays free for others, such as NCCL's own shared memory
   */
  public RingAllocation(NativeMemory memory, Headroom headroom, long reserveBytes) {
    this.memory = memory;
    this.headroom = headroom;
    this.reserveBytes = reserveBytes;
  }

  /**
   * Creates a file with all of its memory.
   *
   * @param path the new file; nothing is left there on failure
   * @param lengthBytes its length
   * @param mode its permission bits
   * @throws BatchWeaveException of kind CONFIG with needed, available and the setting to change
   */
  public void create(Path path, long lengthBytes, int mode) {
    Path directory = directoryOf(path);
    checkRoom(directory, lengthBytes, lengthBytes);
    try (SharedFile file = memory.open(path, FileAccess.CREATE)) {
      try {
        file.changeMode(mode);
        long allocated = 0;
        boolean huge = true;
        while (allocated < lengthBytes) {
          long step = Math.min(STEP_BYTES, lengthBytes - allocated);
          checkRoom(directory, step, lengthBytes);
          if (huge) {
            huge = file.allocateHuge(allocated, step);
          } else {
            file.allocate(allocated, step);
          }
          allocated += step;
        }
      } catch (RuntimeException e) {
        delete(path);
        if (e instanceof NativeMemoryException refused && refused.kind() == Kind.LIMIT) {
          throw tooLittle(lengthBytes, headroom.tightest(directory), refused);
        }
        throw e;
      }
    }
  }

  private void checkRoom(Path directory, long stepBytes, long wholeBytes) {
    HeadroomLimit tightest = headroom.tightest(directory);
    if (tightest.availableBytes() - reserveBytes < stepBytes) {
      throw tooLittle(wholeBytes, tightest, null);
    }
  }

  private BatchWeaveException tooLittle(
      long neededBytes, HeadroomLimit tightest, @Nullable Throwable cause) {
    long available = Math.max(0, tightest.availableBytes() - reserveBytes);
    String message =
        "the ring does not fit: needed="
            + neededBytes
            + " available="
            + available
            + " reserve="
            + reserveBytes
            + " limit=\""
            + tightest.name()
            + "\"; lower --memory to what is available, lower --reserve, or make room there";
    return cause == null
        ? new BatchWeaveException(Kind.CONFIG, message)
        : new BatchWeaveException(Kind.CONFIG, message, cause);
  }

  private static Path directoryOf(Path path) {
    Path parent = path.toAbsolutePath().getParent();
    return parent == null ? path : parent;
  }

  private static void delete(Path path) {
    try {
      Files.deleteIfExists(path);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
