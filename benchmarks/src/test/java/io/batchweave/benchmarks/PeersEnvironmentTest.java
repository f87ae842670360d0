package io.batchweave.benchmarks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class PeersEnvironmentTest {
  private static final Path PYTHON = Path.of("/cache/python-1/bin/python");

  @Test
  void shouldHaveAnotherNameWhenWhatIsInItChanges() {
    String name = PeersEnvironment.name("a==1\n", PYTHON);
    assertEquals(name, PeersEnvironment.name("a==1\n", PYTHON));
    assertNotEquals(name, PeersEnvironment.name("a==2\n", PYTHON));
    assertNotEquals(name, PeersEnvironment.name("a==1\n", Path.of("/cache/python-2/bin/python")));
    assertEquals(16, name.length());
  }
}
