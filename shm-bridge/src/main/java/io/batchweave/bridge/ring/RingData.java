package io.batchweave.bridge.ring;

import io.batchweave.bridge.memory.FileAccess;
import io.batchweave.bridge.memory.FileIdentity;
import io.batchweave.bridge.memory.Mapping;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.memory.Protection;
import io.batchweave.bridge.memory.SharedFile;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/** The mapped data file of a ring. Its owner closes it. */
public final class RingData implements AutoCloseable {
  private final Path path;
  private final FileIdentity identity;
  private final Mapping mapping;

  private RingData(Path path, FileIdentity identity, Mapping mapping) {
    this.path = path;
    this.identity = identity;
    this.mapping = mapping;
  }

  /**
   * Maps a data file whole.
   *
   * @param memory the system
   * @param path the file
   * @param lengthBytes the length it must have
   * @param protection READ for a rank, READ_WRITE for the daemon
   */
  public static RingData open(
      NativeMemory memory, Path path, long lengthBytes, Protection protection) {
    FileAccess access = protection == Protection.READ ? FileAccess.READ : FileAccess.READ_WRITE;
    try (SharedFile file = memory.open(path, access)) {
      long length = file.lengthBytes();
      if (length != lengthBytes) {
        throw ControlDescriptor.corrupt(path.toString(), "wrong length", "length", length);
      }
      return new RingData(path, file.identity(), file.map(lengthBytes, protection));
    }
  }

  /** The file. */
  public Path path() {
    return path;
  }

  /** Which file it is, whatever its name. */
  public FileIdentity identity() {
    return identity;
  }

  /** The mapping of the whole file. */
  public Mapping mapping() {
    return mapping;
  }

  /** The bytes of a region. */
  public MemorySegment region(StepRegion region) {
    return mapping.segment().asSlice(region.offset(), region.lengthBytes());
  }

  /** Unmaps. */
  @Override
  public void close() {
    mapping.close();
  }
}
