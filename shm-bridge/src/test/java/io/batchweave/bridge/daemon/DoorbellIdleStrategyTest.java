package io.batchweave.bridge.daemon;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.batchweave.bridge.memory.NativeMemory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How long the daemon sleeps; here it only says so. */
class DoorbellIdleStrategyTest {
  private static final int CYCLES = 100;

  private final List<Long> sleepsMicros = new ArrayList<>();
  private boolean quiet;
  private DoorbellIdleStrategy idle;

  @TempDir Path directory;

  @BeforeEach
  void create() {
    idle =
        new DoorbellIdleStrategy(NativeMemory.system(), directory, 0600) {
          @Override
          void await(long timeoutNs) {
            sleepsMicros.add(timeoutNs / 1_000);
          }
        };
    idle.quietWhile(() -> quiet);
  }

  @AfterEach
  void close() {
    idle.close();
  }

  /** The first of them are spent looking again at once. */
  private void idleOn() {
    sleepsMicros.clear();
    for (int cycle = 0; cycle < CYCLES; cycle++) {
      idle.idle(0);
    }
  }

  private void assertSlept(long... expectedMicros) {
    List<Long> first = new ArrayList<>();
    for (long micros : expectedMicros) {
      first.add(micros);
    }
    assertEquals(first, sleepsMicros.subList(0, expectedMicros.length));
    assertEquals(first.getLast(), sleepsMicros.getLast());
  }

  @Test
  void shouldSleepFor20MillisAtMostWhereSomethingWaitsForTheTimeToPass() {
    idleOn();
    assertSlept(2_000, 4_000, 8_000, 16_000, 20_000, 20_000);
  }

  @Test
  void shouldSleepFor60MillisWhereOnlyARingIsAwaited() {
    quiet = true;
    idleOn();
    assertSlept(2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000);
  }

  @Test
  void shouldSleepForShorterAsSoonAsItIsNotQuietAnyMore() {
    quiet = true;
    idleOn();
    quiet = false;
    idleOn();
    assertSlept(20_000, 20_000);
    quiet = true;
    idleOn();
    assertSlept(40_000, 60_000);
  }

  @Test
  void shouldStartOverWithShortSleepsAfterWorkAndShorterOnesAfterTalk() {
    quiet = true;
    idleOn();
    idle.idle(1);
    idleOn();
    assertSlept(2_000, 4_000, 8_000, 16_000, 32_000, 60_000);
    idle.expectTalk();
    idle.idle(1);
    idleOn();
    assertSlept(50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 51_200, 60_000);
  }
}
