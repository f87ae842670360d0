package io.batchweave.bridge.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.bridge.handshake.HandshakeServer;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.agrona.concurrent.SystemEpochClock;
import org.agrona.concurrent.SystemNanoClock;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Every call of the binding has an error of its own: what, which file, what to do. */
class NativeErrorsTest {
  private final NativeMemory memory = NativeMemory.system();

  @TempDir Path folder;

  private static void assertFails(Kind kind, String part, Runnable call) {
    NativeMemoryException error = assertThrows(NativeMemoryException.class, call::run);
    assertEquals(kind, error.kind(), error::getMessage);
    assertTrue(String.valueOf(error.getMessage()).contains(part), error::getMessage);
  }

  @Test
  void shouldTellWhatCannotBeOpened() throws IOException {
    Path missing = folder.resolve("missing");
    assertFails(Kind.RETRYABLE, "ENOENT", () -> memory.open(missing, FileAccess.READ));
    assertFails(Kind.CONFIG, "path=" + folder, () -> memory.open(folder, FileAccess.READ_WRITE));
    Path link = Files.createSymbolicLink(folder.resolve("link"), folder.resolve("target"));
    Files.writeString(folder.resolve("target"), "x");
    assertFails(Kind.CONFIG, "symbolic link", () -> memory.open(link, FileAccess.READ));
    assertNull(memory.identity(missing));
  }

  @Test
  void shouldTellWhatCannotBeAllocatedMappedOrLocked() throws IOException {
    Path path = Files.write(folder.resolve("file"), new byte[100]);
    try (SharedFile readOnly = memory.open(path, FileAccess.READ)) {
      assertFails(Kind.CONFIG, "cannot allocate", () -> readOnly.allocate(0, 4096));
      assertFails(Kind.CONFIG, "cannot set the length", () -> readOnly.truncate(4096));
      assertFails(Kind.CONFIG, "cannot lock", readOnly::tryLock);
      assertFails(Kind.CONFIG, "cannot map", () -> readOnly.map(100, Protection.READ_WRITE));
      assertFails(Kind.CONFIG, "cannot map", () -> readOnly.map(0, Protection.READ));
      assertEquals(100, readOnly.lengthBytes());
    }
  }

  @Test
  void shouldTellWhichFileSystemCannotBeLookedAt() {
    assertFails(
        Kind.RETRYABLE, "file system", () -> memory.availableBytes(folder.resolve("missing")));
    assertTrue(memory.availableBytes(folder) > 0);
  }

  @Test
  void shouldTranslateEveryErrorNumberIntoWhatToDo() {
    for (int errno :
        List.of(Posix.ENOSPC, Posix.ENOMEM, Posix.EDQUOT, Posix.EMFILE, Posix.ENFILE)) {
      assertEquals(Kind.LIMIT, Posix.failure("x", folder, -errno).kind());
    }
    for (int errno : List.of(Posix.EAGAIN, Posix.EINTR, Posix.ENOENT)) {
      assertEquals(Kind.RETRYABLE, Posix.failure("x", folder, -errno).kind());
    }
    for (int errno : List.of(Posix.EPERM, Posix.EACCES, Posix.EINVAL, Posix.ELOOP, 99)) {
      assertEquals(Kind.CONFIG, Posix.failure("x", folder, -errno).kind());
    }
    assertTrue(said(99).contains("errno 99"), said(99));
    assertTrue(said(Posix.EMFILE).contains("ulimit -n"), said(Posix.EMFILE));
    assertTrue(said(Posix.ENAMETOOLONG).contains("shorter"), said(Posix.ENAMETOOLONG));
    assertTrue(said(Posix.ENOTDIR).contains("no directory"), said(Posix.ENOTDIR));
  }

  /** Nor does a daemon without descriptors ask for room for its files. */
  @Test
  void shouldNotTakeTooManyOpenFilesForAFullFileSystem() {
    NativeMemory withoutDescriptors =
        (NativeMemory)
            Proxy.newProxyInstance(
                NativeMemory.class.getClassLoader(),
                new Class<?>[] {NativeMemory.class},
                (self, method, arguments) -> {
                  if (method.getName().equals("open")) {
                    throw Posix.failure("open", folder, -Posix.EMFILE);
                  }
                  return method.invoke(memory, arguments);
                });
    assertFails(
        Kind.LIMIT,
        "ulimit -n",
        () ->
            new HandshakeServer(
                    withoutDescriptors,
                    folder.resolve("aeron"),
                    SystemNanoClock.INSTANCE,
                    SystemEpochClock.INSTANCE,
                    error -> {},
                    request -> {})
                .close());
  }

  private String said(int errno) {
    return String.valueOf(Posix.failure("x", folder, -errno).getMessage());
  }

  @Test
  void shouldSayInOneLineEachWhatThisMachineLacks() {
    assertTrue(memory.notices().stream().allMatch(line -> line.lines().count() == 1));
    assertEquals(memory.notices().size(), memory.notices().stream().distinct().count());
  }

  @Test
  void shouldMakeADirectoryOfThisUserAlone() throws IOException {
    Path directory = folder.resolve("a/b");
    SharedDirectory.create(directory, null);
    assertEquals(0700, SharedDirectory.fileMode(directory));
    assertEquals(0700, SharedDirectory.fileMode(folder.resolve("a")));
    assertEquals(0600, SharedDirectory.fileModeForRanks(directory));
    Files.setAttribute(directory, "unix:mode", 0770);
    assertEquals(0660, SharedDirectory.fileModeForRanks(directory));
  }

  @Test
  void shouldTrustNoDirectoryThatOthersMayChange() throws IOException {
    Path directory = Files.createDirectory(folder.resolve("d"));
    Files.setAttribute(directory, "unix:mode", 0777);
    refuse("mode=", () -> SharedDirectory.fileModeForRanks(directory));
    Files.setAttribute(directory, "unix:mode", 0700);
    Path link = Files.createSymbolicLink(folder.resolve("link"), directory);
    refuse("not a directory to trust", () -> SharedDirectory.fileModeForRanks(link));
    refuse("not this user's own", () -> create(link, null));
    refuse("--group=no-such-group", () -> create(directory, "no-such-group"));
  }

  private static void create(Path directory, @Nullable String group) {
    try {
      SharedDirectory.create(directory, group);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static void refuse(String part, Runnable call) {
    BatchWeaveException error = assertThrows(BatchWeaveException.class, call::run);
    assertEquals(Kind.CONFIG, error.kind());
    assertTrue(String.valueOf(error.getMessage()).contains(part), error::getMessage);
  }
}
