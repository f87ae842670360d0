package io.batchweave.bridge.memory;

import java.nio.file.Path;

/**
 * One open file descriptor. Its owner closes it; a mapping made from it lives on, and so does a
 * lock taken through it for as long as such a mapping does.
 */
public interface SharedFile extends AutoCloseable {
  /** The path under which it was opened. */
  Path path();

  /** Device and inode of the open file. */
  FileIdentity identity();

  /** Its length in bytes. */
  long lengthBytes();

  /**
   * Sets the length; new bytes are a hole and read as zero.
   *
   * @param lengthBytes the new length
   */
  void truncate(long lengthBytes);

  /**
   * Really allocates a range, extending the file if needed.
   *
   * @param offset first byte
   * @param lengthBytes number of bytes
   * @throws NativeMemoryException of kind LIMIT when there is no space
   */
  void allocate(long offset, long lengthBytes);

  /**
   * As {@link #allocate}, in huge pages as far as the range holds whole ones and the system gives
   * them: mapped by one entry each, they cost a rank far less to touch, to look through at release
   * and to map again.
   *
   * @param offset first byte
   * @param lengthBytes number of bytes
   * @return whether it got them; everything is allocated all the same
   * @throws NativeMemoryException of kind LIMIT when there is no space
   */
  boolean allocateHuge(long offset, long lengthBytes);

  /**
   * Gives a file just created its mode and all of its memory: a hole of a full file system would
   * kill whoever maps it. When that fails its name is taken away again.
   *
   * @param lengthBytes its length
   * @param mode for example 0600
   * @throws NativeMemoryException of kind LIMIT when there is no space
   */
  void allocateNew(long lengthBytes, int mode);

  /**
   * Sets the permission bits whatever the umask.
   *
   * @param mode for example 0600
   */
  void changeMode(int mode);

  /**
   * Maps the first bytes, shared with every other process, not inherited by forked children.
   *
   * @param lengthBytes at least 1
   * @param protection what the mapping allows
   */
  Mapping map(long lengthBytes, Protection protection);

  /**
   * Takes the exclusive lock of this open file without waiting.
   *
   * @return false when another open file of the same inode holds it
   */
  boolean tryLock();

  /** Whether another open file of the same inode holds the lock; never takes it. */
  boolean isLockedElsewhere();

  /** Closes the descriptor; further calls do nothing. */
  @Override
  void close();
}
