package io.batchweave.bridge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.batchweave.bridge.NativeProgram.Build;
import io.batchweave.bridge.NativeProgram.Outcome;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Runs the unit tests of the C headers: as C11, as C++17, and under the sanitizers. */
@Timeout(value = 180, unit = TimeUnit.SECONDS)
class NativeIncludeTest {
  private static final Path SHM = Path.of("/dev/shm");

  @TempDir Path folder;

  private static void run(String source, Build build, Path folder, String... arguments) {
    Path program = NativeProgram.compile(source, build);
    List<String> command = new ArrayList<>(List.of(program.toString(), folder.toString()));
    command.addAll(List.of(arguments));
    Outcome outcome = NativeProgram.run(command, Map.of(), 150);
    assertEquals("", outcome.output());
    assertEquals(0, outcome.status());
  }

  @ParameterizedTest
  @EnumSource(Build.class)
  void shouldHoldTheLayoutsOfAeronWhenFilesAreDamaged(Build build) {
    run("test/aeron_unit.c", build, folder);
  }

  @ParameterizedTest
  @EnumSource(Build.class)
  void shouldReadAnswersWhenTheyAreMalformed(Build build) {
    run("test/handshake_unit.c", build, folder);
  }

  /** U9, U36 and U38 for C: edits of a view are dropped at release, and only those. */
  @ParameterizedTest
  @EnumSource(Build.class)
  void shouldDropEditsOfViewsWhenReleased(Build build) throws IOException {
    inSharedMemory("test/views_unit.c", build);
  }

  /**
   * The rank client against the daemon's side of the ring in C: U7, U9, U12, U32, U37, U39 and U40
   * for C, as far as no daemon is needed.
   */
  @ParameterizedTest
  @EnumSource(Build.class)
  void shouldFollowTheRingProtocolWhenTheDaemonIsAFake(Build build) throws IOException {
    inSharedMemory("test/rank_unit.c", build);
  }

  /** Control file, descriptors, tables, doorbell, Welcome, daemon.json and slices, fuzzed in C. */
  @Test
  void shouldStayWithinTheRingWhenEverythingItReadsIsDamaged() throws IOException {
    inSharedMemory("test/fuzz_unit.c", Build.SANITIZED, "20260701", "1500");
  }

  @Test
  @Tag("full")
  void shouldStayWithinTheRingWhenEverythingItReadsIsDamagedForLong() throws IOException {
    for (int seed = 1; seed <= 20; seed++) {
      inSharedMemory("test/fuzz_unit.c", Build.SANITIZED, Integer.toString(seed), "5000");
    }
  }

  private static void inSharedMemory(String source, Build build, String... arguments)
      throws IOException {
    assumeTrue(Files.isWritable(SHM), "no writable /dev/shm");
    Path folder = Files.createTempDirectory(SHM, "batchweave-test");
    try {
      run(source, build, folder, arguments);
    } finally {
      try (Stream<Path> files = Files.list(folder)) {
        for (Path file : files.toList()) {
          Files.delete(file);
        }
      }
      Files.delete(folder);
    }
  }
}
