package io.batchweave.bridge.memory;

/** How a shared file is opened; never through a symbolic link, never inherited by a child. */
public enum FileAccess {
  /** An existing file, for reading and for lock probes. */
  READ,
  /** An existing file, for reading and writing. */
  READ_WRITE,
  /** A file that must not exist yet. */
  CREATE,
  /** A file for reading and writing, created when absent. */
  OPEN_OR_CREATE
}
