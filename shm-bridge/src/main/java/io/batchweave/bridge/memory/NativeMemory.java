package io.batchweave.bridge.memory;

import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What the project asks of the operating system. Thread-safe; what it hands out is not. */
public interface NativeMemory {
  /** The one of this machine. */
  static NativeMemory system() {
    return PosixNativeMemory.INSTANCE;
  }

  /**
   * Opens a file, never through a symbolic link, never inherited by a child.
   *
   * @param path the file
   * @param access how; new files have mode 0600
   * @throws NativeMemoryException when that fails; see {@link NativeMemoryException#isMissing} and
   *     {@link NativeMemoryException#isExisting}
   */
  SharedFile open(Path path, FileAccess access);

  /**
   * Device and inode of what lies at a path now.
   *
   * @param path the file, not followed if it is a symbolic link
   * @return null when nothing lies there
   */
  @Nullable FileIdentity identity(Path path);

  /**
   * Bytes that an unprivileged process can still allocate on the file system of a directory.
   *
   * @param directory any path on it
   */
  long availableBytes(Path directory);

  /** The page size of this machine, a power of two. */
  int pageSizeBytes();

  /** A waiter for one thread. */
  FutexWaiter newWaiter();

  /** One line for each feature that this machine lacks and that was left out so far. */
  List<String> notices();
}
