package io.batchweave.benchmarks;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Question: how long does attaching take at the worst? First for 64 ranks of a session at once,
 * half of them in C and half in Python, where nobody starts before all are there; then for a rank
 * that comes when four before it were killed in a row, at each point of the handshake. Every rank
 * takes the time of its own call, in a process that is there; the figure is the longest of all.
 *
 * <p>Ceiling: a C rank alone, nothing having gone wrong.
 */
final class Attach implements Bar {
  private static final double GOAL_MILLIS = 3_000;
  private static final int EACH = 32;
  private static final int ROUNDS = 10;
  private static final int ALONE_ROUNDS = 50;
  private static final int KILLED = 4;
  private static final int KILLED_EXIT = 137;
  private static final long END_TIMEOUT_S = 90;

  /** What there is to attach to, and with. */
  private record Node(Path programs, String url, Path directory) {
    Path program(String name) {
      return programs.resolve(name);
    }

    /** A C rank that attaches so often and takes a step. */
    List<String> attaching(String session, int rounds, int ranks) {
      return List.of(
          program("attach_rounds").toString(),
          directory.toString(),
          url,
          session,
          Integer.toString(rounds),
          Integer.toString(ranks));
    }
  }

  @Override
  public String name() {
    return "attach";
  }

  @Override
  public String question() {
    return "the longest that a rank attaches: of 64 at once, and after four were killed in a row";
  }

  @Override
  public Verdict measure(BenchRun run) throws IOException, InterruptedException {
    PythonEnvironment python = PythonEnvironment.find();
    python.buildExtension(run);
    Path work = DirectoryTree.make(Path.of("/dev/shm"));
    // Not in shared memory: the programs look whether they have mappings of it left.
    Path programs = DirectoryTree.make(Path.of(System.getProperty("java.io.tmpdir")));
    try {
      Node node = new Node(programs, "file:" + work.resolve("stream"), work.resolve("d"));
      CProgram.compile("test/attach_rounds.c", programs);
      CProgram.compile("test/trainer_killable.c", programs);
      Command.makeStream(node.url(), work, 1, 2_000);
      try (NodeDaemon daemon = NodeDaemon.start(Map.of(), node.url(), node.directory(), "1MiB")) {
        run.say("  daemon pid=" + daemon.pid());
        return measure(run, node, python);
      }
    } finally {
      DirectoryTree.delete(work);
      DirectoryTree.delete(programs);
    }
  }

  private Verdict measure(BenchRun run, Node node, PythonEnvironment python)
      throws IOException, InterruptedException {
    double alone = figure(output(node.attaching("alone", ALONE_ROUNDS, 1)), "p50=");
    Sample longest = new Sample();
    Sample typical = new Sample();
    for (int round = 0; round < run.rounds(ROUNDS); round++) {
      Sample millis = atOnce(node, python, "many-" + round);
      longest.add(millis.quantile(1));
      typical.add(millis.median());
    }
    run.say(
        "  %d at once: %.0f ms at most, %.0f the slowest of a round, %.0f any of them; alone %.1f"
            .formatted(2 * EACH, longest.quantile(1), longest.median(), typical.median(), alone));
    // Where a C rank may die (BW_STEP); a number says at which of several times.
    List<String> points =
        Files.readAllLines(
            PythonEnvironment.root().resolve("native-include/test/attach_points.txt"));
    double worstAfterDeaths = 0;
    String worstPoint = "";
    for (String point : points) {
      for (int i = 0; i < KILLED; i++) {
        die(node, point);
      }
      double millis = figure(output(node.attaching("killed", 1, 1)), "max=");
      if (millis > worstAfterDeaths) {
        worstAfterDeaths = millis;
        worstPoint = point;
      }
    }
    run.say(
        "  after %d killed in a row: %.0f ms at most, at %s, of %d points"
            .formatted(KILLED, worstAfterDeaths, worstPoint, points.size()));
    double most = Math.max(worstAfterDeaths, longest.quantile(1));
    return new Verdict(name(), most, "ms", alone, "<= 3000", most <= GOAL_MILLIS);
  }

  /** What each took, in milliseconds. */
  private static Sample atOnce(Node node, PythonEnvironment python, String session)
      throws IOException, InterruptedException {
    String ranks = Integer.toString(2 * EACH);
    ProcessBuilder builder =
        python
            .program(
                "attach.py",
                node.directory().toString(),
                node.url(),
                session,
                ranks,
                Integer.toString(EACH))
            .redirectError(ProcessBuilder.Redirect.INHERIT);
    Process forking = ChildProcess.start(builder);
    List<Process> inC = new ArrayList<>();
    try (BufferedReader told = forking.inputReader(StandardCharsets.UTF_8);
        Writer tell = forking.outputWriter(StandardCharsets.UTF_8)) {
      String line = told.readLine();
      if (!"ready".equals(line)) {
        throw new IOException("the Python ranks did not start: said=" + line);
      }
      tell.write("\n");
      tell.flush();
      for (int i = 0; i < EACH; i++) {
        inC.add(
            ChildProcess.start(
                new ProcessBuilder(node.attaching(session, 1, 2 * EACH))
                    .redirectErrorStream(true)));
      }
      Sample millis = new Sample();
      for (Process process : inC) {
        millis.add(figure(ended(process, 0), "max="));
      }
      for (String seconds = told.readLine(); seconds != null; seconds = told.readLine()) {
        millis.add(Double.parseDouble(seconds) * 1e3);
      }
      int exit = forking.waitFor();
      if (exit != 0 || millis.count() != 2 * EACH) {
        throw new IOException("ranks failed: exit=" + exit + " attached=" + millis.count());
      }
      return millis;
    } finally {
      inC.forEach(ChildProcess::end);
      ChildProcess.end(forking);
    }
  }

  private static void die(Node node, String point) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(node.program("trainer_killable").toString());
    command.addAll(List.of("--dir", node.directory().toString(), "--stream", node.url()));
    command.addAll(List.of("--group", "train", "--session", "killed", "--steps", "1"));
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().put("BW_KILL_AT", point);
    ended(ChildProcess.start(builder), KILLED_EXIT);
  }

  private static String output(List<String> command) throws IOException, InterruptedException {
    return ended(ChildProcess.start(new ProcessBuilder(command).redirectErrorStream(true)), 0);
  }

  /** What it said, once it has ended as it must. */
  private static String ended(Process process, int exit) throws IOException, InterruptedException {
    String said;
    try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
      said = String.join("\n", out.lines().toList());
    }
    if (!process.waitFor(END_TIMEOUT_S, TimeUnit.SECONDS) || process.exitValue() != exit) {
      ChildProcess.end(process);
      throw new IOException("a C rank did not end with exit=" + exit + ": said=" + said);
    }
    return said;
  }

  /** Microseconds behind a name, as milliseconds. */
  private static double figure(String said, String name) throws IOException {
    for (String word : said.split(" ", -1)) {
      if (word.startsWith(name)) {
        return Double.parseDouble(word.substring(name.length())) / 1e3;
      }
    }
    throw new IOException("a C rank did not say how long it took: said=" + said);
  }
}
