package io.batchweave.store.file;

import io.batchweave.store.Keys;
import io.batchweave.store.ListedObject;
import io.batchweave.store.Listing;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * One LIST over a directory tree: in directory order, tolerant of what comes and goes meanwhile.
 */
final class FolderWalk {
  private final Path root;
  private final String prefix;
  private final int limit;
  private final List<ListedObject> objects = new ArrayList<>();
  private final ArrayDeque<String> folders = new ArrayDeque<>();

  FolderWalk(Path root, String prefix, int limit) {
    this.root = root;
    this.prefix = prefix;
    this.limit = limit;
  }

  /** Walks; {@code truncated} only if there was an object more than the limit. */
  Listing list() throws IOException {
    folders.add(prefix.substring(0, prefix.lastIndexOf('/') + 1));
    while (!folders.isEmpty()) {
      if (!listFolder(folders.removeLast())) {
        return new Listing(objects, true);
      }
    }
    return new Listing(objects, false);
  }

  private boolean listFolder(String folder) throws IOException {
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(root.resolve(folder))) {
      for (Path entry : entries) {
        if (!visit(folder, entry)) {
          return false;
        }
      }
    } catch (NoSuchFileException | NotDirectoryException e) {
      // A group that does not exist is empty.
    } catch (DirectoryIteratorException e) {
      throw e.getCause();
    }
    return true;
  }

  private boolean visit(String folder, Path entry) throws IOException {
    Path name = entry.getFileName();
    if (name == null || name.toString().equals(TempFolder.NAME)) {
      return true;
    }
    String key = folder + name;
    if (!key.startsWith(prefix) && !prefix.startsWith(key + "/")) {
      return true;
    }
    BasicFileAttributes attributes;
    try {
      attributes = Files.readAttributes(entry, BasicFileAttributes.class);
    } catch (NoSuchFileException e) {
      return true;
    }
    if (attributes.isDirectory()) {
      folders.add(key + "/");
      return true;
    }
    if (!attributes.isRegularFile() || !Keys.isKey(key)) {
      return true;
    }
    if (objects.size() == limit) {
      return false;
    }
    objects.add(new ListedObject(key, attributes.size()));
    return true;
  }
}
