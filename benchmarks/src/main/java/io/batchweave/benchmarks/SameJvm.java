package io.batchweave.benchmarks;

import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Command lines of JVMs with the flags and the class path of this one. */
public final class SameJvm {
  private SameJvm() {}

  /**
   * A line that runs a class.
   *
   * @param flags more of them; where they say something else, they win
   * @param main has a main method
   * @param arguments of it
   */
  public static List<String> line(List<String> flags, Class<?> main, String... arguments) {
    List<String> line = new ArrayList<>();
    line.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    line.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
    line.addAll(flags);
    line.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
    line.addAll(List.of(arguments));
    return line;
  }
}
