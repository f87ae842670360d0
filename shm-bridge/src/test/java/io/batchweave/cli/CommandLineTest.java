package io.batchweave.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.bridge.daemon.Daemon;
import io.batchweave.bridge.daemon.DaemonContext;
import io.batchweave.demo.RankReport;
import io.batchweave.format.Envelope;
import io.batchweave.format.ObjectNames;
import io.batchweave.format.StreamCodec;
import io.batchweave.format.StreamDescriptor;
import io.batchweave.store.s3proxy.LocalS3;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What people get for what they type: one clear line for a mistake, and the right exit code. */
@Timeout(60)
class CommandLineTest {
  private static final int FAILED = 1;
  private static final int USAGE = 2;

  @TempDir private Path directory;
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();
  private String url = "";

  @BeforeEach
  void nameTheStream() {
    url = directory.resolve("stream").toString();
  }

  private int run(String... args) {
    out.getBuffer().setLength(0);
    err.getBuffer().setLength(0);
    return Main.run(new PrintWriter(out, true), new PrintWriter(err, true), args);
  }

  /** Runs what must fail with one line on standard error that holds all the words. */
  private void refuse(int exitCode, String[] args, String... words) {
    assertEquals(exitCode, run(args), () -> out + "\n" + err);
    String said = err.toString().strip();
    assertEquals(1, said.lines().count(), said);
    for (String word : words) {
      assertTrue(said.contains(word), () -> "'" + word + "' is not in: " + said);
    }
    assertFalse(said.contains("Exception"), said);
  }

  private static String[] args(String... args) {
    return args;
  }

  private Path file(String name, String text) throws IOException {
    return Files.writeString(directory.resolve(name), text);
  }

  private void initStream() {
    assertEquals(0, run("init", url, "--dp", "2"), err::toString);
  }

  @Test
  void shouldExplainEveryCommandWithAnExample() {
    for (String command :
        new String[] {
          "demo", "init", "ingest", "produce", "seal", "serve", "rank", "inspect", "probe",
          "verify", "top"
        }) {
      assertEquals(0, run(command, "--help"));
      assertTrue(out.toString().contains("Example"), command);
      assertTrue(out.toString().contains("./batchweave " + command), command);
    }
  }

  @Test
  void shouldListTheSettingsOfStoresInTheHelpOfEveryCommandThatOpensOne() {
    for (String command :
        new String[] {"init", "ingest", "produce", "seal", "serve", "inspect", "probe", "verify"}) {
      run(command, "--help");
      assertTrue(out.toString().contains("BATCHWEAVE_S3_ENDPOINT"), command);
      assertTrue(out.toString().contains("?pathStyle="), command);
    }
  }

  @Test
  void shouldRefuseAnUnknownOption() {
    refuse(USAGE, args("init", url, "--dp", "2", "--dq", "3"), "--dq", "--help");
  }

  /** An empty value is what a script passes that forgot to set a variable. */
  @Test
  void shouldRefuseAnEmptyValue() throws IOException {
    String file = file("a.txt", "a").toString();
    refuse(USAGE, args("init", "", "--dp", "2"), "URL is empty");
    refuse(USAGE, args("ingest", url, file, "--text-field", ""), "--text-field is empty");
    refuse(USAGE, args("ingest", url, file, "--producer="), "--producer is empty");
    refuse(USAGE, args("ingest", url, file, ""), "PATH is empty");
    refuse(USAGE, args("produce", url, "--producer", ""), "--producer is empty");
    refuse(USAGE, args("session", "end", url, ""), "GROUP is empty");
    refuse(USAGE, args("serve", url, "--dir="), "--dir is empty");
  }

  @Test
  void shouldRefuseWhatCannotBeMeant() throws IOException {
    initStream();
    String file = file("a.txt", "a").toString();
    refuse(USAGE, args("ingest", url, file, "--max-rate", "-1"), "--max-rate");
    refuse(USAGE, args("checkpoint", "add", url, "g", "x", "-1"), "steps count from 0");
    refuse(USAGE, args("session", "end", url, "Bad_Name"), "GROUP", "Bad_Name");
    refuse(USAGE, args("probe", url, "--rounds", "0"), "rounds are 1 to");
    refuse(USAGE, args("top", "--once", "--dir", file), "no directory");
  }

  /** What no daemon would take is told at once, not when none was found in a minute. */
  @Test
  void shouldCheckWhatARankIsBeforeADaemonIsLookedFor() {
    String dir = directory.resolve("nobody").toString();
    for (String[] wrong :
        List.of(
            args("--dp", "1", "dp=1"),
            args("--dp", "-1", "dp=-1"),
            args("--cp", "3", "cp=3"),
            args("--dp-size", "0", "dpSize=0"),
            args("--dp-size", "65537", "at most 65536"),
            args("--local-ranks", "0", "localReaders=0"),
            args("--group", "A_b", "group=A_b"),
            args("--session", "x y", "session=x y"),
            args("--deadline", "0", "--deadline"),
            args("--steps", "-1", "--steps"))) {
      refuse(USAGE, args("rank", url, "--dir", dir, wrong[0], wrong[1]), wrong[2], "--help");
    }
    refuse(FAILED, args("rank", url, "--dir", dir, "--deadline", "1"), "no daemon");
  }

  @Test
  void shouldRefuseAnUnknownCommand() {
    refuse(USAGE, args("initialise", url), "initialise");
  }

  @Test
  void shouldRefuseAGridOutOfRange() {
    refuse(USAGE, args("init", url, "--dp", "0"), "dp=0");
  }

  @Test
  void shouldRefuseAnotherGridForAnExistingStream() {
    initStream();
    assertEquals(0, run("init", url, "--dp", "2"));
    refuse(USAGE, args("init", url, "--dp", "4"), "grid=2x1", "asked=4x1");
  }

  @Test
  void shouldRefuseARootThatIsNoStream() throws IOException {
    Files.createDirectories(Path.of(url));
    refuse(USAGE, args("inspect", url), "stream", "init");
    refuse(USAGE, args("ingest", url, file("a.txt", "a").toString()), "stream", "init");
    refuse(USAGE, args("seal", url), "stream", "init");
  }

  @Test
  void shouldServeNoRootThatIsNoStream() throws IOException {
    Files.createDirectories(Path.of(url));
    Path dir = directory.resolve("shm");
    refuse(
        USAGE,
        args("serve", url, "--memory", "1MiB", "--reserve", "0", "--dir", dir.toString()),
        url,
        "init");
    assertFalse(Files.exists(dir.resolve("ring-0.data")), "left behind");
  }

  @Test
  void shouldTakeNothingOverFromARunningProducerByAMistake() throws IOException {
    initStream();
    String file = file("a.txt", "a").toString();
    refuse(USAGE, args("ingest", url, directory.resolve("nowhere").toString()), "nowhere");
    refuse(USAGE, args("ingest", url, file, "--global-batch", "3"), "globalBatch=3");
    assertEquals(0, run("inspect", url), err::toString);
    assertFalse(out.toString().contains("ingest"), () -> "fenced: " + out);
  }

  /** I2: one clear line, and not only when the time for opening a stream has passed. */
  @Test
  void shouldSayThatNobodyListens() {
    String nowhere =
        "s3://bucket/p?endpoint=http://127.0.0.1:1&region=us-east-1&credentials=anonymous";
    refuse(FAILED, args("inspect", nowhere), "nobody listens");
  }

  @Test
  void shouldRefuseAStreamOfANewerFormat() throws IOException {
    Files.createDirectories(Path.of(url));
    byte[] newer =
        StreamCodec.encode(new StreamDescriptor(UUID.randomUUID(), Envelope.FORMAT, 1, 1, 1));
    Files.write(Path.of(url, ObjectNames.STREAM), newer);
    refuse(FAILED, args("inspect", url), "too new", "upgrade");
  }

  @Test
  void shouldRefuseAMissingPath() {
    initStream();
    String missing = directory.resolve("nowhere").toString();
    refuse(USAGE, args("ingest", url, missing), missing);
  }

  @Test
  void shouldRefuseAnEmptyInput() throws IOException {
    initStream();
    refuse(USAGE, args("ingest", url, file("empty.txt", "").toString()), "empty");
    Files.createDirectory(directory.resolve("void"));
    refuse(USAGE, args("ingest", url, directory.resolve("void").toString()), "void");
  }

  @Test
  void shouldRefuseABatchThatTheGridDoesNotDivide() throws IOException {
    initStream();
    String input = file("a.txt", "text").toString();
    refuse(USAGE, args("ingest", url, input, "--global-batch", "3"), "3", "dp=2");
    assertEquals(0, run("ingest", url, input, "--global-batch", "4"), err::toString);
  }

  @Test
  void shouldNameFileAndLineOfABadJsonLineAndGoOnAfterIt() throws IOException {
    initStream();
    String input =
        file("a.jsonl", "{\"text\":\"one\"}\n{\"text\":\n{\"text\":\"two\"}\n").toString();
    String[] strict = args("ingest", url, input, "--text-field", "text");
    refuse(USAGE, strict, "a.jsonl", "2");
    assertEquals(
        0, run("ingest", url, input, "--text-field", "text", "--on-error", "skip"), err::toString);
    assertTrue(out.toString().contains("1 lines left out"), out::toString);
    assertTrue(err.toString().contains("a.jsonl:2"), err::toString);
  }

  @Test
  void shouldPadAndCountTheLastBatchAndGoOnWhereItWasCommitted() throws IOException {
    initStream();
    Path input = file("a.txt", "x".repeat(100));
    String[] ingest =
        args("ingest", url, input.toString(), "--seq-len", "16", "--global-batch", "4");
    assertEquals(0, run(ingest), err::toString);
    assertTrue(out.toString().contains("committed 2 batches"), out::toString);
    assertTrue(out.toString().contains("and 27 of padding"), out::toString);
    assertEquals(0, run(ingest), err::toString);
    assertTrue(out.toString().contains("committed 0 batches"), out::toString);
    Files.writeString(input, "y".repeat(100));
    refuse(USAGE, ingest, "a.txt");
  }

  @Test
  void shouldShowStreamStepAndSlice() throws IOException {
    initStream();
    String input = file("a.txt", "hello").toString();
    assertEquals(
        0,
        run("ingest", url, input, "--seq-len", "8", "--global-batch", "2", "--seal"),
        err::toString);
    assertEquals(0, run("inspect", url, "--json"));
    assertTrue(out.toString().contains("\"steps\" : 1"), out::toString);
    assertTrue(out.toString().contains("\"sealed\" : true"), out::toString);
    assertEquals(0, run("inspect", url, "0"));
    assertTrue(out.toString().contains("a.txt"), out::toString);
    assertEquals(0, run("inspect", url, "0", "1"));
    assertTrue(out.toString().contains("tokens"), out::toString);
    refuse(USAGE, args("inspect", url, "1"), "sealed");
    refuse(USAGE, args("inspect", url, "0", "2"), "no slice 2");
  }

  @Test
  void shouldFailWhenItsOutputGetsLost() throws IOException {
    StringWriter said = new StringWriter();
    try (PrintWriter full = new PrintWriter(Files.newBufferedWriter(Path.of("/dev/full")))) {
      PrintWriter errors = new PrintWriter(said, true);
      int code = Main.run(full, errors, "--version");
      assertEquals(0, code);
      assertEquals(FAILED, Main.written(full, errors, code));
      assertTrue(said.toString().contains("standard output"), said::toString);
      assertEquals(USAGE, Main.written(full, errors, USAGE));
    }
    PrintWriter sound = new PrintWriter(new StringWriter());
    assertEquals(0, Main.written(sound, new PrintWriter(said), 0));
  }

  @Test
  void shouldNotWaitForAStepThatIsToBeShown() {
    initStream();
    refuse(USAGE, args("inspect", url, "7"), "only 0 steps");
  }

  @Test
  void shouldProbeADirectory() throws IOException {
    assertEquals(0, run("probe", url + "?sync=none", "--rounds", "5"), () -> out + "\n" + err);
    assertTrue(out.toString().contains("create race"), out::toString);
    assertTrue(out.toString().contains("verdict: streams can live here"), out::toString);
    assertEquals(0, run("probe", url + "?sync=none", "--rounds", "5", "--json"), err::toString);
    assertTrue(out.toString().contains("\"sound\" : true"), out::toString);
    assertTrue(err.toString().contains("probe/"), err::toString);
    assertFalse(Files.exists(Path.of(url)), "left behind");
    Path before = Files.createDirectories(Path.of(url, "before"));
    assertEquals(0, run("probe", url + "?sync=none", "--rounds", "5"), () -> out + "\n" + err);
    try (Stream<Path> left = Files.walk(Path.of(url))) {
      assertEquals(List.of(Path.of(url), before), left.sorted().toList());
    }
    refuse(USAGE, args("probe", url, "--connections", "1"), "connections=1");
  }

  /** F8: probe fails and no stream can be made on a store that ignores If-None-Match. */
  @Test
  void shouldMakeNoStreamOnAStoreThatIgnoresConditions() throws IOException {
    try (ForgetfulS3 s3 = new ForgetfulS3()) {
      assertEquals(FAILED, run("probe", s3.url(), "--rounds", "5"), () -> out + "\n" + err);
      assertTrue(out.toString().contains("NO STREAM MAY LIVE HERE"), out::toString);
      refuse(USAGE, args("init", s3.url(), "--dp", "2"), "create race", "--force");
      assertFalse(s3.hasStream());
      assertEquals(0, run("init", s3.url(), "--dp", "2", "--force"), err::toString);
      assertTrue(err.toString().contains("lost or doubled"), err::toString);
      assertTrue(s3.hasStream());
    }
  }

  @Test
  void shouldVerifyAStreamAndNameWhatIsWrong() throws IOException {
    refuse(USAGE, args("verify", url), url);
    initStream();
    String input = file("a.txt", "hello").toString();
    assertEquals(0, run("ingest", url, input, "--seq-len", "8", "--global-batch", "2"));
    assertEquals(0, run("verify", url, "--data"), () -> out + "\n" + err);
    assertTrue(out.toString().endsWith("sound\n"), out::toString);
    Path version = Path.of(url, ObjectNames.version(1));
    byte[] bytes = Files.readAllBytes(version);
    bytes[bytes.length - 1] ^= 1;
    Files.write(version, bytes);
    assertEquals(FAILED, run("verify", url), () -> out + "\n" + err);
    assertTrue(out.toString().contains("WRONG: " + ObjectNames.version(1)), out::toString);
    assertEquals(FAILED, run("verify", url, "--json"), () -> out + "\n" + err);
    assertTrue(out.toString().contains("\"sound\" : false"), out::toString);
  }

  @Test
  void shouldRecordAtInitThatTheStorePassedTheRace() {
    initStream();
    assertEquals(0, run("inspect", url), err::toString);
    assertTrue(out.toString().contains("create-race"), out::toString);
  }

  @Test
  void shouldNameWhatIsWrongWithS3() {
    try (LocalS3 s3 = LocalS3.start(directory.resolve("s3"))) {
      s3.createBucket("present");
      String keys = "&accessKeyId=x&secretAccessKey=y";
      refuse(USAGE, args("inspect", s3.url("present", "p") + keys), "unknown setting");
      refuse(USAGE, args("inspect", "s3://"), "s3://");
    }
  }

  @Test
  void shouldRefuseMoreSharedMemoryThanThereIs() throws IOException {
    initStream();
    refuse(
        USAGE,
        args("serve", url, "--memory", "16TiB", "--dir", directory.resolve("shm").toString()),
        "needed",
        "available",
        "--memory");
  }

  private int runWithInput(String input, String... args) {
    InputStream before = System.in;
    System.setIn(new ByteArrayInputStream(input.getBytes(StandardCharsets.UTF_8)));
    try {
      return run(args);
    } finally {
      System.setIn(before);
    }
  }

  /** The smallest safetensors file: no tensors. */
  private Path slice(String name) throws IOException {
    byte[] file = new byte[Long.BYTES + 2];
    file[0] = 2;
    file[Long.BYTES] = '{';
    file[Long.BYTES + 1] = '}';
    return Files.write(directory.resolve(name), file);
  }

  @Test
  void shouldCommitLinesOfJsonAndTellTheNextRunWhereToGoOn() throws IOException {
    initStream();
    String line =
        "{\"slices\":[\""
            + slice("a.safetensors")
            + "\",\""
            + slice("b.safetensors")
            + "\"],\"state\":{\"at\":7},\"samples\":[1,2],\"origin\":\"here\"}\n";
    assertEquals(0, runWithInput(line + line, "produce", url, "--producer", "p1"), err::toString);
    assertEquals(
        List.of(
            "{\"nextSeq\":1,\"state\":null}", "{\"seq\":1,\"step\":0}", "{\"seq\":2,\"step\":1}"),
        out.toString().lines().toList());
    assertEquals(0, runWithInput("", "produce", url, "--producer", "p1"), err::toString);
    assertEquals("{\"nextSeq\":3,\"state\":{\"at\":7}}", out.toString().strip());
    assertEquals(0, run("inspect", url, "1"));
    assertTrue(out.toString().contains("here"), out::toString);
  }

  @Test
  void shouldNameTheLineOfABadBatchAndCommitNothingOfIt() throws IOException {
    initStream();
    Path good = slice("a.safetensors");
    Path bad = file("b.safetensors", "no safetensors");
    for (String line :
        List.of(
            "nonsense",
            "[".repeat((16 << 20) + 1),
            "{\"slices\":[\"" + good + "\"]}",
            "{\"slices\":[\"" + good + "\",\"" + bad + "\"]}",
            "{\"slices\":[\"" + good + "\",\"" + directory + "/absent\"]}",
            "{\"slices\":[\"" + good + "\",\"" + good + "\"],\"samples\":-1}",
            "{\"slices\":[\"" + good + "\",\"" + good + "\"],\"sates\":1}")) {
      int code = runWithInput(line + "\n", "produce", url, "--producer", "p1");
      assertTrue(code != 0, err::toString);
      assertTrue(err.toString().contains("line 1"), err::toString);
      assertEquals(1, err.toString().lines().count(), err::toString);
    }
    assertEquals(0, run("inspect", url));
    assertTrue(out.toString().contains("steps      0"), out::toString);
  }

  @Test
  void shouldSayThatAReportCannotBeWrittenBeforeLookingForADaemon() {
    Path absent = directory.resolve("absent").resolve("report");
    assertEquals(2, run("rank", url, "--report", absent.toString()), err::toString);
    assertTrue(err.toString().contains(absent.toString()), err::toString);
    assertEquals(1, err.toString().lines().count(), err::toString);
  }

  /** A job of half the stream's size: each rank reads two neighbouring slices of every step. */
  @Test
  void shouldReportAllSlicesOfARankWhenTheJobIsSmallerThanTheGrid() throws IOException {
    assertEquals(0, run("init", url, "--dp", "4"), err::toString);
    String slice = slice("a.safetensors").toString();
    String line =
        "{\"slices\":[\""
            + String.join("\",\"", Collections.nCopies(4, slice))
            + "\"],\"samples\":[1,2,3,4],\"tokens\":[10,20,30,40]}\n";
    assertEquals(0, runWithInput(line + line, "produce", url, "--producer", "p"), err::toString);
    Path shm = Files.createTempDirectory(Path.of("/dev/shm"), "bw-cli-");
    try (Daemon daemon =
        Daemon.launch(
            new DaemonContext()
                .streams(List.of(url))
                .directory(shm)
                .memoryBytes(1 << 20)
                .reserveBytes(0)
                .lines(said -> {}))) {
      for (int dp = 0; dp < 2; dp++) {
        Path report = directory.resolve("rank-" + dp);
        String[] rank = {
          "rank",
          url,
          "--dir",
          daemon.directory().toString(),
          "--session",
          "run-" + dp,
          "--dp",
          String.valueOf(dp),
          "--dp-size",
          "2",
          "--steps",
          "2",
          "--report",
          report.toString()
        };
        assertEquals(0, run(rank), err::toString);
        List<RankReport.Line> lines = RankReport.read(report).lines();
        assertEquals(2, lines.size());
        for (RankReport.Line read : lines) {
          assertEquals(2, read.crc32c().size());
          assertEquals(2 * Files.size(Path.of(slice)), read.bytes());
          assertEquals(dp == 0 ? 1 + 2 : 3 + 4, read.samples());
          assertEquals(dp == 0 ? 10 + 20 : 30 + 40, read.tokens());
        }
      }
    } finally {
      Files.delete(shm.resolve("daemon.lock"));
      Files.delete(shm);
    }
  }
}
