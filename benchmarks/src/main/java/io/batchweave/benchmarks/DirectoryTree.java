package io.batchweave.benchmarks;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import org.jspecify.annotations.Nullable;

/** Directories that a benchmark made for itself. */
public final class DirectoryTree {
  private DirectoryTree() {}

  /**
   * Makes one that does not outlive this process, unless that is killed.
   *
   * @param parent where
   * @throws IOException if it cannot be made
   */
  public static Path make(Path parent) throws IOException {
    Path directory = Files.createTempDirectory(parent, "batchweave-bench-");
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(() -> {
              try {
                delete(directory);
              } catch (IOException e) {
                System.err.println("left behind: " + directory + " reason=" + e);
              }
            }));
    return directory;
  }

  /**
   * Deletes one with all that is in it.
   *
   * @param directory made by the caller; may be gone already
   * @throws IOException if something stays
   */
  public static void delete(Path directory) throws IOException {
    if (!Files.exists(directory)) {
      return;
    }
    Files.walkFileTree(
        directory,
        new SimpleFileVisitor<Path>() {
          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
              throws IOException {
            Files.delete(file);
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult postVisitDirectory(Path visited, @Nullable IOException failed)
              throws IOException {
            Files.delete(visited);
            return FileVisitResult.CONTINUE;
          }
        });
  }
}
