package io.batchweave.store.file;

import static io.batchweave.store.Outcomes.await;
import static io.batchweave.store.Outcomes.bytes;
import static io.batchweave.store.Outcomes.failure;
import static io.batchweave.store.Outcomes.payload;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.store.ByteRange;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.ObjectStoreContract;
import io.batchweave.store.PutOutcome;
import io.batchweave.store.RangeReceiver;
import io.batchweave.store.StoreException;
import io.batchweave.store.StoreFailure;
import io.batchweave.store.StoreOperation;
import io.batchweave.store.file.FileObjectStore.Durability;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.file.FileStore;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class FileObjectStoreTest extends ObjectStoreContract {
  @TempDir Path directory;

  @Override
  protected ObjectStore open() {
    try {
      return FileObjectStore.open(Files.createDirectories(directory.resolve("root")));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void shouldHideAndRemoveItsTemporaryFiles() throws IOException {
    Path root = directory.resolve("root");
    await(store.put("a", payload(1, 10)));
    assertTrue(Files.isDirectory(root.resolve("~tmp")));
    assertEquals(1, await(store.list("", 10)).objects().size());
    store.close();
    try (Stream<Path> left = Files.list(root.resolve("~tmp"))) {
      assertEquals(0, left.count());
    }
  }

  /** Nobody else can tell whether a folder that it found will stay. */
  @Test
  void shouldLeaveFoldersWhereTheyAre() throws IOException {
    Path root = directory.resolve("new");
    try (ObjectStore made = FileObjectStore.open(root)) {
      await(made.put("some/folder/a", payload(1, 10)));
      await(made.delete(List.of("some/folder/a")));
    }
    try (Stream<Path> left = Files.walk(root)) {
      assertEquals(
          Set.of("", "some", "some/folder", "~tmp"),
          left.map(path -> root.relativize(path).toString()).collect(Collectors.toSet()));
    }
  }

  @Test
  void shouldNotMakeTheRootAlongWithItsTemporaryFolder() {
    Path root = directory.resolve("absent");
    assertThrows(NoSuchFileException.class, () -> TempFolder.create(root).close());
    assertFalse(Files.exists(root));
  }

  /** What cannot be cleaned up is no reason not to write. */
  @Test
  void shouldWriteBesideWhatItCannotRemove() throws IOException {
    Path temps = Files.createDirectories(directory.resolve("root/~tmp"));
    Path kept = Files.createDirectories(temps.resolve("dead/folder/kept"));
    Files.write(temps.resolve("dead/lock"), new byte[0]);
    await(store.put("a", payload(1, 10)));
    assertFalse(Files.exists(kept), "it was taken for a dead one");
    try (Stream<Path> left = Files.walk(temps)) {
      assertEquals(1, left.filter(path -> path.endsWith("folder/kept")).count());
    }
  }

  /** What a killed writer left is removed by the next one; a living writer's folder is not. */
  @Test
  void shouldRemoveOnlyTheFoldersOfDeadWriters() throws IOException {
    Path temps = Files.createDirectories(directory.resolve("root/~tmp"));
    Path dead = Files.createDirectories(temps.resolve("00000000-dead"));
    Files.write(dead.resolve("lock"), new byte[0]);
    Files.write(dead.resolve("17"), bytes(1, 100));
    await(store.put("a", payload(1, 10)));
    assertFalse(Files.exists(dead));
    try (ObjectStore second = open()) {
      await(second.put("b", payload(1, 10)));
      try (Stream<Path> folders = Files.list(temps)) {
        assertEquals(2, folders.count());
      }
      await(store.put("c", payload(2, 10)));
    }
  }

  /** The lock of a writer in another process is respected. */
  @Test
  void shouldKeepTheFolderOfAWriterInAnotherProcess() throws Exception {
    Path other = Files.createDirectories(directory.resolve("root/~tmp/other"));
    Path lock = Files.write(other.resolve("lock"), new byte[0]);
    Path script = Files.writeString(directory.resolve("Hold.java"), HOLD);
    Process holder =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                script.toString(),
                lock.toString())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    try {
      assertEquals('L', holder.getInputStream().read());
      await(store.put("a", payload(1, 10)));
      assertTrue(Files.exists(lock));
    } finally {
      holder.destroyForcibly();
      assertTrue(holder.waitFor(20, TimeUnit.SECONDS));
    }
    try (ObjectStore next = open()) {
      await(next.put("b", payload(1, 10)));
      assertFalse(Files.exists(lock));
    }
  }

  private static final String HOLD =
      """
      public class Hold {
        public static void main(String[] arguments) throws Exception {
          var channel =
              java.nio.channels.FileChannel.open(
                  java.nio.file.Path.of(arguments[0]), java.nio.file.StandardOpenOption.WRITE);
          var lock = channel.lock();
          System.out.write('L');
          System.out.flush();
          System.in.read();
          lock.release();
        }
      }
      """;

  @Test
  void shouldSkipWhatSomebodyElsePutThere() throws IOException {
    await(store.put("group/a", payload(1, 10)));
    Files.write(directory.resolve("root/group/not a key"), bytes(1, 10));
    Files.write(directory.resolve("root/group/b~"), bytes(1, 10));
    assertEquals(1, await(store.list("", 10)).objects().size());
  }

  /** Nobody fails because another store closes at the same moment. */
  @Test
  void shouldWriteWhileOtherStoresOpenAndClose() throws Exception {
    Path root = Files.createDirectories(directory.resolve("shared"));
    List<Thread> writers = new ArrayList<>();
    Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
    for (int writer = 0; writer < 4; writer++) {
      String name = "group/deep/" + writer;
      Runnable rounds =
          () -> {
            for (int round = 0; round < 500; round++) {
              try (ObjectStore own = FileObjectStore.open(root, Durability.PAGE_CACHE, 1)) {
                await(own.putIfAbsent(name, payload(1, 10)));
                await(own.delete(List.of(name)));
              }
            }
          };
      Thread thread = new Thread(rounds);
      thread.setUncaughtExceptionHandler((ignored, thrown) -> failures.add(thrown));
      writers.add(thread);
      thread.start();
    }
    for (Thread writer : writers) {
      writer.join();
    }
    assertEquals(List.of(), List.copyOf(failures));
  }

  /** Opening a named pipe waits for its other end: nobody opens that. */
  @Test
  void shouldRefuseAPipeInThePlaceOfAnObject() throws Exception {
    await(store.put("group/a", payload(1, 10)));
    Path target = Files.write(directory.resolve("target"), new byte[10]);
    try (Pipe pipe = new Pipe(directory.resolve("root/group/pipe"))) {
      List<CompletableFuture<?>> requests =
          List.of(
              store.get("group/pipe", null, 10),
              store.get("group/pipe", new ByteRange(0, 5), 10),
              store.getInto("group/pipe", new ByteRange(0, 5), target, 0, RangeReceiver.NOBODY),
              store.head("group/pipe"),
              store.putIfAbsent("group/pipe", payload(1, 10)));
      for (CompletableFuture<?> request : requests) {
        StoreException refused = failure(request);
        assertEquals(StoreFailure.CONFIG, refused.failure(), refused.getMessage());
        assertTrue(refused.detail().contains("path=" + pipe.path()), refused.detail());
        assertTrue(refused.detail().contains("remove it"), refused.detail());
        assertFalse(refused.detail().contains("Exception"), refused.detail());
      }
      assertEquals(1, await(store.list("group/", 10)).objects().size());
    }
  }

  @Test
  void shouldLeaveAPipeAmongItsTemporaryFilesAlone() throws Exception {
    Files.createDirectories(directory.resolve("root/~tmp/other"));
    try (Pipe pipe = new Pipe(directory.resolve("root/~tmp/other/lock"))) {
      await(store.put("a", payload(1, 10)));
      assertTrue(Files.exists(pipe.path()));
    }
  }

  /** Closing it lets go whoever waits for its other end. */
  private record Pipe(Path path) implements AutoCloseable {
    Pipe {
      try {
        Process made = new ProcessBuilder("mkfifo", path.toString()).inheritIO().start();
        assertEquals(0, made.onExit().join().exitValue());
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    @Override
    public void close() throws IOException {
      new RandomAccessFile(path.toFile(), "rw").close();
    }
  }

  @Test
  void shouldSayWhatIsInTheWayOfAnObject() throws IOException {
    Path folder = Files.createDirectories(directory.resolve("root/a"));
    StoreException refused = failure(store.putIfAbsent("a", payload(1, 10)));
    assertEquals(StoreFailure.CONFIG, refused.failure());
    assertTrue(refused.detail().contains("path=" + folder + ";"), refused.detail());
    assertTrue(refused.detail().contains("must not be a folder of another"), refused.detail());
    assertFalse(refused.detail().contains("remove it"), refused.detail());
    assertFalse(refused.detail().contains("Exception"), refused.detail());
  }

  @Test
  void shouldSayThatTheProcessHasTooManyOpenFiles() {
    IOException thrown = new FileSystemException("root/a", null, "Too many open files");
    for (StoreOperation operation : List.of(StoreOperation.GET, StoreOperation.PUT)) {
      StoreException refused = FileFailures.translate(directory, operation, "a", 0, thrown);
      assertEquals(StoreFailure.UNCLEAR, refused.failure());
      assertTrue(refused.detail().contains("ulimit -n"), refused.detail());
    }
  }

  @Test
  void shouldSayThatAPathIsTooLong() throws IOException {
    String part = "x".repeat(200);
    Path deep = directory;
    while (deep.toString().length() < 3_800) {
      deep = Files.createDirectory(deep.resolve(part));
    }
    String key = String.join("/", part, part);
    try (ObjectStore here = FileObjectStore.open(deep)) {
      for (StoreException refused :
          List.of(
              failure(here.get(key, null, 1)),
              failure(here.head(key)),
              failure(here.putIfAbsent(key, payload(1, 1))))) {
        assertEquals(StoreFailure.CONFIG, refused.failure(), refused.getMessage());
        assertTrue(refused.detail().contains("too long"), refused.detail());
        assertTrue(refused.detail().contains("shorter root"), refused.detail());
      }
    }
    BatchWeaveException root =
        assertThrows(
            BatchWeaveException.class,
            () -> FileObjectStore.open(directory.resolve("x".repeat(300))));
    assertTrue(root.getMessage().contains("too long"), root.getMessage());
  }

  @Test
  void shouldMakeFoldersAgainWhenTheyWereRemoved() throws IOException {
    await(store.putIfAbsent("group/a", payload(1, 10)));
    Files.delete(directory.resolve("root/group/a"));
    Files.delete(directory.resolve("root/group"));
    assertEquals(PutOutcome.CREATED, await(store.putIfAbsent("group/a", payload(1, 10))));
    Files.delete(directory.resolve("root/group/a"));
    Files.delete(directory.resolve("root/group"));
    await(store.put("group/b", payload(1, 10)));
    assertEquals(10, await(store.head("group/b")).sizeBytes());
  }

  @Test
  void shouldRefuseAKeyBelowAKey() {
    await(store.put("a", payload(1, 10)));
    assertEquals(StoreFailure.CONFIG, failure(store.put("a/b", payload(1, 10))).failure());
    assertEquals(StoreFailure.CONFIG, failure(store.putIfAbsent("a/b", payload(1, 1))).failure());
    await(store.put("c/d", payload(1, 10)));
    assertEquals(StoreFailure.CONFIG, failure(store.put("c", payload(1, 10))).failure());
    assertEquals(StoreFailure.CONFIG, failure(store.putIfAbsent("c", payload(1, 1))).failure());
    assertEquals(StoreFailure.NOT_FOUND, failure(store.get("a/b", null, 1)).failure());
  }

  @Test
  void shouldNameAnAbsentRoot() {
    BatchWeaveException noParent =
        assertThrows(
            BatchWeaveException.class,
            () -> FileObjectStore.open(directory.resolve("no/such/root")));
    assertEquals(BatchWeaveException.Kind.CONFIG, noParent.kind());
    assertTrue(noParent.getMessage().contains("root=" + directory), noParent.getMessage());
    Path absent = directory.resolve("absent");
    try (ObjectStore created = FileObjectStore.open(absent)) {
      StoreException noRoot = failure(created.get("stream", null, 1));
      assertEquals(StoreFailure.CONFIG, noRoot.failure(), noRoot.getMessage());
      assertEquals(StoreFailure.CONFIG, failure(created.list("", 1)).failure());
      assertFalse(Files.exists(absent), "reading creates nothing");
      assertEquals(PutOutcome.CREATED, await(created.putIfAbsent("stream", payload(1, 1))));
    }
  }

  @Test
  void shouldRefuseARootThatIsAFile() throws IOException {
    Path file = Files.write(directory.resolve("file"), new byte[1]);
    BatchWeaveException refused =
        assertThrows(BatchWeaveException.class, () -> FileObjectStore.open(file));
    assertTrue(refused.getMessage().contains("not a directory"), refused.getMessage());
  }

  @Test
  void shouldLeaveAnExecutorThatIsNotItsOwnRunning() throws Exception {
    try (ExecutorService executor = Executors.newSingleThreadExecutor()) {
      ObjectStore borrowed =
          FileObjectStore.open(directory.resolve("root"), Durability.PAGE_CACHE, executor);
      await(borrowed.put("a", payload(1, 10)));
      borrowed.close();
      assertEquals(7, executor.submit(() -> 7).get(20, TimeUnit.SECONDS));
      try (ObjectStore again =
          FileObjectStore.open(directory.resolve("root"), Durability.PAGE_CACHE, executor)) {
        assertArrayEquals(bytes(1, 10), await(again.get("a", null, 10)).toByteArray());
      }
    }
  }

  /** A full file system is FULL, leaves no part of an object and no temporary file. */
  @Test
  void shouldSayFullWhenTheFileSystemIs() throws Exception {
    Path small = Files.createDirectories(directory.resolve("small"));
    Process mount =
        new ProcessBuilder("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", small.toString())
            .redirectErrorStream(true)
            .start();
    assumeTrue(
        mount.waitFor(20, TimeUnit.SECONDS) && mount.exitValue() == 0,
        "mounting a small tmpfs needs root");
    try (ObjectStore full = FileObjectStore.open(small)) {
      FileStore space = Files.getFileStore(small);
      assertTrue(space.getTotalSpace() <= 1 << 20);
      await(full.put("fits", payload(1, 1000)));
      StoreException put = failure(full.put("too-big", payload(1, 2 << 20)));
      assertEquals(StoreFailure.FULL, put.failure(), put.getMessage());
      StoreException create = failure(full.putIfAbsent("too-big", payload(1, 2 << 20)));
      assertEquals(StoreFailure.FULL, create.failure(), create.getMessage());
      assertEquals(1, await(full.list("", 10)).objects().size());
      await(full.put("fits-too", payload(1, 500_000)));
      await(full.delete(List.of("fits", "fits-too")));
    } finally {
      assertTrue(
          new ProcessBuilder("umount", small.toString()).start().waitFor(20, TimeUnit.SECONDS));
    }
  }

  @Test
  void shouldOpenByUrl() {
    try (ObjectStore byUrl =
        io.batchweave.store.Stores.open(
            "file:" + directory.resolve("root") + "?sync=none&threads=2", Map.of())) {
      await(byUrl.put("a", payload(1, 10)));
      assertEquals("file:" + directory.resolve("root"), byUrl.url());
      assertEquals(10, await(store.head("a")).sizeBytes());
    }
  }
}
