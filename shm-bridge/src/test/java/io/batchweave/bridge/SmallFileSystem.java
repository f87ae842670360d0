package io.batchweave.bridge;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;

/** A tmpfs of a few megabytes, to be filled to the last page. Needs root. */
public final class SmallFileSystem implements AutoCloseable {
  private final Path path;

  private SmallFileSystem(Path path) {
    this.path = path;
  }

  /** Mounts one; skips the test where that is not allowed. */
  public static SmallFileSystem mount(Path folder, int megabytes) throws IOException {
    Path path = Files.createDirectory(folder.resolve("small"));
    assumeTrue(
        run("mount", "-t", "tmpfs", "-o", "size=" + megabytes + "m", "none", path.toString()),
        "mounting a tmpfs needs root");
    return new SmallFileSystem(path);
  }

  private static boolean run(String... command) throws IOException {
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    try {
      return process.waitFor() == 0;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException();
    }
  }

  public Path path() {
    return path;
  }

  /** Takes all the room that is left; {@link #makeRoom} gives it back. */
  public void fill() throws IOException {
    byte[] block = new byte[4096];
    try (OutputStream out = Files.newOutputStream(filler())) {
      while (true) {
        out.write(block);
      }
    } catch (IOException full) {
      assertTrue(Files.size(filler()) > 0, () -> "could not fill: " + full);
    }
  }

  public void makeRoom() throws IOException {
    Files.delete(filler());
  }

  private Path filler() {
    return path.resolve("filler");
  }

  @Override
  public void close() throws IOException {
    assertTrue(run("umount", path.toString()), "still in use: " + path);
  }
}
