package io.batchweave.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.demo.PythonRanks.Kind;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Which ranks the demo takes on machines that lack this or that, and what it says about it. */
@Timeout(60)
class PythonRanksTest {
  @TempDir private Path directory;
  private Path root = Path.of(".");
  private Path include = Path.of(".");

  @BeforeEach
  void makeARepository() throws IOException {
    root = Files.createDirectory(directory.resolve("root"));
    Files.createDirectories(root.resolve("shm-bridge/python/src/batchweave"));
    Files.createDirectories(root.resolve("shm-bridge/python/native"));
    include = Files.createDirectory(directory.resolve("include"));
    Files.createFile(include.resolve("Python.h"));
  }

  /** A program that answers as a Python would. */
  private String python(String name, boolean recent, boolean torch) throws IOException {
    return program(
        name,
        "echo " + (recent ? "True" : "False"),
        "echo " + (torch ? "True" : "False"),
        "echo " + include);
  }

  private String program(String name, String... lines) throws IOException {
    Path file = directory.resolve(name);
    Files.writeString(file, "#!/bin/sh\n" + String.join("\n", lines) + "\n");
    assertTrue(file.toFile().setExecutable(true));
    return file.toString();
  }

  /** A program that answers as a C compiler would: the last but two of its arguments is written. */
  private String compiler() throws IOException {
    return program("cc", "while [ $# -gt 2 ]; do shift; done", "echo so > \"$1\"");
  }

  private PythonRanks find(String python, String compiler) {
    return PythonRanks.find(root, Map.of("BATCHWEAVE_PYTHON", python, "CC", compiler));
  }

  @Test
  void shouldTakeTorchWhereItIs() throws IOException {
    PythonRanks ranks = find(python("python", true, true), compiler());
    assertEquals(Kind.TORCH, ranks.kind(), ranks::why);
    assertTrue(Files.exists(ranks.modulePath().resolve("batchweave/_native.abi3.so")));
  }

  @Test
  void shouldGoWithoutTorchAndSayHowToGetIt() throws IOException {
    String plain = python("python", true, false);
    PythonRanks ranks =
        PythonRanks.find(
            root, Map.of("BATCHWEAVE_PYTHON", plain, "CC", compiler(), "BATCHWEAVE_CACHE", plain));
    assertTrue(ranks.kind() != Kind.JAVA, ranks::why);
    if (ranks.command().equals(plain)) { // unless this machine's python3 has torch
      assertEquals(Kind.PLAIN, ranks.kind());
      assertTrue(ranks.why().contains("--with-torch"), ranks::why);
    }
  }

  @Test
  void shouldTakeJavaAndSayWhyWithoutACompiler() throws IOException {
    PythonRanks ranks = find(python("python", true, true), directory + "/no-such-compiler");
    assertEquals(Kind.JAVA, ranks.kind());
    assertTrue(ranks.why().contains("no C compiler"), ranks::why);
  }

  @Test
  void shouldTakeJavaAndSayWhyWithoutThePythonHeaders() throws IOException {
    Files.delete(include.resolve("Python.h"));
    PythonRanks ranks = find(python("python", true, true), compiler());
    assertEquals(Kind.JAVA, ranks.kind());
    assertTrue(ranks.why().contains("Python.h"), ranks::why);
  }

  @Test
  void shouldPassOverAPythonThatIsTooOld() throws IOException {
    String old = python("python", false, true);
    PythonRanks ranks = find(old, compiler());
    assertTrue(!ranks.command().equals(old), ranks::why);
  }
}
