package io.batchweave.benchmarks;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.StringTokenizer;

/** The C program that takes and releases steps, compiled for a size of region and run. */
final class CRank {
  /** What a round of it says, in the order of the columns; all in nanoseconds. */
  enum Figure {
    TAKE,
    RELEASE,
    PAGEMAP,
    CLOCK
  }

  /** How it maps the ring. */
  enum Views {
    /** Copy-on-write: what it edits does not reach others, and is thrown away by its release. */
    PRIVATE(0),
    /** Read-only, as a Java rank does. */
    SHARED(1);

    private final int number; // as in bw_views

    Views(int number) {
      this.number = number;
    }
  }

  private CRank() {}

  /** A sample of each figure. */
  static Map<Figure, Sample> run(long regionBytes, int rounds, Views views)
      throws IOException, InterruptedException {
    Path root = Path.of(environment("BATCHWEAVE_ROOT", "."));
    Path directory = DirectoryTree.make(Path.of("/dev/shm"));
    try {
      Path program = directory.resolve("handoff");
      List<String> compile =
          List.of(
              environment("CC", "cc"),
              "-std=c11",
              "-O2",
              "-Wno-unused-function",
              "-D_GNU_SOURCE",
              "-DFAKE_REGION_BYTES=" + regionBytes,
              root.resolve("benchmarks/src/main/c/handoff.c").toString(),
              "-o",
              program.toString(),
              "-lpthread");
      String complaint = output(compile);
      if (!complaint.isEmpty()) {
        throw new IOException("the C program does not compile: " + complaint);
      }
      Path ring = DirectoryTree.make(directory);
      return parse(
          output(List.of(program.toString(), ring.toString(), "" + rounds, "" + views.number)));
    } finally {
      DirectoryTree.delete(directory);
    }
  }

  private static Map<Figure, Sample> parse(String lines) {
    Map<Figure, Sample> samples = new EnumMap<>(Figure.class);
    for (String line : lines.lines().toList()) {
      StringTokenizer columns = new StringTokenizer(line);
      for (Figure figure : Figure.values()) {
        samples
            .computeIfAbsent(figure, ignored -> new Sample())
            .add(Double.parseDouble(columns.nextToken()));
      }
    }
    return samples;
  }

  private static String output(List<String> command) throws IOException, InterruptedException {
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    StringBuilder text = new StringBuilder();
    try (BufferedReader out =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      out.lines().forEach(line -> text.append(line).append('\n'));
    }
    int exit = process.waitFor();
    if (exit != 0) {
      throw new IOException(
          String.format(Locale.ROOT, "exit=%d command=%s output=%s", exit, command, text));
    }
    return text.toString();
  }

  private static String environment(String name, String otherwise) {
    String value = System.getenv(name);
    return value == null || value.isEmpty() ? otherwise : value;
  }
}
