package io.batchweave.store.file;

import io.batchweave.BatchWeaveException;
import io.batchweave.Bytes;
import io.batchweave.store.ByteRange;
import io.batchweave.store.Keys;
import io.batchweave.store.Listing;
import io.batchweave.store.ObjectInfo;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Payload;
import io.batchweave.store.PutOutcome;
import io.batchweave.store.RangeReceiver;
import io.batchweave.store.StoreException;
import io.batchweave.store.StoreFailure;
import io.batchweave.store.StoreFuture;
import io.batchweave.store.StoreOperation;
import java.io.IOException;
import java.io.Serial;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Objects as files under a directory; the embedded default. See the package for the layout.
 *
 * <p>Requests run on an executor: passed in and left alone, or the store's own daemon threads,
 * which end with {@link #close()}. A request that has not begun when the store closes is failed
 * with {@link StoreFailure#CLOSED}; one that runs is waited for. Do not call {@code close} from a
 * callback.
 */
public final class FileObjectStore implements ObjectStore {
  /** Threads of a store that is given no executor. */
  public static final int DEFAULT_THREADS = 8;

  private static final int CHUNK_BYTES = 8 * 1024 * 1024;

  /** How long to let a {@link io.batchweave.store.StartingGate} hold a byte before asking again. */
  private static final long HELD_PAUSE_NS = 50_000;

  private static final int WRITE_CHUNK_BYTES = 256 * 1024;

  /** Whether writes survive a power failure. */
  public enum Durability {
    /** Files and directories are synced before a write is acknowledged. */
    SYNCED,
    /** The page cache is enough: survives the death of processes only. For tests. */
    PAGE_CACHE
  }

  /** A request, run on the executor. */
  private interface Work<T> {
    @Nullable T run(StoreFuture<T> future) throws IOException;
  }

  private final Path root;
  private final Durability durability;
  private final Queue<ByteBuffer> chunks = new ConcurrentLinkedQueue<>();
  private final Executor executor;
  private final @Nullable ExecutorService ownExecutor;
  private final Folders folders;
  private final Object lock = new Object();
  private @Nullable TempFolder tempFolder;
  private int running;
  private boolean closed;

  private FileObjectStore(
      Path root, Durability durability, Executor executor, @Nullable ExecutorService ownExecutor) {
    this.root = root;
    this.durability = durability;
    this.executor = executor;
    this.ownExecutor = ownExecutor;
    this.folders = new Folders(root, this::syncNames);
  }

  /**
   * Opens a store with threads of its own.
   *
   * @param root an existing directory, or one whose parent exists: the first write creates it
   * @throws BatchWeaveException of kind CONFIG if it is neither, or not readable
   */
  public static FileObjectStore open(Path root) {
    return open(root, Durability.SYNCED, DEFAULT_THREADS);
  }

  /**
   * Opens a store with threads of its own.
   *
   * @param root an existing directory, or one whose parent exists: the first write creates it
   * @param durability what an acknowledged write survives
   * @param threads how many requests run at once, at least 1
   * @throws BatchWeaveException of kind CONFIG if the root cannot be used
   */
  public static FileObjectStore open(Path root, Durability durability, int threads) {
    Path checked = requireRoot(root);
    ThreadFactory factory =
        Thread.ofPlatform().daemon().name("batchweave-file-store-", 0).factory();
    ExecutorService own = Executors.newFixedThreadPool(threads, factory);
    return new FileObjectStore(checked, durability, own, own);
  }

  /**
   * Opens a store on somebody else's threads.
   *
   * @param root an existing directory, or one whose parent exists: the first write creates it
   * @param durability what an acknowledged write survives
   * @param executor runs the requests, which block on the file system; outlives the store
   * @throws BatchWeaveException of kind CONFIG if the root cannot be used
   */
  public static FileObjectStore open(Path root, Durability durability, Executor executor) {
    return new FileObjectStore(requireRoot(root), durability, executor, null);
  }

  private static Path requireRoot(Path root) {
    Path path = root.toAbsolutePath().normalize();
    if (Files.isDirectory(path)) {
      if (!Files.isReadable(path) || !Files.isExecutable(path)) {
        throw config("the directory cannot be read: root=" + path + "; give this user access");
      }
      return path;
    }
    if (Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
      throw config("not a directory: root=" + path + "; name a directory");
    }
    if (tooLong(path)) {
      throw config(
          "the path is too long for its file system: root=" + path + "; use a shorter one");
    }
    Path parent = path.getParent();
    if (parent == null || !Files.isDirectory(parent)) {
      throw config(
          "neither the directory nor its parent exists: root="
              + path
              + "; correct the URL or create the parent");
    }
    return path;
  }

  private static boolean tooLong(Path path) {
    try {
      var _ = Files.readAttributes(path, BasicFileAttributes.class);
      return false;
    } catch (IOException e) {
      return FileFailures.isTooLong(e);
    }
  }

  private static BatchWeaveException config(String message) {
    return new BatchWeaveException(BatchWeaveException.Kind.CONFIG, message);
  }

  @Override
  public CompletableFuture<PutOutcome> putIfAbsent(String key, Payload body) {
    Path target = path(key);
    return submit(
        StoreOperation.PUT_IF_ABSENT,
        key,
        body.lengthBytes(),
        future -> {
          if (Files.isRegularFile(target)) {
            return PutOutcome.EXISTS;
          }
          TempFolder temps = tempFolder();
          List<Path> made = folders.make(target);
          Path temp = writeTemp(temps, body);
          try {
            folders.sync(made);
            return link(temp, target);
          } finally {
            Files.deleteIfExists(temp);
          }
        });
  }

  private PutOutcome link(Path temp, Path target) throws IOException {
    for (int attempt = 0; ; attempt++) {
      try {
        Files.createLink(target, temp);
      } catch (NoSuchFileException e) {
        if (attempt > 0) {
          throw e;
        }
        makeAgain(target);
        continue;
      } catch (FileAlreadyExistsException e) {
        if (!Files.isRegularFile(target)) {
          throw e;
        }
        if (links(temp) < 2) {
          return PutOutcome.EXISTS;
        }
        // Over NFS a repeated LINK finds its own success.
      } catch (UnsupportedOperationException e) {
        throw new IOException("Operation not permitted: no hard links", e);
      }
      syncEntry(target);
      return PutOutcome.CREATED;
    }
  }

  /** A folder of the object was removed under us. */
  private void makeAgain(Path target) throws IOException {
    folders.forget(target);
    folders.sync(folders.make(target));
  }

  private static int links(Path file) throws IOException {
    return Files.getAttribute(file, "unix:nlink") instanceof Integer count ? count : 1;
  }

  @Override
  public CompletableFuture<Void> put(String key, Payload body) {
    Path target = path(key);
    return submit(
        StoreOperation.PUT,
        key,
        body.lengthBytes(),
        future -> {
          TempFolder temps = tempFolder();
          List<Path> made = folders.make(target);
          Path temp = writeTemp(temps, body);
          try {
            folders.sync(made);
            rename(temp, target);
          } finally {
            Files.deleteIfExists(temp);
          }
          return null;
        });
  }

  private void rename(Path temp, Path target) throws IOException {
    for (int attempt = 0; ; attempt++) {
      if (Files.isDirectory(target)) {
        throw new FileAlreadyExistsException(target.toString());
      }
      try {
        Files.move(temp, target, StandardCopyOption.ATOMIC_MOVE);
        syncEntry(target);
        return;
      } catch (NoSuchFileException e) {
        if (attempt > 0) {
          throw e;
        }
        makeAgain(target);
      }
    }
  }

  private Path writeTemp(TempFolder temps, Payload body) throws IOException {
    Path temp = temps.nextFile();
    boolean written = false;
    ByteBuffer chunk = chunkFor(body.lengthBytes());
    try (FileChannel channel =
            FileChannel.open(temp, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        PayloadSource reader = new PayloadSource(body)) {
      boolean done;
      do {
        chunk.clear();
        done = reader.read(chunk);
        chunk.flip();
        if (!done && !chunk.hasRemaining()) {
          LockSupport.parkNanos(HELD_PAUSE_NS);
        }
        while (chunk.hasRemaining()) {
          channel.write(chunk);
        }
      } while (!done);
      if (durability == Durability.SYNCED) {
        channel.force(true);
      }
      written = true;
      return temp;
    } finally {
      if (chunk.isDirect()) {
        chunks.add(chunk);
      }
      if (!written) {
        Files.deleteIfExists(temp);
      }
    }
  }

  /** Direct, so that nothing is copied once more, and used again; as many as write at a time. */
  private ByteBuffer chunkFor(long lengthBytes) {
    if (lengthBytes < WRITE_CHUNK_BYTES) {
      return ByteBuffer.allocate((int) Math.max(1, lengthBytes));
    }
    ByteBuffer used = chunks.poll();
    return used != null ? used : ByteBuffer.allocateDirect(WRITE_CHUNK_BYTES);
  }

  /** The caller's bytes: if they cannot be read, that is not the file system's failure. */
  private static final class PayloadSource implements AutoCloseable {
    private final Payload.Reader reader;

    PayloadSource(Payload payload) throws PayloadException {
      try {
        this.reader = payload.open();
      } catch (IOException e) {
        throw new PayloadException(e);
      }
    }

    boolean read(ByteBuffer target) throws PayloadException {
      try {
        return reader.read(target);
      } catch (IOException e) {
        throw new PayloadException(e);
      }
    }

    @Override
    public void close() throws PayloadException {
      try {
        reader.close();
      } catch (IOException e) {
        throw new PayloadException(e);
      }
    }
  }

  private static final class PayloadException extends IOException {
    @Serial private static final long serialVersionUID = 1L;

    PayloadException(IOException cause) {
      super("the payload cannot be read: reason=" + cause, cause);
    }
  }

  private TempFolder tempFolder() throws IOException {
    synchronized (lock) {
      TempFolder folder = tempFolder;
      if (folder == null) {
        folders.makeRoot();
        folder = TempFolder.create(root);
        tempFolder = folder;
      }
      return folder;
    }
  }

  private void syncEntry(Path entry) throws IOException {
    Path folder = entry.getParent();
    if (folder != null) {
      syncNames(folder);
    }
  }

  private void syncNames(Path folder) throws IOException {
    if (durability == Durability.SYNCED) {
      try (FileChannel channel = FileChannel.open(folder, StandardOpenOption.READ)) {
        channel.force(true);
      }
    }
  }

  @Override
  public CompletableFuture<Bytes> get(String key, @Nullable ByteRange range, long maxLengthBytes) {
    Path source = path(key);
    return submit(
        StoreOperation.GET,
        key,
        0,
        future -> {
          try (FileChannel channel = openSource(StoreOperation.GET, key, source)) {
            long size = channel.size();
            long offset = range == null ? 0 : range.offset();
            long length = range == null ? size : Math.min(range.lengthBytes(), size - offset);
            if (range != null && length <= 0) {
              throw pastTheEnd(StoreOperation.GET, key, range, size);
            }
            if (length > Math.min(maxLengthBytes, Integer.MAX_VALUE - 8)) {
              throw new StoreException(
                  StoreFailure.TOO_LONG,
                  StoreOperation.GET,
                  key,
                  "longer than allowed: lengthBytes="
                      + length
                      + " maxLengthBytes="
                      + maxLengthBytes);
            }
            ByteBuffer bytes = ByteBuffer.allocate((int) length);
            while (bytes.hasRemaining()) {
              if (channel.read(bytes, offset + bytes.position()) < 0) {
                throw shortened(StoreOperation.GET, key);
              }
            }
            return Bytes.wrap(bytes.array());
          }
        });
  }

  /** Looks before it opens: opening a named pipe would wait for a writer, for ever. */
  private static FileChannel openSource(StoreOperation operation, String key, Path source)
      throws IOException {
    requireFile(operation, key, source);
    return FileChannel.open(source, StandardOpenOption.READ);
  }

  private static BasicFileAttributes requireFile(StoreOperation operation, String key, Path source)
      throws IOException {
    BasicFileAttributes attributes = Files.readAttributes(source, BasicFileAttributes.class);
    if (attributes.isDirectory()) {
      throw FileFailures.notFound(operation, key);
    }
    if (!attributes.isRegularFile()) {
      throw FileFailures.noFile(operation, key, source);
    }
    return attributes;
  }

  private static StoreException pastTheEnd(
      StoreOperation operation, String key, ByteRange range, long size) {
    return new StoreException(
        StoreFailure.RANGE,
        operation,
        key,
        "the range goes past the end: offset="
            + range.offset()
            + " lengthBytes="
            + range.lengthBytes()
            + " sizeBytes="
            + size);
  }

  private static StoreException shortened(StoreOperation operation, String key) {
    return new StoreException(
        StoreFailure.BAD_ANSWER, operation, key, "the file became shorter while it was read");
  }

  @Override
  public CompletableFuture<Long> getInto(
      String key, ByteRange range, Path file, long position, RangeReceiver receiver) {
    Path source = path(key);
    return submit(
        StoreOperation.GET_INTO,
        key,
        0,
        future -> {
          try (FileChannel from = openSource(StoreOperation.GET_INTO, key, source);
              FileChannel to = openTarget(key, file, position, range.lengthBytes())) {
            if (range.offset() + range.lengthBytes() > from.size()) {
              throw pastTheEnd(StoreOperation.GET_INTO, key, range, from.size());
            }
            to.position(position);
            copy(from, range, to, key, receiver, future);
            return range.lengthBytes();
          }
        });
  }

  private static FileChannel openTarget(String key, Path file, long position, long lengthBytes) {
    try {
      FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE);
      long size = channel.size();
      if (position < 0 || size - lengthBytes < position) {
        channel.close();
        throw new StoreException(
            StoreFailure.CONFIG,
            StoreOperation.GET_INTO,
            key,
            "the target file is too short: file="
                + file
                + " sizeBytes="
                + size
                + " position="
                + position
                + " lengthBytes="
                + lengthBytes);
      }
      return channel;
    } catch (IOException e) {
      throw new StoreException(
              StoreFailure.CONFIG,
              StoreOperation.GET_INTO,
              key,
              "the target file cannot be written: file=" + file + " reason=" + e)
          .withCause(e);
    }
  }

  private static void copy(
      FileChannel from,
      ByteRange range,
      FileChannel to,
      String key,
      RangeReceiver receiver,
      StoreFuture<Long> future)
      throws IOException {
    receiver.onBegin();
    long done = 0;
    while (done < range.lengthBytes()) {
      if (future.cancelRequested()) {
        throw new IOException("cancelled");
      }
      long length =
          from.transferTo(
              range.offset() + done, Math.min(CHUNK_BYTES, range.lengthBytes() - done), to);
      if (length <= 0) {
        throw shortened(StoreOperation.GET_INTO, key);
      }
      done += length;
      receiver.onWritten(done);
    }
  }

  @Override
  public CompletableFuture<ObjectInfo> head(String key) {
    Path source = path(key);
    return submit(
        StoreOperation.HEAD,
        key,
        0,
        future -> {
          BasicFileAttributes attributes = requireFile(StoreOperation.HEAD, key, source);
          String etag = attributes.fileKey() + "-" + attributes.lastModifiedTime().toInstant();
          return new ObjectInfo(attributes.size(), etag);
        });
  }

  @Override
  public CompletableFuture<Listing> list(String prefix, int limit) {
    Keys.requirePrefix(prefix);
    if (limit < 1) {
      throw new IllegalArgumentException("limit must be at least 1: limit=" + limit);
    }
    return submit(
        StoreOperation.LIST,
        prefix,
        0,
        future -> {
          if (!Files.isDirectory(root)) {
            throw FileFailures.absentRoot(root, StoreOperation.LIST, prefix);
          }
          return new FolderWalk(root, prefix, limit).list();
        });
  }

  @Override
  public CompletableFuture<List<String>> delete(List<String> keys) {
    List<String> all = List.copyOf(keys);
    List<Path> paths = all.stream().map(this::path).toList();
    return submit(
        StoreOperation.DELETE,
        all.isEmpty() ? "" : all.getFirst(),
        0,
        future -> {
          List<String> failed = new ArrayList<>();
          IOException last = null;
          for (int i = 0; i < paths.size(); i++) {
            try {
              if (!Files.isDirectory(paths.get(i))) {
                Files.deleteIfExists(paths.get(i));
              }
            } catch (IOException e) {
              failed.add(all.get(i));
              last = e;
            }
          }
          if (last != null && failed.size() == all.size()) {
            throw last;
          }
          return List.copyOf(failed);
        });
  }

  private Path path(String key) {
    return root.resolve(Keys.requireKey(key));
  }

  private <T> StoreFuture<T> submit(
      StoreOperation operation, String key, long lengthBytes, Work<T> work) {
    StoreFuture<T> future = new StoreFuture<>();
    Task<T> task = new Task<>(operation, key, lengthBytes, work, future);
    synchronized (lock) {
      if (closed) {
        return StoreFuture.failed(closedFailure(operation, key));
      }
      running++;
    }
    try {
      executor.execute(task);
    } catch (RejectedExecutionException e) {
      task.refuse();
    }
    return future;
  }

  private static StoreException closedFailure(StoreOperation operation, String key) {
    return new StoreException(StoreFailure.CLOSED, operation, key, "the store is closed");
  }

  private final class Task<T> implements Runnable {
    private final StoreOperation operation;
    private final String key;
    private final long lengthBytes;
    private final Work<T> work;
    private final StoreFuture<T> future;

    Task(
        StoreOperation operation,
        String key,
        long lengthBytes,
        Work<T> work,
        StoreFuture<T> future) {
      this.operation = operation;
      this.key = key;
      this.lengthBytes = lengthBytes;
      this.work = work;
      this.future = future;
    }

    @Override
    public void run() {
      boolean refused;
      synchronized (lock) {
        refused = closed;
      }
      if (refused) {
        refuse();
        return;
      }
      @Nullable T value = null;
      Throwable thrown = null;
      try {
        if (future.cancelRequested()) {
          throw new IOException("cancelled");
        }
        value = work.run(future);
      } catch (StoreException e) {
        thrown = e;
      } catch (PayloadException e) {
        thrown =
            new StoreException(StoreFailure.CONFIG, operation, key, "" + e.getMessage())
                .withCause(e);
      } catch (IOException e) {
        thrown = FileFailures.translate(root, operation, key, lengthBytes, e);
      } catch (RuntimeException | Error e) {
        thrown =
            new StoreException(StoreFailure.UNCLEAR, operation, key, "unexpected: " + e)
                .withCause(e);
      }
      end();
      if (thrown == null) {
        future.complete(value);
      } else {
        future.fail(thrown);
      }
    }

    /** Ends the request without having begun it. */
    void refuse() {
      end();
      future.fail(closedFailure(operation, key));
    }

    private void end() {
      synchronized (lock) {
        running--;
        lock.notifyAll();
      }
    }
  }

  @Override
  public String url() {
    return "file:" + root;
  }

  @Override
  public void close() {
    synchronized (lock) {
      closed = true;
    }
    if (ownExecutor != null) {
      ownExecutor.shutdown();
    }
    boolean interrupted = false;
    TempFolder folder;
    synchronized (lock) {
      while (running > 0) {
        try {
          lock.wait();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
      folder = tempFolder;
      tempFolder = null;
    }
    if (folder != null) {
      try {
        folder.close();
      } catch (IOException e) {
        // The next writer removes it.
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public String toString() {
    return url();
  }
}
