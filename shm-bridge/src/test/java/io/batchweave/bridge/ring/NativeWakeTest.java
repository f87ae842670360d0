package io.batchweave.bridge.ring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.batchweave.bridge.NativeProgram;
import io.batchweave.bridge.NativeProgram.Build;
import io.batchweave.bridge.memory.FutexWaiter;
import io.batchweave.bridge.memory.NativeMemory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * U39: Java and C wake each other by futex, and neither ever looks again by itself, so a lost
 * wake-up ends the test.
 */
class NativeWakeTest {
  private static final Path SHM = Path.of("/dev/shm");
  private static final long LOST_NS = TimeUnit.SECONDS.toNanos(20);

  @ParameterizedTest
  @ValueSource(ints = {0, 300})
  @Timeout(120)
  void shouldLoseNoWakeUpWhenJavaAndCTakeTurns(int spins) throws IOException {
    rounds(100_000, spins);
  }

  @Test
  @Tag("full")
  @Timeout(1_800)
  void shouldLoseNoWakeUpInTenMillionRounds() throws IOException {
    rounds(5_000_000, 0);
    rounds(5_000_000, 300);
  }

  private static void rounds(int rounds, int spins) throws IOException {
    assumeTrue(Files.isWritable(SHM), "no writable /dev/shm");
    Path program = NativeProgram.compile("test/wake_rounds.c", Build.C);
    Path folder = Files.createTempDirectory(SHM, "bw-wake-");
    Path first = Files.createDirectory(folder.resolve("ping"));
    Path second = Files.createDirectory(folder.resolve("pong"));
    Path output = folder.resolve("out");
    NativeMemory memory = NativeMemory.system();
    try (Doorbell ping = Doorbell.create(memory, first, 0x180);
        Doorbell pong = Doorbell.create(memory, second, 0x180);
        FutexWaiter waiter = memory.newWaiter()) {
      Process process =
          NativeProgram.start(
              List.of(
                  program.toString(),
                  first.toString(),
                  second.toString(),
                  String.valueOf(rounds),
                  String.valueOf(spins)),
              Map.of(),
              output);
      try {
        for (int round = 1; round <= rounds; round++) {
          ping.ring(waiter);
          await(pong, waiter, round, spins);
        }
        assertTrue(process.waitFor(30, TimeUnit.SECONDS), "the C side does not end");
        assertEquals(0, process.exitValue(), Files.readString(output));
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      } finally {
        process.destroyForcibly();
      }
    } finally {
      for (Path file :
          List.of(output, first.resolve("doorbell"), second.resolve("doorbell"), first, second)) {
        Files.deleteIfExists(file);
      }
      Files.delete(folder);
    }
  }

  private static void await(Doorbell doorbell, FutexWaiter waiter, int round, int spins) {
    for (int spin = 0; spin < spins && doorbell.wordLoadAcquire() < round; spin++) {
      Thread.onSpinWait();
    }
    for (int word = doorbell.wordLoadAcquire(); word < round; word = doorbell.wordLoadAcquire()) {
      long before = System.nanoTime();
      doorbell.await(waiter, word, LOST_NS);
      assertTrue(System.nanoTime() - before < LOST_NS, "a wake-up was lost");
    }
  }
}
