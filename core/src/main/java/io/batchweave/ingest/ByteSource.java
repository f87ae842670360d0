package io.batchweave.ingest;

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
   * @throws io.batchweave.BatchWeaveException CONFIG if the file is gone or cannot be read
   */
  int read(String path, long offset, byte[] target, int length);

  @Override
  void close();
}
