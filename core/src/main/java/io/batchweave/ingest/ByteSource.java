package io.batchweave.ingest;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import java.util.List;

/**
 * Where the input bytes come from. The seam between the cursor's state machine and the file system:
 * tests put bytes in memory behind it.
 */
public interface ByteSource extends AutoCloseable {
  /**
   * One input file as it is now.
   *
   * @param path names it, in messages and in the cursor: absolute, normalised
   * @param sizeBytes its length when it was listed; what is appended later waits for the next run
   */
  record SourceFile(String path, long sizeBytes) {}

  /** The files, sorted by path, each once. */
  List<SourceFile> files();

  /**
   * Reads a part of a file.
   *
   * @param path the file
   * @param offset first byte
   * @param target where the bytes go, from index 0
   * @param length how many, at least 1
   * @return how many were read; less than {@code length} only where the file ends
   * @throws BatchWeaveException CONFIG if the file is gone or cannot be read
   */
  int read(String path, long offset, byte[] target, int length);

  /**
   * Reads as much as the target takes of what a file had when it was listed.
   *
   * @param file the file
   * @param offset first byte
   * @param target where the bytes go, from index 0
   * @return how many were read
   * @throws BatchWeaveException CONFIG if the file is gone, cannot be read, or became shorter
   */
  default int readListed(SourceFile file, long offset, byte[] target) {
    int wanted = (int) Math.min(target.length, file.sizeBytes() - offset);
    int read = read(file.path(), offset, target, wanted);
    if (read < wanted) {
      throw new BatchWeaveException(
          Kind.CONFIG,
          "file became shorter while it was read: file="
              + file.path()
              + " sizeBytes="
              + file.sizeBytes()
              + " now="
              + (offset + read)
              + "; let files grow only, and run again");
    }
    return read;
  }

  @Override
  void close();
}
