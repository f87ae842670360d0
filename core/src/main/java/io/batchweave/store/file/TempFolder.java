package io.batchweave.store.file;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * A store's own folder for files that have no name yet. Lives as long as its lock: a folder whose
 * lock can be taken belongs to nobody and is removed by the next writer.
 */
final class TempFolder implements AutoCloseable {
  /** Name under the root; no key can contain it. */
  static final String NAME = "~tmp";

  private static final String LOCK_NAME = "lock";

  /** Folders of this process: a record lock says nothing within the process that holds it. */
  private static final Set<Path> OWN = ConcurrentHashMap.newKeySet();

  private final Path folder;
  private final FileChannel lockChannel;
  private final AtomicLong nextNumber = new AtomicLong();

  private TempFolder(Path folder, FileChannel lockChannel) {
    this.folder = folder;
    this.lockChannel = lockChannel;
  }

  /** Creates a folder under {@code root}, which exists, and removes those of dead stores. */
  static TempFolder create(Path root) throws IOException {
    Path all = root.resolve(NAME);
    Folders.makeFolder(all);
    Path parent = all.toRealPath();
    removeDead(parent);
    while (true) {
      Path folder = newName(parent);
      TempFolder created = null;
      OWN.add(folder);
      try {
        created = tryCreate(folder);
      } finally {
        if (created == null) {
          OWN.remove(folder);
        }
      }
      if (created != null) {
        return created;
      }
    }
  }

  private static Path newName(Path parent) {
    return parent.resolve(UUID.randomUUID().toString());
  }

  private static @Nullable TempFolder tryCreate(Path folder) throws IOException {
    Files.createDirectory(folder);
    Path lockFile = folder.resolve(LOCK_NAME);
    FileChannel channel =
        FileChannel.open(lockFile, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    try {
      Object before = fileKey(lockFile);
      FileLock lock = channel.tryLock();
      if (lock != null && before != null && Objects.equals(before, fileKey(lockFile))) {
        return new TempFolder(folder, channel);
      }
    } catch (NoSuchFileException e) {
      // A writer that started at the same moment took the folder for a dead one: try another.
    } catch (IOException | RuntimeException e) {
      channel.close();
      throw e;
    }
    channel.close();
    return null;
  }

  private static @Nullable Object fileKey(Path file) throws IOException {
    return Files.readAttributes(
            file, java.nio.file.attribute.BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
        .fileKey();
  }

  /** As far as that goes: no write fails because something of another's cannot be removed. */
  private static void removeDead(Path parent) {
    try (DirectoryStream<Path> folders = Files.newDirectoryStream(parent)) {
      for (Path folder : folders) {
        if (!OWN.contains(folder)) {
          removeIfDead(parent, folder);
        }
      }
    } catch (IOException | DirectoryIteratorException e) {
      // The next writer tries again.
    }
  }

  private static void removeIfDead(Path parent, Path folder) {
    Path lockFile = folder.resolve(LOCK_NAME);
    if (!Files.isRegularFile(lockFile)) {
      // Just being created or removed by another, or no store's; left there it costs nothing.
      return;
    }
    try {
      Path dead = newName(parent);
      try (FileChannel channel = FileChannel.open(lockFile, StandardOpenOption.WRITE)) {
        if (channel.tryLock() == null) {
          return;
        }
        // Whoever has just made it finds that it is gone, and the lock need not be held, nor its
        // file be open, while it is removed.
        Files.move(folder, dead, StandardCopyOption.ATOMIC_MOVE);
      }
      removeAll(dead);
    } catch (IOException e) {
      // Removed by another, or not ours to remove.
    } catch (OverlappingFileLockException e) {
      // Being looked at by another store of this process.
    }
  }

  /** Nobody may have the lock open: over NFS the file would only get another name, and stay. */
  private static void removeAll(Path folder) throws IOException {
    try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
      for (Path file : files) {
        if (!file.endsWith(LOCK_NAME)) {
          Files.deleteIfExists(file);
        }
      }
    } catch (DirectoryIteratorException e) {
      throw e.getCause();
    }
    Files.deleteIfExists(folder.resolve(LOCK_NAME));
    Files.deleteIfExists(folder);
  }

  /** A path nobody else uses. */
  Path nextFile() {
    return folder.resolve(Long.toString(nextNumber.getAndIncrement()));
  }

  @Override
  public void close() throws IOException {
    try {
      lockChannel.close();
      removeAll(folder);
    } finally {
      OWN.remove(folder);
    }
  }
}
