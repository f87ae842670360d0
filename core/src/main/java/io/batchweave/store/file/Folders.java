package io.batchweave.store.file;

import java.io.IOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The root and the folders on the way from it to objects: made where they are missing, and on the
 * disk before an object in them is acknowledged. Those below the root in two steps, so that the
 * second comes after the object's bytes were synced: a journal that was written for those has the
 * new folders in it, and what is left is quick. Thread-safe.
 */
final class Folders {
  /** Brings the names in a folder to the disk. */
  interface Sync {
    void names(Path folder) throws IOException;
  }

  /** How often to try where another store that closes may take empty folders away meanwhile. */
  static final int ATTEMPTS = 8;

  private final Path root;
  private final Sync sync;

  /** Those that need not be looked for: they are there, and on the disk. */
  private final Set<Path> known = ConcurrentHashMap.newKeySet();

  /** Those made here whose names may not be on the disk yet. */
  private final Set<Path> fresh = ConcurrentHashMap.newKeySet();

  /** Those made here: whoever made them takes them away when nothing is in them at the end. */
  private final Set<Path> made = ConcurrentHashMap.newKeySet();

  Folders(Path root, Sync sync) {
    this.root = root;
    this.sync = sync;
  }

  /** Makes the root where it is missing; its name is on the disk then. */
  void makeRoot() throws IOException {
    if (!Files.isDirectory(root)) {
      fresh.add(root);
      Files.createDirectory(root);
      made.add(root);
    }
    if (fresh.contains(root)) {
      sync(List.of(root));
    }
  }

  /**
   * Makes the folders of an object.
   *
   * @param object below the root, which exists
   * @return for {@link #sync}: those that may not be on the disk, whoever made them
   */
  List<Path> make(Path object) throws IOException {
    for (int attempt = 1; ; attempt++) {
      try {
        return tryMake(object);
      } catch (NoSuchFileException | FileAlreadyExistsException e) {
        if (attempt == ATTEMPTS) {
          throw e;
        }
        forget(object);
      }
    }
  }

  private List<Path> tryMake(Path object) throws IOException {
    Deque<Path> way = new ArrayDeque<>();
    for (Path at = object.getParent();
        at != null && !at.equals(root) && !known.contains(at);
        at = at.getParent()) {
      way.addFirst(at);
    }
    for (Path folder : way) {
      if (!Files.isDirectory(folder)) {
        // Said before it is there: whoever finds it sees that too.
        fresh.add(folder);
        try {
          Files.createDirectory(folder);
          made.add(folder);
        } catch (FileAlreadyExistsException e) {
          if (!Files.isDirectory(folder)) {
            throw e;
          }
        }
      }
    }
    List<Path> unsynced = way.stream().filter(fresh::contains).toList();
    if (unsynced.isEmpty()) {
      known.addAll(way);
    }
    return unsynced;
  }

  /** Brings folders to the disk, from the root down. */
  void sync(List<Path> made) throws IOException {
    for (Path folder : made) {
      Path parent = folder.getParent();
      if (parent != null) {
        sync.names(parent);
      }
      fresh.remove(folder);
    }
  }

  /** Removes those made here that are empty. A store that still writes to one makes it again. */
  void removeEmpty() throws IOException {
    for (Path folder : made.stream().sorted(Comparator.reverseOrder()).toList()) {
      removeIfEmpty(folder);
    }
    made.clear();
  }

  /** Removes a folder unless something is in it or it is gone. */
  static void removeIfEmpty(Path folder) throws IOException {
    if (Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS)) {
      try {
        Files.deleteIfExists(folder);
      } catch (DirectoryNotEmptyException e) {
        // Others keep something there.
      }
    }
  }

  /** Somebody removed folders of an object: they are looked for again. */
  void forget(Path object) {
    for (Path at = object.getParent(); at != null && !at.equals(root); at = at.getParent()) {
      known.remove(at);
    }
  }
}
