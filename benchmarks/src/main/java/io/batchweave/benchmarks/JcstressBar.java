package io.batchweave.benchmarks;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Every edge between daemon and ranks under jcstress, in JVMs of its own. Question: does any
 * compiler or processor here show an outcome that an edge forbids? Ceiling: none. The figure is the
 * number of configurations that failed.
 */
final class JcstressBar implements Bar {
  private static final Pattern RESULTS =
      Pattern.compile("(\\d+) passed, (\\d+) failed, (\\d+) soft errs, (\\d+) hard errs");

  @Override
  public String name() {
    return "jcstress";
  }

  @Override
  public String question() {
    return "does an edge of the shared memory allow what it must not? (configurations that failed)";
  }

  @Override
  public Verdict measure(BenchRun run) throws Exception {
    Path report = Files.createTempDirectory("batchweave-jcstress-");
    try {
      List<String> command = new ArrayList<>();
      command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
      command.addAll(List.of("-cp", System.getProperty("java.class.path")));
      command.addAll(List.of("org.openjdk.jcstress.Main", "-t", "io\\.batchweave\\."));
      command.addAll(List.of("-m", run.pace() == BenchRun.Pace.QUICK ? "sanity" : "quick"));
      command.addAll(List.of("-hs", "256", "-r", report.toString()));
      Process process =
          new ProcessBuilder(command).directory(report.toFile()).redirectErrorStream(true).start();
      long passed = 0;
      long failed = 0;
      try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
        for (String line = out.readLine(); line != null; line = out.readLine()) {
          Matcher matcher = RESULTS.matcher(line);
          if (line.contains("FAILED")) {
            run.say("  " + line.strip());
          } else if (matcher.find()) {
            passed = Long.parseLong(matcher.group(1));
            failed =
                Long.parseLong(matcher.group(2))
                    + Long.parseLong(matcher.group(3))
                    + Long.parseLong(matcher.group(4));
          }
        }
      }
      int exit = process.waitFor();
      if (exit != 0 && failed == 0) {
        throw new IOException("jcstress ended with exit code " + exit);
      }
      run.say("  configurations passed=" + passed + " failed=" + failed);
      return new Verdict("jcstress", failed, "failed", 0, "0", failed == 0 && passed > 0);
    } finally {
      DirectoryTree.delete(report);
    }
  }
}
