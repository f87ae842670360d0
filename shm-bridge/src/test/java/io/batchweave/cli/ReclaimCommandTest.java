package io.batchweave.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Deleting from the command line. */
@Timeout(120)
class ReclaimCommandTest {
  private static final int FAILED = 1;
  private static final int USAGE = 2;

  @TempDir private Path directory;
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();
  private String url = "";

  @BeforeEach
  void makeTheStream() throws IOException {
    url = directory.resolve("stream").toString();
    run(0, "init", url, "--dp", "2");
    Path text = Files.writeString(directory.resolve("a.txt"), "x".repeat(400));
    run(0, "ingest", url, text.toString(), "--seq-len", "16", "--global-batch", "2");
  }

  private String run(int exitCode, String... args) {
    out.getBuffer().setLength(0);
    err.getBuffer().setLength(0);
    int code = Main.run(new PrintWriter(out, true), new PrintWriter(err, true), args);
    assertEquals(exitCode, code, () -> out + "\n" + err);
    return out.toString() + err;
  }

  private static void assertHas(String said, String... words) {
    for (String word : words) {
      assertTrue(said.contains(word), () -> "'" + word + "' is not in: " + said);
    }
  }

  @Test
  void shouldDeleteNothingWhenNobodySaysWhatMayGo() {
    assertHas(run(0, "reclaim", url), "horizon 0", "deleted 0 data objects");
    assertHas(run(0, "inspect", url, "0"), "a.txt");
  }

  @Test
  void shouldSayFirstAndThenDeleteAndVerifyWhatIsLeft() {
    run(0, "checkpoint", "add", url, "g", "c", "5");
    assertHas(run(0, "reclaim", url, "--dry-run"), "horizon 5", "would delete");
    assertHas(run(0, "inspect", url, "0"), "a.txt");
    assertHas(run(0, "reclaim", url, "--json"), "\"horizon\" : 5", "\"reclaimedSteps\" : 5");
    assertHas(run(FAILED, "inspect", url, "4"), "horizon=5");
    assertHas(run(0, "inspect", url, "5"), "a.txt");
    assertHas(run(0, "verify", url, "--data"), "sound");
    assertHas(run(0, "reclaim", url), "moved by 0", "deleted 0 data objects");
  }

  @Test
  void shouldExplainItselfAndRefuseWhatMakesNoSense() {
    assertHas(
        run(0, "reclaim", "--help"), "Example", "./batchweave reclaim", "BATCHWEAVE_S3_ENDPOINT");
    assertHas(run(USAGE, "reclaim", url, "--every", "0m"), "10m");
    assertHas(run(USAGE, "reclaim", url, "--rate", "0"), "--rate");
  }
}
