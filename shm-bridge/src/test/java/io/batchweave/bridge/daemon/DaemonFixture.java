package io.batchweave.bridge.daemon;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.Bytes;
import io.batchweave.bridge.handshake.AeronAttacher;
import io.batchweave.bridge.handshake.Hello;
import io.batchweave.bridge.memory.NativeMemory;
import io.batchweave.bridge.rank.RankClient;
import io.batchweave.bridge.rank.RankContext;
import io.batchweave.bridge.rank.RankIdentity;
import io.batchweave.bridge.ring.Coordinate;
import io.batchweave.format.Block;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.agrona.concurrent.SystemNanoClock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** A daemon directory in shared memory, a stream's root, and ranks. */
abstract class DaemonFixture {
  static final SystemNanoClock CLOCK = SystemNanoClock.INSTANCE;

  /** A deadline that a healthy test never comes near. */
  static final long SOON_NS = TimeUnit.SECONDS.toNanos(60);

  /** Longer than the daemon keeps a Hello before it answers NOT_YET. */
  private static final long NOT_YET_NS = TimeUnit.MILLISECONDS.toNanos(1_500);

  static final int SLICE_BYTES = 20_000;

  @TempDir Path root;
  Path directory;
  final Queue<String> lines = new ConcurrentLinkedQueue<>();

  @BeforeEach
  void create() throws IOException {
    directory = Files.createTempDirectory(Path.of("/dev/shm"), "bw-daemon-");
  }

  @AfterEach
  void delete() throws IOException {
    List<String> left = new ArrayList<>();
    try (var files = Files.list(directory)) {
      for (Path file : (Iterable<Path>) files::iterator) {
        left.add(String.valueOf(file.getFileName()));
        Files.delete(file);
      }
    }
    Files.delete(directory);
    left.removeIf(name -> name.endsWith(".reader"));
    left.remove("daemon.lock");
    assertEquals(List.of(), left, "what a daemon leaves behind");
    assertEquals(List.of(), lines.stream().filter(line -> line.contains("error")).toList());
  }

  String url() {
    return root.toString();
  }

  DaemonContext context() {
    return new DaemonContext()
        .streams(List.of(url()))
        .directory(directory)
        .memoryBytes(4 << 20)
        .reserveBytes(0)
        .lines(lines::add);
  }

  /** A rank whose moves the test makes one by one. */
  TestRank rank(String session, Hello.RankShape shape, long nextStep) {
    return new TestRank(new TestRank.Identity(directory, url(), "train", session, shape), nextStep);
  }

  TestRank rank(Hello.RankShape shape, long nextStep) {
    return rank("run-0", shape, nextStep);
  }

  /** A rank as users have it. */
  RankClient client(Hello.RankShape shape, long nextStep) {
    return client(directory, shape, nextStep);
  }

  /** The same at a directory of the test's own. */
  RankClient client(Path at, Hello.RankShape shape, long nextStep) {
    return RankClient.open(
        new RankContext()
            .directory(at)
            .identity(
                new RankIdentity(
                    url(),
                    "train",
                    "run-0",
                    new Coordinate(shape.dp(), shape.cp()),
                    shape.dpSize(),
                    shape.cpSize(),
                    shape.localReaders(),
                    shape.dp()))
            .nextStep(nextStep)
            .attacher(
                new AeronAttacher(
                    NativeMemory.system(), at, CLOCK, Bytes.EMPTY, Block.Takeover.SUPERSEDE)),
        SOON_NS);
  }

  static Hello.RankShape alone() {
    return new Hello.RankShape(0, 1, 0, 1, 1);
  }

  static Hello.RankShape of(int dp, int dpSize, int localReaders) {
    return new Hello.RankShape(dp, dpSize, 0, 1, localReaders);
  }

  static void await(String what, BooleanSupplier condition) {
    await(what, condition, SOON_NS);
  }

  static void await(String what, BooleanSupplier condition, long timeoutNs) {
    long deadlineNs = CLOCK.nanoTime() + timeoutNs;
    while (!condition.getAsBoolean()) {
      assertTrue(CLOCK.nanoTime() - deadlineNs < 0, "never happened: " + what);
      LockSupport.parkNanos(1_000_000);
    }
  }

  /**
   * Has a rank say Hello in vain until the daemon has answered why, which may take some time where
   * the machine is slow.
   */
  static BatchWeaveException awaitNotYet(TestRank rank, Bytes token, String why) {
    long deadlineNs = CLOCK.nanoTime() + SOON_NS;
    while (true) {
      BatchWeaveException late =
          assertThrows(BatchWeaveException.class, () -> rank.sayHello("", token, NOT_YET_NS));
      if (String.valueOf(late.getMessage()).contains(why)) {
        return late;
      }
      assertTrue(CLOCK.nanoTime() - deadlineNs < 0, late.getMessage());
    }
  }

  /** The value of a metric, by the start of its line. */
  static double metric(Daemon daemon, String name) {
    for (String line : daemon.metrics().lines().toList()) {
      if (line.startsWith(name + " ") || line.startsWith(name + "{")) {
        return Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1));
      }
    }
    throw new IllegalArgumentException("no such metric: " + name);
  }
}
