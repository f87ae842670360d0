package io.batchweave.store.probe;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Stores;
import io.batchweave.store.probe.FlawedS3.Flaw;
import io.batchweave.store.probe.ProbeCheck.Verdict;
import io.batchweave.store.probe.ProbePlan.Scope;
import io.batchweave.store.s3.VersityGw;
import io.batchweave.store.s3proxy.LocalS3;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.agrona.concurrent.SystemNanoClock;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Sound stores pass, and each flaw is found by the check that is there for it (F1, F2, F4, F8). */
@Timeout(120)
class ProbeTest {
  private static final ProbePlan SHORT = new ProbePlan(40, 16, Scope.EVERYTHING);

  @TempDir private Path directory;

  private static ProbeReport probe(ObjectStore store, ProbePlan plan) {
    return new Probe(store, plan, SystemNanoClock.INSTANCE, line -> {}).run();
  }

  private static Set<String> failed(ProbeReport report) {
    return report.checks().stream()
        .filter(check -> check.verdict() == Verdict.FAIL)
        .map(ProbeCheck::name)
        .collect(Collectors.toSet());
  }

  private static ProbeCheck check(ProbeReport report, String name) {
    return report.checks().stream()
        .filter(check -> check.name().equals(name))
        .findFirst()
        .orElseThrow(() -> new AssertionError("no check of that name: " + name));
  }

  /** Probes a service with a flaw; whatever it does, nothing may be left on it. */
  private static ProbeReport flawed(ProbePlan plan, Flaw... flaws) throws IOException {
    try (FlawedS3 service = new FlawedS3(flaws);
        ObjectStore store = service.open()) {
      ProbeReport report = probe(store, plan);
      assertEquals(Set.of(), service.keys());
      return report;
    }
  }

  @Test
  void shouldPassADirectoryAndLeaveNothing() throws IOException {
    try (ObjectStore store = Stores.open(directory + "/root?sync=none", Map.of())) {
      ProbeReport report = probe(store, SHORT);
      assertEquals(Set.of(), failed(report), report::failures);
      assertTrue(store.list("", 10).join().objects().isEmpty());
      assertEquals(Verdict.INFO, check(report, "versioning").verdict());
    }
    try (Stream<Path> files = Files.walk(directory)) {
      assertEquals(
          List.of(), files.filter(Files::isRegularFile).filter(f -> !f.endsWith("root")).toList());
    }
  }

  @Test
  void shouldPassLocalS3() {
    try (LocalS3 server = LocalS3.start(directory)) {
      server.createBucket("bucket");
      try (ObjectStore store = Stores.open(server.url("bucket", "root"), server.environment())) {
        ProbeReport report = probe(store, SHORT);
        assertEquals(Set.of(), failed(report), report::failures);
        assertTrue(store.list("", 10).join().objects().isEmpty());
      }
    }
  }

  @Test
  void shouldPassARealService() throws IOException {
    assumeTrue(Files.isExecutable(VersityGw.binary()), "no versitygw; set " + VersityGw.VARIABLE);
    try (VersityGw server = VersityGw.start(Files.createDirectories(directory.resolve("b")))) {
      server.createBucket("bucket");
      try (ObjectStore store = Stores.open(server.url("bucket", "root"), server.environment())) {
        ProbeReport report = probe(store, SHORT);
        assertEquals(Set.of(), failed(report), report::failures);
        assertTrue(store.list("", 10).join().objects().isEmpty());
      }
    }
  }

  @Test
  void shouldReleaseAllRacersTogether() throws IOException {
    ProbeReport report = flawed(new ProbePlan(20, 16, Scope.CREATION));
    assertTrue(check(report, "create race").detail().contains("(16 released together)"));
    assertTrue(report.sound(), report::failures);
  }

  @Test
  void shouldFailWhenTheConditionIsIgnored() throws IOException {
    ProbeReport report = flawed(ProbePlan.CREATION, Flaw.IGNORES_CONDITION);
    assertEquals(Set.of("create race", "create on existing"), failed(report));
    assertTrue(report.failures().contains("If-None-Match"), report::failures);
    String race = check(report, "create race").detail();
    assertTrue(race.contains("was created by"), race);
  }

  @Test
  void shouldFailWhenTheRaceIsLostNowAndThen() throws IOException {
    ProbeReport report = flawed(SHORT, Flaw.RACY_NOW_AND_THEN);
    assertEquals(Set.of("create race"), failed(report));
    assertTrue(report.failures().contains("broken in 1 of 40 rounds"), report::failures);
  }

  @Test
  void shouldFailWhenARefusedCreateReplacesTheObject() throws IOException {
    ProbeReport report = flawed(ProbePlan.CREATION, Flaw.REFUSES_AND_REPLACES);
    assertTrue(failed(report).contains("create on existing"), report::failures);
  }

  @Test
  void shouldFailWhenConditionsAreNotImplemented() throws IOException {
    ProbeReport report = flawed(ProbePlan.CREATION, Flaw.NO_CONDITIONS);
    assertEquals(Set.of("create race", "create on existing"), failed(report));
    assertTrue(report.failures().contains("501"), report::failures);
  }

  @Test
  void shouldFailWhenRangesAreIgnored() throws IOException {
    assertEquals(Set.of("ranged reads"), failed(flawed(SHORT, Flaw.IGNORES_RANGE)));
  }

  @Test
  void shouldFailWhenAPutIsListedLate() throws IOException {
    assertTrue(failed(flawed(SHORT, Flaw.LISTS_LATE)).contains("list after put and delete"));
  }

  @Test
  void shouldFailWhenAnObjectIsLostBetweenPages() throws IOException {
    assertEquals(Set.of("pages of a list"), failed(flawed(SHORT, Flaw.LOSES_AT_PAGE)));
  }

  @Test
  void shouldFailWhenAReplacementIsReadLate() throws IOException {
    assertTrue(failed(flawed(SHORT, Flaw.READS_LATE)).contains("read after write"));
  }

  @Test
  void shouldFailAndSayWhatIsLeftWhenNothingIsDeleted() throws IOException {
    try (FlawedS3 service = new FlawedS3(Flaw.NEVER_DELETES);
        ObjectStore store = service.open()) {
      Probe probe = new Probe(store, SHORT, SystemNanoClock.INSTANCE, line -> {});
      ProbeReport report = probe.run();
      assertTrue(failed(report).contains("read after write"), report::failures);
      ProbeCheck left = check(report, "clean-up");
      assertEquals(Verdict.WARN, left.verdict());
      assertTrue(left.detail().contains(probe.prefix()), left.detail());
    }
  }

  @Test
  void shouldTellVersioningLifecycleAndChecksums() throws IOException {
    ProbeReport report = flawed(ProbePlan.CREATION, Flaw.VERSIONED, Flaw.NO_CHECKSUMS);
    assertTrue(report.sound(), report::failures);
    assertEquals(Verdict.WARN, check(report, "versioning").verdict());
    assertEquals(Verdict.WARN, check(report, "lifecycle rules").verdict());
    assertTrue(check(report, "lifecycle rules").detail().startsWith("1 rule"));
    assertTrue(check(report, "checksum headers").detail().contains("checksums=off"));
    ProbeReport plain = flawed(ProbePlan.CREATION);
    assertEquals("never enabled", check(plain, "versioning").detail());
    assertEquals("no rules", check(plain, "lifecycle rules").detail());
  }

  @Test
  void shouldThrowWhenNobodyIsThere() throws IOException {
    FlawedS3 service = new FlawedS3();
    service.close();
    try (ObjectStore store = service.open()) {
      assertThrows(BatchWeaveException.class, () -> probe(store, SHORT));
    }
  }

  @Test
  void shouldSayHowCertainItIs() {
    String full = ProbePlan.certainty(ProbePlan.FULL.rounds());
    assertTrue(full.contains("one of 200 rounds"), full);
    assertTrue(full.contains("missed with 1 %"), full);
    String quick = ProbePlan.certainty(ProbePlan.QUICK.rounds());
    assertTrue(quick.contains("missed with 61 %"), quick);
    assertFalse(quick.contains("one of 200 rounds"), quick);
  }

  @Test
  void shouldReportProgress() throws IOException {
    List<String> lines = new ArrayList<>();
    long[] now = {0};
    try (FlawedS3 service = new FlawedS3();
        ObjectStore store = service.open()) {
      new Probe(
              store,
              new ProbePlan(3, 4, Scope.CREATION),
              () -> now[0] += 2_000_000_000L,
              lines::add)
          .run();
    }
    assertTrue(lines.contains("create race: 2 of 3"), lines::toString);
  }
}
