package io.batchweave.benchmarks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import org.junit.jupiter.api.Test;

class ProcessBytesTest {
  @Test
  void shouldTakeWhatSystemCallsWroteWhenTheDiskGotLess() throws IOException {
    assertEquals(
        987654321987L,
        ProcessBytes.parse("rchar: 5\nwchar: 987654321987\nsyscr: 1\nwrite_bytes: 4096\n"));
  }

  @Test
  void shouldRefuseWhenTheKernelDoesNotSay() {
    assertThrows(IOException.class, () -> ProcessBytes.parse("rchar: 5\n"));
  }
}
