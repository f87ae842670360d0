package io.batchweave.store.file;

import io.batchweave.store.StoreUrl;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The folders that a visit to a store will make, if that is a directory: those of its own keys, and
 * around them those that were not there before. Taken away when it is over, as far as they are
 * empty. A store leaves its folders in place, because another may be about to write there; one that
 * begins to at the very instant in which this is closed may see its first write fail.
 */
public final class NewFolders implements AutoCloseable {
  private final @Nullable Path own;
  private final List<Path> around;

  private NewFolders(@Nullable Path own, List<Path> around) {
    this.own = own;
    this.around = around;
  }

  /**
   * Looks what is there, before anything is written.
   *
   * @param url of the store, which is closed before this is
   * @param prefix what the keys begin with that nobody else has; ends with a slash
   */
  public static NewFolders before(String url, String prefix) {
    StoreUrl parsed = StoreUrl.parse(url);
    if (!parsed.scheme().equals("file")) {
      return new NewFolders(null, List.of());
    }
    Path root = Path.of(parsed.path());
    Path own = root.resolve(prefix);
    List<Path> around = new ArrayList<>();
    for (Path at = own.getParent(); at != null && !at.equals(root); at = at.getParent()) {
      around.add(at);
    }
    around.add(root.resolve(TempFolder.NAME));
    around.add(root);
    around.removeIf(folder -> Files.exists(folder));
    return new NewFolders(own, around);
  }

  @Override
  public void close() {
    if (own == null) {
      return;
    }
    try (Stream<Path> tree = Files.walk(own)) {
      tree.sorted(Comparator.reverseOrder()).forEach(NewFolders::removeIfEmpty);
    } catch (IOException | UncheckedIOException e) {
      // Never made.
    }
    around.forEach(NewFolders::removeIfEmpty);
  }

  private static void removeIfEmpty(Path folder) {
    if (Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS)) {
      try {
        Files.deleteIfExists(folder);
      } catch (IOException e) {
        // Others keep something there.
      }
    }
  }
}
