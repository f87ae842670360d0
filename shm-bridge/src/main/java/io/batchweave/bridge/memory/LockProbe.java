package io.batchweave.bridge.memory;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Watches the lock of one file without ever taking it. Holds a descriptor of its own; a look costs
 * one system call and allocates nothing.
 */
public final class LockProbe implements AutoCloseable {
  private final SharedFile file;

  private LockProbe(SharedFile file) {
    this.file = file;
  }

  /**
   * Opens one.
   *
   * @param memory the system
   * @param path the file that carries the lock
   * @return null when there is no such file
   */
  public static @Nullable LockProbe open(NativeMemory memory, Path path) {
    try {
      return new LockProbe(memory.open(path, FileAccess.READ));
    } catch (NativeMemoryException e) {
      if (e.isMissing()) {
        return null;
      }
      throw e;
    }
  }

  /** Whether somebody holds the lock. */
  public boolean isLocked() {
    return file.isLockedElsewhere();
  }

  /** Which file it watches, whatever its name. */
  public FileIdentity identity() {
    return file.identity();
  }

  /** The watched file, for reading. */
  public SharedFile file() {
    return file;
  }

  /** Closes the descriptor; the lock is not touched. */
  @Override
  public void close() {
    file.close();
  }
}
