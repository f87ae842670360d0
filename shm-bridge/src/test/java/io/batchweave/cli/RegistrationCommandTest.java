package io.batchweave.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.client.Operator;
import io.batchweave.client.OperatorContext;
import io.batchweave.format.Block;
import io.batchweave.format.Block.Takeover;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Stores;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Launches, checkpoints and skips from the command line, while no daemon runs. */
@Timeout(120)
class RegistrationCommandTest {
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
    Path text = Files.writeString(directory.resolve("a.txt"), "x".repeat(200));
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
  void shouldAddListAndRemoveCheckpoints() {
    assertHas(run(0, "checkpoint", "add", url, "pretrain", "decay", "3"), "added at version");
    assertHas(run(0, "checkpoint", "add", url, "pretrain", "decay", "3"), "registered already");
    assertHas(run(0, "checkpoint", "list", url), "pretrain", "decay", "operator");
    assertHas(
        run(0, "checkpoint", "list", url, "--json"),
        "\"checkpoint\" : \"decay\"",
        "\"step\" : 3",
        "\"horizon\" : 0");
    assertHas(run(USAGE, "checkpoint", "add", url, "pretrain", "decay", "4"), "step=3");
    assertHas(run(USAGE, "checkpoint", "add", url, "pretrain", "far", "999"), "nextStep=");
    assertHas(run(USAGE, "checkpoint", "add", url, "Pre", "far", "1"), "group=Pre");
    assertHas(run(0, "checkpoint", "remove", url, "pretrain", "decay"), "removed at version");
    assertHas(run(0, "checkpoint", "remove", url, "pretrain", "decay"), "not there");
  }

  @Test
  void shouldRefuseACheckpointBelowTheHorizonWithTheHorizon() {
    run(0, "checkpoint", "add", url, "pretrain", "base", "3");
    try (ObjectStore store = Stores.openRetrying(url, Map.of());
        Operator operator = Operator.open(new OperatorContext().store(store))) {
      assertTrue(operator.propose(state -> new Block.Reclaim(3, state.horizon())).accepted());
    }
    assertHas(run(FAILED, "checkpoint", "add", url, "pretrain", "old", "2"), "horizon=3");
    assertHas(run(FAILED, "skip", url, "1..4"), "horizon=3");
  }

  @Test
  void shouldListAndEndSessions() {
    assertHas(run(0, "session", "end", url, "pretrain"), "no live session");
    try (ObjectStore store = Stores.openRetrying(url, Map.of());
        Operator operator = Operator.open(new OperatorContext().store(store))) {
      operator.openSession("pretrain", "run-7", 2, Takeover.REFUSE);
    }
    assertHas(run(0, "session", "list", url), "pretrain", "run-7");
    assertHas(run(0, "session", "list", url, "--json"), "\"protectsFrom\" : 2");
    assertHas(run(0, "session", "end", url, "pretrain", "run-6"), "not live", "live=run-7");
    assertHas(run(0, "session", "end", url, "pretrain"), "ended at version");
    assertHas(run(0, "session", "end", url, "pretrain", "run-7", "--json"), "\"ended\" : false");
  }

  @Test
  void shouldSkipSteps() {
    assertHas(run(0, "skip", url, "1..3"), "skipped at version", "2 steps, 1 to 2");
    assertHas(run(0, "skip", url, "2"), "skipped already");
    assertHas(run(0, "skip", url, "4", "--json"), "\"skipped\" : true", "\"to\" : 5");
    assertHas(run(USAGE, "skip", url, "1-3"), "1000..1020");
    assertHas(run(USAGE, "skip", url, "3..1"), "from=3");
    assertHas(run(USAGE, "skip", url, "1..999"), "nextStep=");
  }

  @Test
  void shouldShowWhoMadeAStepFromWhatAndWhoPassesOverIt() {
    run(0, "skip", url, "1..3");
    assertHas(run(0, "inspect", url, "1"), "a.txt", "ingest", "skippedFrom version");
    try (ObjectStore store = Stores.openRetrying(url, Map.of());
        Operator operator = Operator.open(new OperatorContext().store(store))) {
      operator.openSession("pretrain", "run-7", 2, Takeover.REFUSE);
    }
    assertHas(run(0, "inspect", url), "1..3", "run-7", "2..3");
    assertHas(run(0, "inspect", url, "2"), "passedBy   pretrain/run-7");
    assertHas(run(0, "inspect", url, "2", "--json"), "\"passedBy\" : \"pretrain/run-7\"");
  }

  @Test
  void shouldExplainEachWithAnExampleAndTheSettingsOfStores() {
    for (String[] command :
        new String[][] {
          {"session", "list"},
          {"session", "end"},
          {"checkpoint", "add"},
          {"checkpoint", "list"},
          {"checkpoint", "remove"},
          {"skip"}
        }) {
      String[] help = new String[command.length + 1];
      System.arraycopy(command, 0, help, 0, command.length);
      help[command.length] = "--help";
      assertHas(
          run(0, help),
          "Example",
          "./batchweave " + String.join(" ", command),
          "BATCHWEAVE_S3_ENDPOINT");
    }
    assertHas(run(0, "session", "--help"), "./batchweave session list");
    assertHas(run(0, "checkpoint", "--help"), "./batchweave checkpoint add");
    assertHas(run(USAGE, "session"), "session");
  }
}
