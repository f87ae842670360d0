package io.batchweave.store.file;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
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
  void shouldSyncTheNameOfTheRootWhenItMadeIt() throws IOException {
    folders.makeRoot();
    assertEquals(List.of(), synced);

    Folders fresh = new Folders(at("new"), synced::add);
    fresh.makeRoot();
    assertTrue(Files.isDirectory(at("new")));
    assertEquals(List.of(root), synced);
    fresh.makeRoot();
    assertEquals(List.of(root), synced);
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
  void shouldSyncWhatAnotherRequestMadeWhenThatHasNotDoneSoYet() throws IOException {
    List<Path> first = folders.make(at("data/aa/1"));
    List<Path> second = folders.make(at("data/aa/2"));
    assertEquals(List.of(at("data"), at("data/aa")), second);

    folders.sync(second);
    assertEquals(List.of(root, at("data")), synced);
    assertEquals(List.of(), folders.make(at("data/aa/3")));
    folders.sync(first);
  }

  @Test
  void shouldNotSyncWhatWasThere() throws IOException {
    Files.createDirectories(at("data/aa"));
    assertEquals(List.of(), folders.make(at("data/aa/1")));
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
