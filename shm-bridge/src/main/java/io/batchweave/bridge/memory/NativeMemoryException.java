package io.batchweave.bridge.memory;

import io.batchweave.BatchWeaveException;
import java.io.Serial;

/** A system call that failed; carries its errno so that callers never look at the text. */
public final class NativeMemoryException extends BatchWeaveException {
  @Serial private static final long serialVersionUID = 1L;

  private final int errno;

  NativeMemoryException(Kind kind, int errno, String message) {
    super(kind, message);
    this.errno = errno;
  }

  /** The error number of the call. */
  public int errno() {
    return errno;
  }

  /** Whether the file was not there. */
  public boolean isMissing() {
    return errno == Posix.ENOENT;
  }

  /** Whether the file was there although it must not be. */
  public boolean isExisting() {
    return errno == Posix.EEXIST;
  }
}
