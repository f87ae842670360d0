package io.batchweave.demo;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Finds a Python for the demo's Python ranks and compiles the extension for it, without installing
 * anything: the module and its sources are put side by side in {@code shm-bridge/target/python}.
 *
 * @param kind what the ranks will be
 * @param command the interpreter; empty without one
 * @param modulePath what {@code PYTHONPATH} must name
 * @param why one sentence for people: what was found, or what is missing and how to get it
 */
public record PythonRanks(Kind kind, String command, Path modulePath, String why) {
  /** What two of the four ranks are. */
  public enum Kind {
    /** PyTorch, tensors without a copy. */
    TORCH,
    /** The same extension without PyTorch. */
    PLAIN,
    /** Java: no Python, or no compiler for the extension. */
    JAVA
  }

  private static final String PROBE =
      "import sys,sysconfig,importlib.util as u;"
          + "print(sys.version_info>=(3,11) and not sysconfig.get_config_var('Py_GIL_DISABLED'));"
          + "print(u.find_spec('torch') is not None);"
          + "print(sysconfig.get_paths()['include'])";
  private static final int COMPILE_TIMEOUT_SECONDS = 120;

  private record Interpreter(String command, boolean torch, Path include) {}

  /**
   * Looks at {@code BATCHWEAVE_PYTHON}, the active environment, the test environment, then {@code
   * python3}; the first with torch wins, else the first at all.
   *
   * @param root the repository
   * @param environment variables
   */
  public static PythonRanks find(Path root, Map<String, String> environment) {
    Path modulePath = root.resolve("shm-bridge/target/python");
    List<Interpreter> found = new ArrayList<>();
    for (String candidate : candidates(environment)) {
      probe(candidate, found);
    }
    if (found.isEmpty()) {
      return new PythonRanks(
          Kind.JAVA, "", modulePath, "no Python >= 3.11 found; set BATCHWEAVE_PYTHON to one");
    }
    Interpreter best =
        found.stream().filter(Interpreter::torch).findFirst().orElse(found.getFirst());
    String problem;
    try {
      problem = compile(root, modulePath, best.include(), environment.getOrDefault("CC", "cc"));
    } catch (IOException e) {
      problem = String.valueOf(e.getMessage());
    }
    if (!problem.isEmpty()) {
      return new PythonRanks(
          Kind.JAVA, "", modulePath, "the Python extension did not compile: " + problem);
    }
    return best.torch()
        ? new PythonRanks(Kind.TORCH, best.command(), modulePath, best.command() + " has torch")
        : new PythonRanks(
            Kind.PLAIN,
            best.command(),
            modulePath,
            best.command() + " has no torch; `./batchweave demo --with-torch` installs it once");
  }

  private static List<String> candidates(Map<String, String> environment) {
    List<String> candidates = new ArrayList<>();
    String named = environment.get("BATCHWEAVE_PYTHON");
    if (named != null) {
      candidates.add(named);
    }
    String active = environment.get("VIRTUAL_ENV");
    if (active != null) {
      candidates.add(active + "/bin/python");
    }
    String cache = environment.get("BATCHWEAVE_CACHE");
    if (cache != null) {
      try (Stream<Path> entries = Files.list(Path.of(cache))) {
        entries
            .filter(entry -> Files.exists(entry.resolve("complete")))
            .map(entry -> entry.resolve("bin/python").toString())
            .sorted()
            .forEach(candidates::add);
      } catch (IOException e) {
        // No cache directory yet: no test environment either.
      }
    }
    candidates.add("python3");
    return candidates;
  }

  private static void probe(String command, List<Interpreter> found) {
    try {
      Process process =
          new ProcessBuilder(command, "-c", PROBE)
              .redirectError(ProcessBuilder.Redirect.DISCARD)
              .start();
      String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      List<String> lines = output.lines().toList();
      if (process.waitFor() == 0 && lines.size() == 3 && lines.get(0).equals("True")) {
        found.add(new Interpreter(command, lines.get(1).equals("True"), Path.of(lines.get(2))));
      }
    } catch (IOException e) {
      // No such interpreter: the next candidate.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Compiles into the module path; returns what went wrong in one line, empty if nothing did. */
  private static String compile(Path root, Path modulePath, Path include, String compiler)
      throws IOException {
    if (Files.notExists(include.resolve("Python.h"))) {
      return "no Python.h in " + include + " (install python3-dev)";
    }
    Path python = root.resolve("shm-bridge/python");
    Path module = Files.createDirectories(modulePath.resolve("batchweave"));
    try (Stream<Path> sources = Files.list(python.resolve("src/batchweave"))) {
      for (Path source : sources.filter(file -> file.toString().endsWith(".py")).toList()) {
        Files.copy(
            source, module.resolve(source.getFileName()), StandardCopyOption.REPLACE_EXISTING);
      }
    }
    List<String> command =
        new ArrayList<>(List.of(compiler, "-std=c11", "-O2", "-fPIC", "-shared"));
    command.addAll(List.of("-D_GNU_SOURCE", "-DPy_LIMITED_API=0x030B0000", "-fvisibility=hidden"));
    command.add("-I" + include);
    command.add("-I" + root.resolve("native-include"));
    command.add("-I" + python.resolve("native"));
    try (Stream<Path> sources = Files.list(python.resolve("native"))) {
      sources
          .map(Path::toString)
          .filter(name -> name.endsWith(".c"))
          .sorted()
          .forEach(command::add);
    }
    Path fresh = module.resolve("_native.new");
    command.addAll(List.of("-o", fresh.toString(), "-lpthread"));
    Process process;
    try {
      process = new ProcessBuilder(command).redirectErrorStream(true).start();
    } catch (IOException e) {
      return "no C compiler: " + compiler + " (install gcc, or set CC)";
    }
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    try {
      if (!process.waitFor(COMPILE_TIMEOUT_SECONDS, TimeUnit.SECONDS) || process.exitValue() != 0) {
        return output.lines().filter(line -> line.contains("error")).findFirst().orElse(output);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return "interrupted";
    }
    Files.move(fresh, module.resolve("_native.abi3.so"), StandardCopyOption.REPLACE_EXISTING);
    return "";
  }
}
