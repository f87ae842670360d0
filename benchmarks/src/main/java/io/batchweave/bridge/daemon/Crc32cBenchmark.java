package io.batchweave.bridge.daemon;

import io.batchweave.benchmarks.Bar;
import io.batchweave.benchmarks.JmhBar;
import io.batchweave.benchmarks.Verdict;
import io.batchweave.bridge.memory.FileAccess;
import io.batchweave.bridge.memory.MappedChecksum;
import io.batchweave.bridge.memory.Mapping;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.memory.Protection;
import io.batchweave.bridge.memory.SharedFile;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * Question: how fast is the checksum of a mapped region, one that lies in the cache and one that
 * does not?
 *
 * <p>Ceiling: reading the same bytes once, eight at a time.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class Crc32cBenchmark {
  private static final String JUDGED = "67108864";

  /** Bytes of the region. */
  @Param({"1048576", JUDGED})
  public int lengthBytes = 1;

  private final MappedChecksum checksum = new MappedChecksum();
  private @Nullable Mapping mapped;

  /** Creates one. */
  public Crc32cBenchmark() {}

  /** The bar. */
  public static Bar bar() {
    return new JmhBar(
        "crc32c",
        "crc32c of a mapped region of 64 MiB against reading it",
        Crc32cBenchmark.class,
        results ->
            Verdict.reported(
                "crc32c",
                results.score("crc32c", JUDGED).map(Crc32cBenchmark::gigabytesPerSecond),
                "GB/s",
                results.score("read", JUDGED).map(Crc32cBenchmark::gigabytesPerSecond)));
  }

  private static double gigabytesPerSecond(double micros) {
    return Integer.parseInt(JUDGED) / micros / 1e3;
  }

  /** Maps a region of shared memory and fills it. */
  @Setup
  public void map() throws IOException {
    mapped = mapShared(lengthBytes);
    segment().fill((byte) 0x5a);
  }

  /** Shared memory without a name; the caller unmaps it. */
  static Mapping mapShared(long lengthBytes) throws IOException {
    Path file = Files.createTempFile(Path.of("/dev/shm"), "batchweave-bench-", "");
    try (SharedFile opened = NativeMemory.system().open(file, FileAccess.READ_WRITE)) {
      opened.allocate(0, lengthBytes);
      return opened.map(lengthBytes, Protection.READ_WRITE);
    } finally {
      Files.delete(file);
    }
  }

  private MemorySegment segment() {
    return Objects.requireNonNull(mapped).segment();
  }

  /** As after each fetch. */
  @Benchmark
  public int crc32c() {
    return checksum.crc32c(segment(), 0, lengthBytes);
  }

  /** The ceiling. */
  @Benchmark
  public long read() {
    return sum(segment());
  }

  /**
   * Reads all bytes, eight at a time.
   *
   * @param segment a multiple of 32 long
   */
  static long sum(MemorySegment segment) {
    long a = 0;
    long b = 0;
    long c = 0;
    long d = 0;
    int lengthBytes = Math.toIntExact(segment.byteSize());
    for (int i = 0; i < lengthBytes; i += 32) {
      a += segment.get(ValueLayout.JAVA_LONG, i);
      b += segment.get(ValueLayout.JAVA_LONG, i + 8L);
      c += segment.get(ValueLayout.JAVA_LONG, i + 16L);
      d += segment.get(ValueLayout.JAVA_LONG, i + 24L);
    }
    return a + b + c + d;
  }

  /** Gives the memory back. */
  @TearDown
  public void unmap() {
    Objects.requireNonNull(mapped).close();
  }
}
