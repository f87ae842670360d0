package io.batchweave.benchmarks;

import io.batchweave.Bytes;
import io.batchweave.store.ByteRange;
import io.batchweave.store.MeteredStore;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Payload;
import io.batchweave.store.RetryingStore;
import io.batchweave.store.Stores;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.SystemNanoClock;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * Question: what do the store's own layers cost a request: the store of files, and the decorators
 * that repeat and count? Objects of 4 KiB, and 1 MiB straight into a file, in memory, not synced,
 * so that no disk hides it. What an S3 client costs is in {@code store-to-ring} and {@code ingest}.
 *
 * <p>Ceiling: the same calls of the JDK on the caller's own thread, without a store: a file read, a
 * new file written and renamed, and a range copied from file to file.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class StorePathsBenchmark {
  private static final int SMALL_BYTES = 4 << 10;
  private static final int LARGE_BYTES = 1 << 20;
  private static final String SMALL = "small";
  private static final String LARGE = "large";

  /** What the setup opens. */
  private record Opened(Path folder, ObjectStore bare, ObjectStore decorated, Path target) {}

  private final Bytes small = Bytes.wrap(new byte[SMALL_BYTES]);
  private @Nullable Opened opened;

  /** Creates one. */
  public StorePathsBenchmark() {}

  static Bar bar() {
    return new JmhBar(
        "store-paths",
        "get, put and fetch of the store of files with its decorators, against the JDK's calls",
        StorePathsBenchmark.class,
        results ->
            Verdict.reported(
                "store-paths",
                results.score("get", ""),
                "us/get of 4 KiB",
                results.score("readFile", "")));
  }

  /** Makes the store and its objects. */
  @Setup
  public void open() throws IOException {
    Path folder = DirectoryTree.make(Path.of("/dev/shm"));
    String url = "file:" + folder.resolve("store") + "?sync=none";
    ObjectStore bare = Stores.open(url, Map.of());
    MeteredStore metered = new MeteredStore(Stores.open(url, Map.of()), SystemNanoClock.INSTANCE);
    Path target = Files.write(folder.resolve("target"), new byte[LARGE_BYTES]);
    opened = new Opened(folder, bare, new RetryingStore(metered, 1), target);
    bare.put(SMALL, Payload.of(small)).join();
    bare.put(LARGE, Payload.of(Bytes.wrap(new byte[LARGE_BYTES]))).join();
    Files.write(folder.resolve(SMALL), new byte[SMALL_BYTES]);
    Files.write(folder.resolve(LARGE), new byte[LARGE_BYTES]);
  }

  private Opened opened() {
    return Objects.requireNonNull(opened);
  }

  /** As everybody reads small objects. */
  @Benchmark
  public Bytes get() {
    return opened().decorated().get(SMALL, null, SMALL_BYTES).join();
  }

  /** The same without decorators. */
  @Benchmark
  public Bytes getBare() {
    return opened().bare().get(SMALL, null, SMALL_BYTES).join();
  }

  /** The ceiling of both. */
  @Benchmark
  public byte[] readFile() throws IOException {
    return Files.readAllBytes(opened().folder().resolve(SMALL));
  }

  /** Replaces an object. */
  @Benchmark
  public void put() {
    opened().decorated().put(SMALL, Payload.of(small)).join();
  }

  /** Its ceiling. */
  @Benchmark
  public void writeFile() throws IOException {
    Path folder = opened().folder();
    Path fresh = Files.write(folder.resolve("fresh"), small.toByteArray());
    Files.move(fresh, folder.resolve(SMALL), StandardCopyOption.ATOMIC_MOVE);
  }

  /** As the daemon fetches. */
  @Benchmark
  public long getInto() {
    Opened here = opened();
    return here.decorated().getInto(LARGE, new ByteRange(0, LARGE_BYTES), here.target(), 0).join();
  }

  /** Its ceiling. */
  @Benchmark
  public long copyFile() throws IOException {
    Opened here = opened();
    try (FileChannel from =
            FileChannel.open(here.folder().resolve(LARGE), StandardOpenOption.READ);
        FileChannel to = FileChannel.open(here.target(), StandardOpenOption.WRITE)) {
      return from.transferTo(0, LARGE_BYTES, to);
    }
  }

  /** Removes all. */
  @TearDown
  public void close() throws IOException {
    Opened here = opened();
    here.decorated().close();
    here.bare().close();
    DirectoryTree.delete(here.folder());
  }
}
