package io.batchweave.bridge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * A C program of {@code native-include}, compiled with warnings as errors. Each (source, build) is
 * compiled once per JVM, into the build directory.
 */
public final class NativeProgram {
  /** How a program is compiled. */
  public enum Build {
    /** C11, optimised. */
    C("-std=c11 -O2"),
    /** The same source as C++17, optimised. */
    CPP("-x c++ -std=c++17 -O2"),
    /** C11 under the address and undefined-behaviour sanitizers. */
    SANITIZED("-std=c11 -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"),
    /** C11 under the thread sanitizer, which does not know fences and says so for each. */
    THREADS("-std=c11 -O1 -g -fsanitize=thread -Wno-tsan");

    private final String flags;

    Build(String flags) {
      this.flags = flags;
    }
  }

  /**
   * What a program did.
   *
   * @param status exit status; 128 + n when signal n killed it
   * @param output standard output and error together
   */
  public record Outcome(int status, String output) {}

  private static final Path ROOT = Path.of(System.getProperty("batchweave.root", ".."));
  private static final Map<String, Path> COMPILED = new ConcurrentHashMap<>();
  private static final Map<Build, Boolean> WORKING = new ConcurrentHashMap<>();

  private NativeProgram() {}

  /**
   * The directory with the headers.
   *
   * @return native-include
   */
  public static Path include() {
    return ROOT.resolve("native-include");
  }

  /**
   * Compiles a program; the test is skipped where there is no compiler.
   *
   * @param source path below native-include
   * @param build how
   * @return the executable
   */
  public static Path compile(String source, Build build) {
    assumeTrue(onPath("cc"), "no C compiler (cc) on the PATH");
    assumeTrue(build != Build.CPP || onPath("c++"), "no C++ compiler (c++) on the PATH");
    assumeTrue(
        WORKING.computeIfAbsent(build, NativeProgram::works),
        () -> "not run: this compiler or kernel does not do " + build.flags);
    return COMPILED.computeIfAbsent(source + " " + build, key -> compileNow(source, build));
  }

  /** Sanitizers may lack their library, or not cope with the kernel's address space. */
  private static boolean works(Build build) {
    if (!build.flags.contains("-fsanitize")) {
      return true;
    }
    try {
      Path folder = Files.createTempDirectory("native");
      Path source = folder.resolve("empty.c");
      Path program = folder.resolve("empty");
      Files.writeString(source, "int main(void) { return 0; }\n");
      List<String> command = new ArrayList<>(List.of("cc"));
      command.addAll(List.of(build.flags.split(" ", -1)));
      command.addAll(List.of(source.toString(), "-o", program.toString()));
      boolean works =
          run(command, Map.of(), 60).status() == 0
              && run(List.of(program.toString()), Map.of(), 60).status() == 0;
      Files.deleteIfExists(program);
      Files.delete(source);
      Files.delete(folder);
      return works;
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static boolean onPath(String name) {
    for (String folder : System.getenv().getOrDefault("PATH", "").split(File.pathSeparator, -1)) {
      if (Files.isExecutable(Path.of(folder, name))) {
        return true;
      }
    }
    return false;
  }

  private static Path compileNow(String source, Build build) {
    try {
      Path folder = Files.createDirectories(Path.of("target", "native-test").toAbsolutePath());
      Path executable = folder.resolve(source.replace('/', '-').replace(".c", "") + "-" + build);
      List<String> command = new ArrayList<>();
      command.add(build == Build.CPP ? "c++" : "cc");
      command.addAll(List.of(build.flags.split(" ", -1)));
      command.addAll(List.of("-Wall", "-Wextra", "-Wpedantic", "-Werror", "-pthread"));
      command.addAll(List.of(include().resolve(source).toString(), "-o", executable.toString()));
      Outcome outcome = run(command, Map.of(), 120);
      assertEquals(0, outcome.status(), () -> command + "\n" + outcome.output());
      return executable;
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  /**
   * Starts a program; its output goes to {@code output}.
   *
   * @param command executable and arguments
   * @param environment added to this process's
   * @param output file for standard output and error
   * @return the running process
   */
  public static Process start(List<String> command, Map<String, String> environment, Path output) {
    try {
      ProcessBuilder builder = new ProcessBuilder(command);
      builder.environment().putAll(environment);
      builder.redirectErrorStream(true).redirectOutput(output.toFile());
      return builder.start();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  /**
   * Runs a program to its end.
   *
   * @param command executable and arguments
   * @param environment added to this process's
   * @param timeoutSeconds after which it is killed and the test fails
   * @return what it did
   */
  public static Outcome run(
      List<String> command, Map<String, String> environment, int timeoutSeconds) {
    try {
      Path output = Files.createTempFile("native", ".out");
      Process process = start(command, environment, output);
      try {
        if (!process.waitFor(timeoutSeconds, TimeUnit.SECONDS)) {
          fail(command + " did not end in " + timeoutSeconds + " s:\n" + Files.readString(output));
        }
      } finally {
        process.destroyForcibly();
      }
      String text = new String(Files.readAllBytes(output), StandardCharsets.UTF_8);
      Files.delete(Objects.requireNonNull(output));
      return new Outcome(process.exitValue(), text);
    } catch (IOException e) {
      throw new AssertionError(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError(e);
    }
  }

  /**
   * The steps that {@code trainer_killable.c} says it has read, from whole lines.
   *
   * @param output where it writes
   */
  public static List<Long> stepsIn(Path output) {
    try {
      return Files.readAllLines(output).stream()
          .filter(line -> line.matches("step=.* crc32c=[0-9a-f]{8}"))
          .map(line -> Long.parseLong(line.substring(5, line.indexOf(' '))))
          .toList();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }
}
