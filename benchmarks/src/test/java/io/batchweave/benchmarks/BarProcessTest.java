package io.batchweave.benchmarks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BarProcessTest {
  private static final Duration LONG = Duration.ofMinutes(1);

  @TempDir private Path directory;
  private final ByteArrayOutputStream said = new ByteArrayOutputStream();

  /** What a bar is called; the process measures it. */
  private record Named(String name) implements Bar {
    @Override
    public String question() {
      return "is it " + name + "?";
    }

    @Override
    public Verdict measure(BenchRun run) {
      throw new IllegalStateException("measured in this process");
    }
  }

  /** A script has {@code --only NAME --out DIRECTORY}, and perhaps {@code --quick}, in $1 to $5. */
  private Verdict measure(BenchRun.Pace pace, Duration limit, String script)
      throws IOException, InterruptedException {
    BenchRun run =
        new BenchRun(pace, new PrintStream(said, true, StandardCharsets.UTF_8), directory);
    return new BarProcess(new Named("some"), List.of("sh", "-c", script, "sh"), limit).measure(run);
  }

  @Test
  void shouldTakeFigureAndPictureOfTheProcessAndSayWhatItSaysOfTheBar() throws Exception {
    Verdict verdict =
        measure(
            BenchRun.Pace.QUICK,
            LONG,
            """
            echo 'machine: another'
            echo "  $1 $2 $5"
            echo drawn > "$4/$2.png"
            echo '{"figures":[{"name":"some","value":331.4,"unit":"ns","ceiling":284.5,
              "goal":"<= 1000","met":true,"spread":[320.5,1340.25]}],"unmeasured":{}}' \
              > "$4/results.json"
            """);

    assertEquals(
        new Verdict("some", 331.4, "ns", 284.5, "<= 1000", true)
            .within(new Sample.Interval(320.5, 1340.25)),
        verdict);
    assertEquals(
        List.of("  --only some --quick"), said.toString(StandardCharsets.UTF_8).lines().toList());
    assertEquals("drawn\n", Files.readString(directory.resolve("some.png")));
    assertEquals(List.of("some.png"), List.of(names()));
  }

  @Test
  void shouldSayWhyWhenTheProcessCouldNotMeasure() {
    IOException why =
        assertThrows(
            IOException.class,
            () ->
                measure(
                    BenchRun.Pace.FULL,
                    LONG,
                    """
                    echo '{"figures":[],"unmeasured":{"some":"no peer"}}' > "$4/results.json"
                    exit 1
                    """));
    assertEquals("no peer", why.getMessage());
  }

  @Test
  void shouldSayThatItDiedWhenItDid() {
    IOException why =
        assertThrows(IOException.class, () -> measure(BenchRun.Pace.FULL, LONG, "kill -KILL $$"));
    assertTrue(String.valueOf(why.getMessage()).contains("exit=137"), why.toString());
    assertEquals(List.of(), List.of(names()));
  }

  @Test
  void shouldEndItAndWhatItStartedWhenItHangs() throws Exception {
    Path pid = directory.resolve("pid");
    Duration limit = Duration.ofSeconds(1);
    do { // a busy machine may not even start it in a second
      Duration given = limit;
      IOException why =
          assertThrows(
              IOException.class,
              () -> measure(BenchRun.Pace.FULL, given, "sleep 300 & echo $! > " + pid + "; wait"));
      assertEquals("it was ended since it took longer than " + given, why.getMessage());
      limit = limit.multipliedBy(2);
    } while (!pid.toFile().exists() || pid.toFile().length() == 0);
    long child = Long.parseLong(Files.readString(pid).strip());
    long deadlineNs = System.nanoTime() + LONG.toNanos();
    while (isRunning(child)) {
      assertTrue(System.nanoTime() - deadlineNs < 0, "it goes on");
      Thread.onSpinWait();
    }
  }

  /** One that has ended but nobody asked for how does not run. */
  private static boolean isRunning(long pid) {
    try {
      String stat = Files.readString(Path.of("/proc/" + pid + "/stat"));
      return stat.charAt(stat.lastIndexOf(')') + 2) != 'Z';
    } catch (IOException e) {
      return false;
    }
  }

  private String[] names() {
    String[] names = directory.toFile().list();
    return names == null ? new String[0] : names;
  }
}
