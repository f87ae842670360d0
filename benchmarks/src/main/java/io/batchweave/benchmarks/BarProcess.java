package io.batchweave.benchmarks;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A bar in a JVM of its own, as {@code --only} runs it. So a figure does not hang on which bars ran
 * before: neither on what the compiler learnt from them nor on what they left on the heap. And
 * whatever becomes of that JVM, the run goes on.
 */
final class BarProcess implements Bar {
  /** No bar takes a quarter of that, what it has to fetch the first time included. */
  private static final Duration LIMIT = Duration.ofMinutes(15);

  private static final long END_TIMEOUT_S = 30;
  private static final String HEARD = "  ";

  private final Bar bar;
  private final List<String> command;
  private final Duration limit;

  /**
   * A bar.
   *
   * @param bar which
   * @param command what runs it, given {@code --only NAME --out DIRECTORY} and perhaps {@code
   *     --quick}
   * @param limit how long it may take
   */
  BarProcess(Bar bar, List<String> command, Duration limit) {
    this.bar = bar;
    this.command = List.copyOf(command);
    this.limit = limit;
  }

  /** By a JVM with the flags and the class path of this one. */
  static Bar of(Bar bar) {
    return new BarProcess(bar, SameJvm.line(List.of(), Bench.class), LIMIT);
  }

  @Override
  public String name() {
    return bar.name();
  }

  @Override
  public String question() {
    return bar.question();
  }

  @Override
  public Verdict measure(BenchRun run) throws IOException, InterruptedException {
    Path own = DirectoryTree.make(run.directory());
    try {
      List<String> line = new ArrayList<>(command);
      line.addAll(List.of("--only", name(), "--out", own.toString()));
      if (run.pace() == BenchRun.Pace.QUICK) {
        line.add("--quick");
      }
      int exit = end(run, new ProcessBuilder(line).redirectError(ProcessBuilder.Redirect.INHERIT));
      keepPictures(own, run.directory());
      Path results = own.resolve(Report.JSON);
      if (!Files.exists(results)) {
        throw new IOException("its JVM ended before there was a figure: exit=" + exit);
      }
      return Report.read(results, name());
    } finally {
      DirectoryTree.delete(own);
    }
  }

  /** Passes on what it says of its bar, which is what begins with two blanks. */
  private int end(BenchRun run, ProcessBuilder builder) throws IOException, InterruptedException {
    Process process = ChildProcess.start(builder);
    Thread hearing =
        Thread.ofPlatform()
            .daemon()
            .start(() ->
                process
                    .inputReader(StandardCharsets.UTF_8)
                    .lines()
                    .filter(line -> line.startsWith(HEARD))
                    .forEach(run::say));
    boolean ended = process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS);
    if (!ended) {
      kill(process);
    }
    hearing.join(TimeUnit.SECONDS.toMillis(END_TIMEOUT_S));
    if (!ended) {
      throw new IOException("it was ended since it took longer than " + limit);
    }
    return process.exitValue();
  }

  /** In good order if it can: it takes down what it started. What it said can still be read. */
  private static void kill(Process process) throws InterruptedException {
    List<ProcessHandle> below = process.descendants().toList();
    process.toHandle().destroy();
    if (!process.waitFor(END_TIMEOUT_S, TimeUnit.SECONDS)) {
      process.toHandle().destroyForcibly();
      process.waitFor();
    }
    below.forEach(ProcessHandle::destroyForcibly);
  }

  private static void keepPictures(Path from, Path to) throws IOException {
    try (Stream<Path> files = Files.list(from)) {
      for (Path picture : files.filter(file -> file.toString().endsWith(".png")).toList()) {
        Path name = from.relativize(picture);
        Files.move(picture, to.resolve(name), StandardCopyOption.REPLACE_EXISTING);
      }
    }
  }
}
