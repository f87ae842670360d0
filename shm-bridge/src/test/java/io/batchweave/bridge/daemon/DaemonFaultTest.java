package io.batchweave.bridge.daemon;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.bridge.handshake.Hello;
import io.batchweave.bridge.rank.RankClient;
import io.batchweave.bridge.rank.StepLease;
import io.batchweave.bridge.ring.FailReason;
import io.batchweave.format.Grid;
import io.batchweave.store.FaultStore;
import io.batchweave.store.FaultStore.Fault;
import io.batchweave.store.StoreOperation;
import io.batchweave.store.Stores;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the daemon does when the store answers wrongly, late, or not at all. */
@Timeout(120)
class DaemonFaultTest extends DaemonFixture {
  private FaultStore faults;

  @BeforeEach
  void openStore() {
    faults = new FaultStore(Stores.open(url(), Map.of()), 7);
  }

  @AfterEach
  void closeStore() {
    faults.close();
  }

  private DaemonContext faulty() {
    return context().storeSupplier(url -> faults);
  }

  /** U28: a flipped bit, and a body that ends early, at random: no rank ever sees either. */
  @Test
  void shouldNeverDeliverAWrongByteWhenAnswersAreDamaged() {
    int steps = 60;
    try (TestStream stream = new TestStream(url(), new Grid(4, 1), SLICE_BYTES);
        Daemon daemon = Daemon.launch(faulty().fetchAttempts(50))) {
      stream.add(steps);
      faults.randomly(StoreOperation.GET_INTO, Fault.FLIPPED_BIT, 0.3);
      faults.randomly(StoreOperation.GET_INTO, Fault.TRUNCATED, 0.2);
      try (RankClient rank = client(of(0, 1, 1), Hello.NO_STEP)) {
        for (long step = 0; step < steps; step++) {
          StepLease lease = rank.next(SOON_NS);
          assertEquals(step, lease == null ? -1 : lease.step());
          for (int dp = 0; lease != null && dp < 4; dp++) {
            assertArrayEquals(
                stream.slice(step, dp, 0),
                lease.slice(lease.find(dp, 0)).toArray(ValueLayout.JAVA_BYTE));
          }
          if (lease != null) {
            lease.release();
          }
        }
      }
      int wrong = faults.injected(Fault.FLIPPED_BIT) + faults.injected(Fault.TRUNCATED);
      assertTrue(wrong > 0);
      // The last ones may hit steps that nobody waited for any more.
      assertTrue(metric(daemon, "batchweave_refetches_total") > 0);
      assertTrue(metric(daemon, "batchweave_checksum_failures_total") <= wrong);
    }
  }

  /** I4: of all reads 30 % answer 503: no step fails, and afterwards all is well. */
  @Test
  void shouldServeEveryStepWhileAThirdOfTheReadsIsThrottled() {
    int steps = 40;
    try (TestStream stream = new TestStream(url(), new Grid(1, 1), SLICE_BYTES);
        Daemon daemon = Daemon.launch(faulty())) {
      stream.add(steps);
      faults.randomly(StoreOperation.GET_INTO, Fault.THROTTLED_503, 0.3);
      faults.randomly(StoreOperation.GET, Fault.THROTTLED_503, 0.3);
      try (RankClient rank = client(alone(), Hello.NO_STEP)) {
        readOn(rank, stream, 0, steps);
        faults.heal(); // the log is read all the time: nothing is counted any more from here on
        int throttled = faults.injected(Fault.THROTTLED_503);
        assertTrue(throttled > 0);
        stream.add(steps);
        readOn(rank, stream, steps, steps);
        assertEquals(throttled, faults.injected(Fault.THROTTLED_503));
      }
      assertEquals(0, metric(daemon, "batchweave_checksum_failures_total"));
    }
    assertEquals(List.of(), lines.stream().filter(line -> line.contains("step failed")).toList());
  }

  private static void readOn(RankClient rank, TestStream stream, long first, int count) {
    for (long step = first; step < first + count; step++) {
      StepLease lease = rank.next(SOON_NS);
      assertEquals(step, lease == null ? -1 : lease.step());
      if (lease != null) {
        assertArrayEquals(
            stream.slice(step, 0, 0), lease.slice(lease.find(0, 0)).toArray(ValueLayout.JAVA_BYTE));
        lease.release();
      }
    }
  }

  private Path dataObject(int index) throws IOException {
    try (Stream<Path> files = Files.walk(root.resolve("data"))) {
      List<Path> objects = files.filter(file -> file.toString().endsWith(".tgb")).sorted().toList();
      return objects.get(index);
    }
  }

  /** U28: an object that is damaged for good fails its step, and is served once repaired. */
  @Test
  void shouldFailTheStepNamingTheObjectAndServeItOnceRepaired() throws IOException {
    try (TestStream stream = new TestStream(url(), new Grid(1, 1), SLICE_BYTES);
        Daemon daemon = Daemon.launch(context().fetchAttempts(2))) {
      stream.add(1);
      Path object = dataObject(0);
      int flipped = flip(object);
      try (TestRank rank = rank(alone(), 0).attach(SOON_NS)) {
        TestRank.Take.Failed failed =
            assertInstanceOf(TestRank.Take.Failed.class, rank.take(SOON_NS));
        assertEquals(FailReason.CORRUPT, failed.reason());
        assertTrue(failed.text().contains(String.valueOf(object.getFileName())), failed.text());
        assertTrue(failed.text().contains("attempts=2"), failed.text());
        assertEquals(0, metric(daemon, "batchweave_steps_published_total"));
        assertEquals(flipped ^ 1, flip(object));
        rank.attachAgain(SOON_NS);
        TestRank.Take.Ready ready = rank.step(SOON_NS);
        assertArrayEquals(stream.slice(0, 0, 0), rank.slice(ready, 0, 0));
      }
      lines.removeIf(line -> line.startsWith("step failed"));
    }
  }

  /** Flips the lowest bit of the first byte and returns what it was. */
  private static int flip(Path object) throws IOException {
    object.toFile().setWritable(true);
    try (RandomAccessFile file = new RandomAccessFile(object.toFile(), "rw")) {
      int was = file.read();
      file.seek(0);
      file.write(was ^ 1);
      return was;
    }
  }

  @Test
  void shouldSayWhyARankWaitsWhileTheStoreIsAwayAndServeItAfterwards() {
    try (TestStream stream = new TestStream(url(), new Grid(1, 1), SLICE_BYTES);
        Daemon daemon = Daemon.launch(faulty())) {
      stream.add(2);
      faults.randomly(StoreOperation.GET_INTO, Fault.UNREACHABLE, 1);
      try (TestRank rank = rank(alone(), 0).attach(SOON_NS)) {
        await(
            "why it waits",
            () -> {
              TestRank.Take.Late late =
                  assertInstanceOf(TestRank.Take.Late.class, rank.take(1_000_000_000L));
              return late.trouble().contains("UNREACHABLE") && late.trouble().contains("step=");
            });
        faults.heal();
        assertEquals(0, rank.step(SOON_NS).step());
      }
      assertTrue(metric(daemon, "batchweave_fetch_failures_total") > 0);
    }
  }

  @Test
  void shouldFailAtOnceWhenTheStoreRefusesTheDaemon() {
    try (TestStream stream = new TestStream(url(), new Grid(1, 1), SLICE_BYTES);
        Daemon daemon = Daemon.launch(faulty())) {
      stream.add(1);
      faults.randomly(StoreOperation.GET_INTO, Fault.ACCESS_DENIED_403, 1);
      try (RankClient rank = client(alone(), 0)) {
        BatchWeaveException denied =
            assertThrows(BatchWeaveException.class, () -> rank.next(SOON_NS));
        assertEquals(Kind.CONFIG, denied.kind());
        faults.heal();
        StepLease lease = rank.next(SOON_NS);
        assertEquals(0, lease == null ? -1 : lease.step());
        if (lease != null) {
          lease.release();
        }
      }
      assertTrue(metric(daemon, "batchweave_steps_failed_total") >= 1);
      lines.removeIf(line -> line.startsWith("step failed"));
    }
  }

  /** A rank that dies while its fetch hangs: the request is cancelled, waited for, and gone. */
  @Test
  void shouldCancelTheFetchesOfASessionThatIsGone() {
    try (TestStream stream = new TestStream(url(), new Grid(1, 1), SLICE_BYTES);
        Daemon daemon = Daemon.launch(faulty())) {
      stream.add(3);
      faults.randomly(StoreOperation.GET_INTO, Fault.HANG, 1);
      try (TestRank rank = rank(alone(), 0).attach(SOON_NS)) {
        await("hanging fetches", () -> metric(daemon, "batchweave_ring_unfinished_fetches") == 3);
        assertEquals(0, rank.nextStep());
      }
      await("cancelled fetches", () -> metric(daemon, "batchweave_ring_unfinished_fetches") == 0);
      assertEquals(3, metric(daemon, "batchweave_fetches_cancelled_total"));
      faults.heal();
      try (TestRank rank = rank(alone(), 0).attach(SOON_NS)) {
        assertArrayEquals(stream.slice(0, 0, 0), rank.slice(rank.step(SOON_NS), 0, 0));
      }
    }
  }
}
