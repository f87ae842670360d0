package io.batchweave.store.file;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The root and the folders on the way from it to objects: made where they are missing, and on the
 * disk before an object in them is acknowledged. That a folder is found says nothing of its name:
 * whoever made it, maybe another process, may be about to sync that. So each name is synced here
 * once, whoever made it. Those below the root in two steps, so that the second comes after the
 * object's bytes were synced: a journal that was written for those has the new folders in it, and
 * what is left is quick. Thread-safe.
 */
final class Folders {
  /** Brings the names in a folder to the disk. */
  interface Sync {
    void names(Path folder) throws IOException;
  }

  private static final String DEVICE = "unix:dev";

  private final Path root;
  private final Sync sync;

  /** Those that need not be looked for: they are there, and their names on the disk. */
  private final Set<Path> known = ConcurrentHashMap.newKeySet();

  private boolean madeRoot;

  Folders(Path root, Sync sync) {
    this.root = root;
    this.sync = sync;
  }

  /**
   * Makes the root where it is missing; its name is on the disk then. (The name of one that was
   * found, in a folder that may not be read, is left to whoever made it.)
   */
  synchronized void makeRoot() throws IOException {
    if (!Files.isDirectory(root)) {
      madeRoot = true;
      makeFolder(root);
    }
    Path parent = root.getParent();
    if (parent == null || isMountPoint(parent)) {
      return;
    }
    try {
      sync.names(parent);
    } catch (AccessDeniedException e) {
      if (madeRoot) {
        throw e;
      }
    }
  }

  /** Nobody makes the name of one, and what is above it may know no sync. */
  private boolean isMountPoint(Path parent) throws IOException {
    return !Files.getAttribute(root, DEVICE).equals(Files.getAttribute(parent, DEVICE));
  }

  /** Makes a folder unless it is there, maybe since another made it at the same moment. */
  static void makeFolder(Path folder) throws IOException {
    try {
      Files.createDirectory(folder);
    } catch (FileAlreadyExistsException e) {
      if (!Files.isDirectory(folder)) {
        throw e;
      }
    }
  }

  /**
   * Makes the folders of an object.
   *
   * @param object below the root, which exists
   * @return for {@link #sync}: those whose names may not be on the disk, whoever made them
   */
  List<Path> make(Path object) throws IOException {
    Deque<Path> way = new ArrayDeque<>();
    for (Path at = object.getParent();
        at != null && !at.equals(root) && !known.contains(at);
        at = at.getParent()) {
      way.addFirst(at);
    }
    for (Path folder : way) {
      if (!Files.isDirectory(folder)) {
        makeFolder(folder);
      }
    }
    return List.copyOf(way);
  }

  /** Brings the names of folders to the disk, from the root down. */
  void sync(List<Path> made) throws IOException {
    for (Path folder : made) {
      Path parent = folder.getParent();
      if (parent != null) {
        sync.names(parent);
      }
      known.add(folder);
    }
  }

  /** Somebody removed folders of an object: they are looked for again. */
  void forget(Path object) {
    for (Path at = object.getParent(); at != null && !at.equals(root); at = at.getParent()) {
      known.remove(at);
    }
  }
}
