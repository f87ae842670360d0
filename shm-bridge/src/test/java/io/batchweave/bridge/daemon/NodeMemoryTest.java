package io.batchweave.bridge.daemon;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.batchweave.Bytes;
import io.batchweave.bridge.NativeProgram;
import io.batchweave.bridge.NativeProgram.Build;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.client.Operator;
import io.batchweave.client.OperatorContext;
import io.batchweave.client.Producer;
import io.batchweave.client.ProducerContext;
import io.batchweave.client.Streams;
import io.batchweave.format.Grid;
import io.batchweave.produce.TgbBuilder;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Payload;
import io.batchweave.store.Stores;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a node takes of memory: as much as it is told to, whatever the steps are. */
class NodeMemoryTest extends DaemonFixture {
  private static final long MIB = 1 << 20;
  private static final String HEAP = "-Xmx48m";

  /** Heap, and what a small JVM takes beside it. */
  private static final long DAEMON_BYTES = 112 * MIB;

  private static final long RANK_BYTES = 4 * MIB;

  /** Files of the handshake, room for a restart, control and reader files. */
  private static final long OTHER_FILES_BYTES = 32 * MIB;

  /** U30, shortened: a rank sleeps over every step until the daemon has fetched what it may. */
  @Test
  @Timeout(240)
  void shouldStayWithinItsMemoryWhileARankSleepsOverEveryStep() throws Exception {
    sleepOver(new long[] {1, 32, 5, 32, 2, 32, 1}, 60);
  }

  /** U30: up to 2 GiB. */
  @Tag("full")
  @Test
  @Timeout(1_800)
  void shouldStayWithinItsMemoryWithSlicesOfTwoGibibytes() throws Exception {
    long needed = 3 * 2_048 * MIB;
    long available = status("/proc/meminfo", "MemAvailable:");
    assumeTrue(available > needed + 1_024 * MIB, () -> "not run: memory available=" + available);
    sleepOver(new long[] {1, 2_048, 64, 1_024, 2_048, 7, 300, 2_048, 1, 33}, 600);
  }

  private void sleepOver(long[] sizesMib, int seconds) throws Exception {
    write(sizesMib);
    long largest = LongStream.of(sizesMib).max().orElseThrow() * MIB;
    int all = sizesMib.length;
    long ring = 3 * (largest + NativeMemory.system().pageSizeBytes()); // each with its table
    Path program = NativeProgram.compile("test/slow_rank.c", Build.C);
    try (ServedDaemon daemon =
        ServedDaemon.start(directory, url(), ring, HEAP)
            .awaitServing(TimeUnit.SECONDS.toNanos(seconds))) {
      Process rank =
          new ProcessBuilder(
                  program.toString(), directory.toString(), url(), Integer.toString(seconds))
              .redirectError(ProcessBuilder.Redirect.INHERIT)
              .start();
      try (Peak ofDaemon = new Peak(daemon.pid());
          Peak ofRank = new Peak(rank.pid());
          BufferedReader out = rank.inputReader(StandardCharsets.UTF_8);
          Writer in = rank.outputWriter(StandardCharsets.UTF_8)) {
        for (int step = 0; step < all; step++) {
          assertEquals("step=" + step, out.readLine());
          await(
              "all that fits",
              () ->
                  daemon.metric("batchweave_ring_blocked_bytes") > 0
                      || daemon.metric("batchweave_steps_published_total") == all,
              TimeUnit.SECONDS.toNanos(seconds));
          assertTrue(directoryBytes() <= ring + OTHER_FILES_BYTES, "files=" + directoryBytes());
          in.write("\n");
          in.flush();
        }
        assertEquals("END_OF_STREAM", out.readLine());
        assertTrue(rank.waitFor(60, TimeUnit.SECONDS));
        assertEquals(0, rank.exitValue());
        assertTrue(ofRank.bytes() <= RANK_BYTES, "rank=" + ofRank.bytes());
        assertTrue(ofDaemon.bytes() <= DAEMON_BYTES, "daemon=" + ofDaemon.bytes());
      } finally {
        rank.destroyForcibly();
      }
    }
  }

  /** Steps of zeros, each with its number in front, without holding one in memory. */
  private void write(long[] sizesMib) throws IOException {
    try (ObjectStore store = Stores.open(url(), Map.of())) {
      Grid grid = new Grid(1, 1);
      Streams.create(store, grid);
      try (Producer producer = Producer.open(new ProducerContext().store(store).producerId("p"))) {
        for (int step = 0; step < sizesMib.length; step++) {
          Path file = Files.createTempFile(root, "slice", "");
          try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            long length = sizesMib[step] * MIB;
            channel.write(ByteBuffer.wrap(new byte[] {(byte) (step + 1)}), 0);
            channel.write(ByteBuffer.wrap(new byte[] {(byte) (step + 1)}), length - 1);
            Payload slice = Payload.ofFile(file, 0, length);
            producer.add(new TgbBuilder(grid).slice(0, 0, slice, 1, 1, 1).build(), Bytes.EMPTY);
            producer.flush(TimeUnit.SECONDS.toNanos(300));
          }
          Files.delete(file);
        }
      }
      try (Operator operator = Operator.open(new OperatorContext().store(store))) {
        operator.seal();
      }
    }
  }

  private long directoryBytes() throws IOException {
    try (Stream<Path> files = Files.walk(directory)) {
      return files.mapToLong(NodeMemoryTest::lengthOf).sum();
    }
  }

  private static long lengthOf(Path file) {
    try {
      return Files.isRegularFile(file) ? Files.size(file) : 0;
    } catch (NoSuchFileException gone) {
      return 0;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A line of a file of /proc, in bytes; 0 when its process is gone. */
  private static long status(String file, String name) {
    try {
      for (String line : Files.readAllLines(Path.of(file))) {
        if (line.startsWith(name)) {
          return 1_024 * Long.parseLong(line.substring(name.length(), line.length() - 2).strip());
        }
      }
      return 0;
    } catch (IOException gone) {
      return 0;
    }
  }

  /** The most that a process had of memory of its own: what it shares is in the directory. */
  private static final class Peak implements AutoCloseable {
    private final String file;
    private final Thread sampler;
    private volatile long bytes;
    private volatile boolean ended;

    Peak(long pid) {
      file = "/proc/" + pid + "/status";
      sampler =
          Thread.ofPlatform()
              .daemon()
              .start(() -> {
                while (!ended) {
                  bytes = Math.max(bytes, status(file, "RssAnon:"));
                  LockSupport.parkNanos(5_000_000);
                }
              });
    }

    long bytes() {
      assertTrue(bytes > 0, "never seen");
      return bytes;
    }

    @Override
    public void close() {
      ended = true;
      try {
        sampler.join();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }
  }
}
