package io.batchweave.bridge;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** A directory of its own in shared memory, removed with all that is in it. */
public final class SharedDirectory implements AutoCloseable {
  private final Path path;

  private SharedDirectory(Path path) {
    this.path = path;
  }

  /** Makes one, in /dev/shm where that exists. */
  public static SharedDirectory create() throws IOException {
    Path shm = Path.of("/dev/shm");
    return new SharedDirectory(
        Files.isWritable(shm)
            ? Files.createTempDirectory(shm, "batchweave-test-")
            : Files.createTempDirectory("batchweave-test-"));
  }

  /** Where it is. */
  public Path path() {
    return path;
  }

  @Override
  public void close() throws IOException {
    List<Path> files;
    try (Stream<Path> walk = Files.walk(path)) {
      files = walk.sorted(Comparator.reverseOrder()).toList();
    }
    for (Path file : files) {
      Files.deleteIfExists(file);
    }
  }
}
