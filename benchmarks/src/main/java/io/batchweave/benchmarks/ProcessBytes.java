package io.batchweave.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** What a process has handed to the kernel, as the kernel counts it. */
public final class ProcessBytes {
  private static final String WRITTEN = "wchar: ";

  private ProcessBytes() {}

  /**
   * Bytes written so far by any system call, to files and sockets, sendfile included.
   *
   * @param pid a process of this user
   * @throws IOException if the kernel does not say
   */
  public static long written(long pid) throws IOException {
    return parse(Files.readString(Path.of("/proc/" + pid + "/io")));
  }

  static long parse(String text) throws IOException {
    for (String line : text.lines().toList()) {
      if (line.startsWith(WRITTEN)) {
        return Long.parseLong(line.substring(WRITTEN.length()));
      }
    }
    throw new IOException("the kernel does not say what a process has written: " + text);
  }
}
