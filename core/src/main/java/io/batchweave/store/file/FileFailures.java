package io.batchweave.store.file;

import io.batchweave.store.StoreException;
import io.batchweave.store.StoreFailure;
import io.batchweave.store.StoreOperation;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Turns what the file system says into {@link StoreFailure}s. */
final class FileFailures {
  /** A file system with less usable space than this is full, whatever the request. */
  private static final long FULL_BELOW_BYTES = 64 * 1024;

  private FileFailures() {}

  static StoreException translate(
      Path root, StoreOperation operation, String key, long lengthBytes, IOException thrown) {
    return classify(root, operation, key, lengthBytes, thrown).withCause(thrown);
  }

  private static StoreException classify(
      Path root, StoreOperation operation, String key, long lengthBytes, IOException thrown) {
    if (!Files.isDirectory(root)) {
      return absentRoot(root, operation, key);
    }
    if (thrown instanceof AccessDeniedException e) {
      return new StoreException(
          StoreFailure.ACCESS_DENIED,
          operation,
          key,
          "permission denied: path=" + e.getFile() + "; give this user read and write access");
    }
    if (isTooLong(thrown)) {
      return new StoreException(
          StoreFailure.CONFIG,
          operation,
          key,
          "the path is too long for this file system: root=" + root + "; use a shorter root");
    }
    if (reasonIs(thrown, "Too many open files")) {
      return new StoreException(
          StoreFailure.UNCLEAR,
          operation,
          key,
          "too many open files: root="
              + root
              + "; raise the limit (ulimit -n) or let this process open less");
    }
    if (operation.mutating()) {
      return classifyWrite(root, operation, key, lengthBytes, thrown);
    }
    if (thrown instanceof NoSuchFileException
        || thrown instanceof NotDirectoryException
        || reasonIs(thrown, "Not a directory", "Is a directory")) {
      return notFound(operation, key);
    }
    return new StoreException(
        StoreFailure.UNCLEAR, operation, key, "the file system refused: reason=" + thrown);
  }

  private static StoreException classifyWrite(
      Path root, StoreOperation operation, String key, long lengthBytes, IOException thrown) {
    if (isFull(root, lengthBytes, thrown)) {
      return new StoreException(
          StoreFailure.FULL,
          operation,
          key,
          "no space left: root="
              + root
              + " lengthBytes="
              + lengthBytes
              + "; free space or raise the quota");
    }
    if (reasonIs(thrown, "Read-only file system", "Operation not permitted")) {
      return new StoreException(
          StoreFailure.ACCESS_DENIED,
          operation,
          key,
          "the file system does not allow it: root="
              + root
              + " reason="
              + thrown.getMessage()
              + "; it must be writable and have hard links");
    }
    if (thrown instanceof FileAlreadyExistsException
        || thrown instanceof NotDirectoryException
        || reasonIs(thrown, "Not a directory", "Is a directory")) {
      return inTheWay(operation, key, pathOf(thrown, root.resolve(key)));
    }
    return new StoreException(
        StoreFailure.UNCLEAR, operation, key, "the file system refused: reason=" + thrown);
  }

  static StoreException absentRoot(Path root, StoreOperation operation, String key) {
    return new StoreException(
        StoreFailure.CONFIG,
        operation,
        key,
        "there is no such directory: root=" + root + "; correct the URL or create it");
  }

  static StoreException notFound(StoreOperation operation, String key) {
    return new StoreException(StoreFailure.NOT_FOUND, operation, key, "there is no such object");
  }

  static StoreException noFile(StoreOperation operation, String key, Path path) {
    return new StoreException(
        StoreFailure.CONFIG,
        operation,
        key,
        "not a regular file but a pipe, socket or device, which no store puts there: path="
            + path
            + "; remove it");
  }

  private static StoreException inTheWay(StoreOperation operation, String key, Path path) {
    boolean foreign =
        Files.exists(path, LinkOption.NOFOLLOW_LINKS)
            && !Files.isRegularFile(path)
            && !Files.isDirectory(path);
    return new StoreException(
        StoreFailure.CONFIG,
        operation,
        key,
        foreign
            ? "something that is neither object nor folder of this store is in the way: path="
                + path
                + "; remove it"
            : "not a possible name here: path="
                + path
                + "; a key must not be a folder of another key");
  }

  private static Path pathOf(IOException thrown, Path otherwise) {
    @Nullable String path = thrown instanceof FileSystemException e ? e.getFile() : null;
    return path == null ? otherwise : Path.of(path);
  }

  static boolean isTooLong(IOException thrown) {
    return reasonIs(thrown, "File name too long");
  }

  private static boolean isFull(Path root, long lengthBytes, IOException thrown) {
    if (reasonIs(thrown, "No space left on device", "Disk quota exceeded")) {
      return true;
    }
    try {
      return Files.getFileStore(root).getUsableSpace() < Math.max(lengthBytes, FULL_BELOW_BYTES);
    } catch (IOException e) {
      return false;
    }
  }

  /** The JDK keeps no errno: its text is all there is, so it only ever refines a failure. */
  private static boolean reasonIs(IOException thrown, String... reasons) {
    @Nullable String text =
        thrown instanceof FileSystemException e ? e.getReason() : thrown.getMessage();
    if (text == null) {
      return false;
    }
    for (String reason : reasons) {
      if (text.contains(reason)) {
        return true;
      }
    }
    return false;
  }
}
