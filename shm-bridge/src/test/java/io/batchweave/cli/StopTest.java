package io.batchweave.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.store.s3proxy.LocalS3;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Commands that are told to stop: soon, in silence, and with nothing left behind. */
@Timeout(240)
class StopTest {
  private static final long SOON_S = 60;

  @TempDir private Path directory;

  private Process launch(Map<String, String> environment, String... arguments) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("@" + root().resolve("shm-bridge/jvm.flags"));
    command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp"));
    command.addAll(List.of(System.getProperty("java.class.path"), Main.class.getName()));
    command.addAll(List.of(arguments));
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().putAll(environment);
    return builder.start();
  }

  private static Path root() {
    return Path.of(System.getProperty("batchweave.root", "..")).toAbsolutePath();
  }

  private static String lineThatBegins(BufferedReader out, String words) throws IOException {
    for (String line = out.readLine(); line != null; line = out.readLine()) {
      if (line.startsWith(words)) {
        return line;
      }
    }
    throw new AssertionError("no line that begins with: " + words);
  }

  /** The runtime of the S3 client must go on calling back while the daemon's hook closes it. */
  @Test
  void shouldStopServingFromS3InSilence() throws Exception {
    try (LocalS3 s3 = LocalS3.start(directory.resolve("s3"))) {
      s3.createBucket("served");
      String url = s3.url("served", "stream");
      Process init = launch(s3.environment(), "init", url, "--dp", "1");
      assertTrue(init.waitFor(SOON_S, TimeUnit.SECONDS));
      assertEquals(0, init.exitValue());
      Path shm = directory.resolve("shm");
      Process serve =
          launch(
              s3.environment(),
              "serve",
              url,
              "--memory",
              "1MiB",
              "--reserve",
              "0",
              "--dir",
              shm.toString());
      try (BufferedReader out = serve.inputReader(StandardCharsets.UTF_8)) {
        lineThatBegins(out, "serving: ");
        serve.toHandle().destroy(); // Process.destroy would close its output too.
        assertEquals(null, out.readLine(), "said something");
        assertTrue(serve.waitFor(SOON_S, TimeUnit.SECONDS));
        assertFalse(Files.exists(shm.resolve("ring-0.data")), "left behind");
      } finally {
        serve.destroyForcibly();
      }
    }
  }

  @Test
  void shouldLeaveNeitherProcessesNorFilesOfADemoThatIsBrokenOff() throws Exception {
    Path input = Files.createDirectories(directory.resolve("input"));
    StringBuilder text = new StringBuilder();
    for (int line = 0; line < 100_000; line++) {
      text.append("line ").append(line).append('\n');
    }
    Files.writeString(input.resolve("a.txt"), text);
    Process demo = launch(Map.of("BATCHWEAVE_ROOT", root().toString()), "demo", input.toString());
    try (BufferedReader out = demo.inputReader(StandardCharsets.UTF_8)) {
      String store = lineThatBegins(out, "store   file://").substring("store   file://".length());
      lineThatBegins(out, "   "); // how far it is, after a second or two
      List<ProcessHandle> children = demo.children().toList();
      assertTrue(children.size() >= 5, () -> "children: " + children);
      demo.toHandle().destroy();
      assertTrue(demo.waitFor(SOON_S, TimeUnit.SECONDS));
      children.forEach(child -> assertFalse(child.isAlive(), () -> "left running: " + child));
      assertFalse(Files.exists(Path.of(store).getParent()), "left behind: " + store);
    } finally {
      demo.descendants().forEach(ProcessHandle::destroyForcibly);
      demo.destroyForcibly();
    }
  }
}
