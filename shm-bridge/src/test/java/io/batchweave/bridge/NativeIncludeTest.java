package io.batchweave.bridge;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.batchweave.bridge.NativeProgram.Build;
import io.batchweave.bridge.NativeProgram.Outcome;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Runs the unit tests of the C headers: as C11, as C++17, and under the sanitizers. */
@Timeout(value = 180, unit = TimeUnit.SECONDS)
class NativeIncludeTest {
  @TempDir Path folder;

  private void run(String source, Build build) {
    Path program = NativeProgram.compile(source, build);
    Outcome outcome =
        NativeProgram.run(List.of(program.toString(), folder.toString()), Map.of(), 120);
    assertEquals("", outcome.output());
    assertEquals(0, outcome.status());
  }

  @ParameterizedTest
  @EnumSource(Build.class)
  void shouldHoldTheLayoutsOfAeronWhenFilesAreDamaged(Build build) {
    run("test/aeron_unit.c", build);
  }
}
