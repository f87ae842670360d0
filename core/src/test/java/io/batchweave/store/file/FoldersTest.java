package io.batchweave.store.file;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FoldersTest {
  @TempDir private Path root;

  private final List<Path> synced = new ArrayList<>();
  private Folders folders;

  @BeforeEach
  void create() {
    folders = new Folders(root, synced::add);
  }

  private Path at(String key) {
    return root.resolve(key);
  }

  @Test
  void shouldSyncTheNamesOfNewFoldersOnlyWhenItIsTime() throws IOException {
    List<Path> made = folders.make(at("data/aa/p/1"));
    assertTrue(Files.isDirectory(at("data/aa/p")));
    assertEquals(List.of(), synced);

    folders.sync(made);
    assertEquals(List.of(root, at("data"), at("data/aa")), synced);
    assertEquals(List.of(), folders.make(at("data/aa/p/2")));

    folders.sync(folders.make(at("data/bb/1")));
    assertEquals(List.of(root, at("data"), at("data/aa"), at("data")), synced);
  }

  @Test
  void shouldSyncTheNameOfTheRootWhoeverMadeIt() throws IOException {
    new Folders(at("new"), synced::add).makeRoot();
    assertTrue(Files.isDirectory(at("new")));
    assertEquals(List.of(root), synced);
    new Folders(at("new"), synced::add).makeRoot();
    assertEquals(List.of(root, root), synced);
  }

  @Test
  void shouldNotSyncTheNameOfAMountPoint() throws IOException {
    Path mounted = Path.of("/proc");
    assumeTrue(Files.isDirectory(mounted));
    new Folders(mounted, synced::add).makeRoot();
    assertEquals(List.of(), synced);
  }

  @Test
  void shouldUseARootInAFolderThatItMayNotRead() throws IOException {
    Folders.Sync denied =
        folder -> {
          throw new AccessDeniedException(folder.toString());
        };
    Folders fresh = new Folders(at("new"), denied);
    assertThrows(AccessDeniedException.class, fresh::makeRoot);
    assertThrows(AccessDeniedException.class, fresh::makeRoot);
    new Folders(at("new"), denied).makeRoot();
  }

  @Test
  void shouldMakeTheRootWhileOthersDo() throws Exception {
    int writers = 4;
    try (ExecutorService executor = Executors.newFixedThreadPool(writers)) {
      for (int round = 0; round < 500; round++) {
        Path contended = at("root-" + round);
        CyclicBarrier start = new CyclicBarrier(writers);
        List<Future<?>> results = new ArrayList<>();
        for (int writer = 0; writer < writers; writer++) {
          Folders own = new Folders(contended, folder -> {});
          results.add(
              executor.submit(() -> {
                start.await();
                own.makeRoot();
                return null;
              }));
        }
        for (Future<?> result : results) {
          result.get(20, TimeUnit.SECONDS);
        }
      }
    }
  }

  @Test
  void shouldRefuseARootThatIsAFile() throws IOException {
    Folders file = new Folders(Files.createFile(at("file")), synced::add);
    assertThrows(FileAlreadyExistsException.class, file::makeRoot);
  }

  @Test
  void shouldSyncTheNameOfTheRootAgainWhenThatFailed() throws IOException {
    Folders.Sync failsOnce =
        folder -> {
          synced.add(folder);
          if (synced.size() == 1) {
            throw new IOException("no");
          }
        };
    Folders fresh = new Folders(at("new"), failsOnce);
    assertThrows(IOException.class, fresh::makeRoot);
    fresh.makeRoot();
    assertEquals(List.of(root, root), synced);
  }

  @Test
  void shouldSyncWhatAnotherMadeWhichMayNotHaveDoneSoYet() throws IOException {
    List<Path> first = new Folders(root, synced::add).make(at("data/aa/1"));
    List<Path> second = folders.make(at("data/aa/2"));
    assertEquals(List.of(at("data"), at("data/aa")), second);

    folders.sync(second);
    assertEquals(List.of(root, at("data")), synced);
    assertEquals(List.of(), folders.make(at("data/aa/3")));
    folders.sync(first);
  }

  @Test
  void shouldSyncAgainWhatFailed() throws IOException {
    List<Path> made = folders.make(at("data/aa/1"));
    assertEquals(made, folders.make(at("data/aa/2")));
    assertEquals(List.of(), folders.make(at("1")));
  }

  @Test
  void shouldMakeFoldersAgainWhenTheyWereRemoved() throws IOException {
    folders.sync(folders.make(at("data/aa/1")));
    assertEquals(List.of(), folders.make(at("data/aa/2")));
    Files.delete(at("data/aa"));
    Files.delete(at("data"));
    synced.clear();

    folders.forget(at("data/aa/2"));
    folders.sync(folders.make(at("data/aa/2")));
    assertTrue(Files.isDirectory(at("data/aa")));
    assertEquals(List.of(root, at("data")), synced);
  }

  @Test
  void shouldRefuseAFolderWhereAnObjectIs() throws IOException {
    Files.createFile(at("data"));
    assertThrows(FileAlreadyExistsException.class, () -> folders.make(at("data/1")));
  }
}
