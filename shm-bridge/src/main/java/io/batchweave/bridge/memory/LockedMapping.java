package io.batchweave.bridge.memory;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * The liveness lock: a kernel lock that lasts exactly as long as a mapping, so it goes with {@link
 * #close} or with the process, however that ends, and a forked child does not keep it.
 *
 * <p>Create the file, take its lock, check that path and descriptor are still one inode, map it,
 * close the descriptor: the mapping keeps the open file, and with it the lock.
 */
public final class LockedMapping implements AutoCloseable {
  private static final int MAX_ATTEMPTS = 16;

  private final Path path;
  private final Mapping mapping;

  private LockedMapping(Path path, Mapping mapping) {
    this.path = path;
    this.mapping = mapping;
  }

  /**
   * Creates a file that must not exist and holds its lock.
   *
   * @param memory the system
   * @param path the new file; nothing is left there when there is no space
   * @param lengthBytes its length, really allocated
   * @param mode its permission bits
   * @throws NativeMemoryException of kind LIMIT when there is no space
   */
  public static LockedMapping create(NativeMemory memory, Path path, long lengthBytes, int mode) {
    try (SharedFile file = memory.open(path, FileAccess.CREATE)) {
      file.allocateNew(lengthBytes, mode);
      LockedMapping locked =
          file.tryLock() && file.identity().equals(memory.identity(path))
              ? new LockedMapping(path, file.map(lengthBytes, Protection.READ_WRITE))
              : null;
      if (locked == null) {
        throw new BatchWeaveException(
            Kind.RETRYABLE, "another process took a file just created: path=" + path);
      }
      return locked;
    }
  }

  /**
   * Opens a file, creating it when absent, and holds its lock.
   *
   * @param memory the system
   * @param path the file
   * @param lengthBytes its length, really allocated
   * @param mode its permission bits
   * @return null when another process (or another mapping of this one) holds the lock
   */
  public static @Nullable LockedMapping open(
      NativeMemory memory, Path path, long lengthBytes, int mode) {
    for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      try (SharedFile file = memory.open(path, FileAccess.OPEN_OR_CREATE)) {
        if (!file.tryLock()) {
          return null;
        }
        if (file.identity().equals(memory.identity(path))) {
          file.changeMode(mode);
          if (file.lengthBytes() != lengthBytes) {
            file.truncate(lengthBytes);
          }
          file.allocate(0, lengthBytes);
          return new LockedMapping(path, file.map(lengthBytes, Protection.READ_WRITE));
        }
      }
    }
    throw new BatchWeaveException(
        Kind.RETRYABLE, "the file is replaced again and again: path=" + path);
  }

  /** The path of the locked file. */
  public Path path() {
    return path;
  }

  /** The mapped file, for loads and stores. */
  public Mapping mapping() {
    return mapping;
  }

  /** Unmaps and so gives the lock back; the file stays. */
  @Override
  public void close() {
    mapping.close();
  }
}
