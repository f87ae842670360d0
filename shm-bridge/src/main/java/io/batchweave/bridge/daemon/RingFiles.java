package io.batchweave.bridge.daemon;

import io.batchweave.bridge.memory.FileAccess;
import io.batchweave.bridge.memory.Headroom;
import io.batchweave.bridge.memory.Mapping;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.memory.Protection;
import io.batchweave.bridge.memory.RingAllocation;
import io.batchweave.bridge.memory.SharedFile;
import io.batchweave.bridge.ring.GenerationHeader;
import io.batchweave.bridge.ring.RingAbi;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The data files of all rings: allocated at start or taken over from the daemon before, mapped for
 * as long as the daemon runs.
 */
final class RingFiles implements AutoCloseable {
  /**
   * One ring's data.
   *
   * @param path its file
   * @param mapping the whole of it
   * @param header what control files say of it
   */
  record DataFile(Path path, Mapping mapping, GenerationHeader.RingFile header) {}

  private final List<DataFile> files = new ArrayList<>();

  /** Allocates those that are not there, all or none. */
  RingFiles(NativeMemory memory, DaemonDirectory directory, DaemonContext context) {
    try {
      RingAllocation allocation = allocation(context);
      for (int ring = 0; ring < context.rings(); ring++) {
        Path path = directory.file(RingAbi.dataName(ring));
        boolean isThere = memory.identity(path) != null;
        if (!isThere) {
          allocation.create(path, context.memoryBytes(), directory.fileMode());
        }
        try (SharedFile file = memory.open(path, FileAccess.READ_WRITE)) {
          if (isThere) {
            file.allocate(0, context.memoryBytes()); // nothing new, unless somebody punched it
          }
          GenerationHeader.RingFile header =
              new GenerationHeader.RingFile(
                  ring, context.memoryBytes(), file.identity().inode(), memory.pageSizeBytes());
          Mapping mapping = file.map(context.memoryBytes(), Protection.READ_WRITE);
          files.add(new DataFile(path, mapping, header));
        }
      }
    } catch (RuntimeException e) {
      close();
      throw e;
    }
  }

  /** Makes files with all of their memory, within what the settings leave to others. */
  static RingAllocation allocation(DaemonContext context) {
    return new RingAllocation(
        context.memory(), new Headroom(context.memory()), context.reserveBytes());
  }

  List<DataFile> files() {
    return files;
  }

  @Override
  public void close() {
    files.forEach(file -> file.mapping().close());
    files.clear();
  }
}
