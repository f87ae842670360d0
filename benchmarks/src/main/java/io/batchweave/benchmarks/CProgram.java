package io.batchweave.benchmarks;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Programs with the C rank client in them. */
final class CProgram {
  private CProgram() {}

  /**
   * Compiles one as its users do.
   *
   * @param source a file below {@code native-include}
   * @param into where the program is put
   * @return the program, which has the name of its source
   * @throws IOException if it does not compile; with what the compiler said
   */
  static Path compile(String source, Path into) throws IOException, InterruptedException {
    Path file = PythonEnvironment.root().resolve("native-include").resolve(source);
    Path program = into.resolve(file.getFileName().toString().replaceFirst("\\.c$", ""));
    String compiler = System.getenv("CC");
    List<String> command = new ArrayList<>();
    command.add(compiler == null || compiler.isEmpty() ? "cc" : compiler);
    command.addAll(List.of("-std=c11", "-O2", "-pthread"));
    command.addAll(List.of(file.toString(), "-o", program.toString()));
    Process process = ChildProcess.start(new ProcessBuilder(command).redirectErrorStream(true));
    String said;
    try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
      said = String.join("\n", out.lines().toList());
    }
    if (process.waitFor() != 0) {
      throw new IOException("the C program does not compile: source=" + source + " said=" + said);
    }
    return program;
  }
}
