package io.batchweave.bridge.daemon;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.bridge.handshake.Hello;
import io.batchweave.bridge.rank.RankClient;
import io.batchweave.bridge.rank.StepLease;
import io.batchweave.bridge.rank.StepTimeoutException;
import io.batchweave.bridge.ring.FailReason;
import io.batchweave.client.Operator;
import io.batchweave.client.OperatorContext;
import io.batchweave.format.Block;
import io.batchweave.format.Grid;
import io.batchweave.log.SkipState;
import io.batchweave.store.FaultStore;
import io.batchweave.store.FaultStore.Fault;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.StoreOperation;
import io.batchweave.store.Stores;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What ranks are told of steps that cannot be served, and what the log is told. */
@Timeout(180)
class FailedStepTest extends DaemonFixture {
  private ObjectStore store;
  private Operator operator;
  private TestStream stream;

  @BeforeEach
  void createStream() {
    stream = new TestStream(url(), new Grid(1, 1), SLICE_BYTES);
    store = Stores.open(url(), Map.of());
    operator = Operator.open(new OperatorContext().store(store));
  }

  @AfterEach
  void closeStream() {
    operator.close();
    store.close();
    stream.close();
    lines.removeIf(line -> line.startsWith("step failed") || line.startsWith("step skipped"));
  }

  private List<Path> objects() throws IOException {
    try (Stream<Path> files = Files.walk(root.resolve("data"))) {
      return files.filter(Files::isRegularFile).toList();
    }
  }

  private static void damage(Path object) throws IOException {
    assertTrue(object.toFile().setWritable(true));
    try (RandomAccessFile file = new RandomAccessFile(object.toFile(), "rw")) {
      int was = file.read();
      file.seek(0);
      file.write(was ^ 1);
    }
  }

  /** One step to an object: what is committed alone is not packed with others. */
  private Path addOne() throws IOException {
    List<Path> before = objects();
    stream.add(1);
    List<Path> added = new ArrayList<>(objects());
    added.removeAll(before);
    assertEquals(1, added.size());
    return added.getFirst();
  }

  @Test
  void shouldFailAllRanksAtACorruptStepAndSkipItForTheNextLaunch() throws IOException {
    Files.createDirectories(root.resolve("data"));
    stream.add(3);
    Path corrupt = addOne();
    stream.add(2);
    damage(corrupt);
    try (Daemon daemon =
        Daemon.launch(context().rings(2).onCorrupt(DaemonContext.OnCorrupt.SKIP))) {
      try (TestRank one = rank(of(0, 1, 2), 2);
          TestRank two = rank(of(0, 1, 2), 2)) {
        Thread first = Thread.ofPlatform().start(() -> one.attach(SOON_NS));
        two.attach(SOON_NS);
        first.join();
        for (TestRank rank : List.of(one, two)) {
          assertEquals(2, rank.step(SOON_NS).step());
          TestRank.Take.Failed failed =
              assertInstanceOf(TestRank.Take.Failed.class, rank.take(SOON_NS));
          assertEquals(FailReason.CORRUPT, failed.reason());
          assertTrue(failed.text().contains("pass over the step"), failed.text());
        }
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
      // Decided before the ranks were told, and once.
      List<SkipState> skips = operator.state().skips();
      assertEquals(1, skips.size());
      assertEquals(3, skips.getFirst().from());
      assertEquals(4, skips.getFirst().to());
      try (TestRank next = rank("run-1", alone(), 3).attach(SOON_NS)) {
        assertEquals(4, next.step(SOON_NS).step());
      }
      assertEquals(1, operator.state().skips().size());
      assertNotNull(daemon);
    }
  }

  /**
   * D5: what a reader asks for that was reclaimed meanwhile is its data or RECLAIMED with the
   * horizon, never an object that is not there.
   */
  @Test
  void shouldSayReclaimedWhenTheBytesWentWhileARankReadSlowly() throws IOException {
    stream.add(30);
    try (Daemon daemon = Daemon.launch(context().prefetchBytes(1));
        RankClient rank = client(alone(), Hello.NO_STEP)) {
      StepLease first = Objects.requireNonNull(rank.next(SOON_NS));
      operator.endSession("train", "run-0");
      operator.operatorPin("other", "kept", 20);
      assertTrue(operator.propose(state -> new Block.Reclaim(20, 0)).accepted());
      for (Path object : objects()) {
        Files.delete(object);
      }
      first.release();
      BatchWeaveException reclaimed =
          assertThrows(
              BatchWeaveException.class,
              () -> {
                for (long step = 1; ; step++) {
                  StepLease lease = Objects.requireNonNull(rank.next(SOON_NS));
                  assertEquals(step, lease.step());
                  assertArrayEquals(
                      stream.slice(step, 0, 0), lease.slice(0).toArray(ValueLayout.JAVA_BYTE));
                  lease.release();
                }
              });
      assertEquals(Kind.RECLAIMED, reclaimed.kind(), reclaimed.getMessage());
      assertTrue(reclaimed.getMessage().contains("horizon=20"), reclaimed.getMessage());
      assertNotNull(daemon);
    }
  }

  /** U19: a store that swallows one request: the rank says so when its deadline passes. */
  @Test
  void shouldNameTheRequestThatTheStoreSwallowedWhenTheDeadlinePasses() throws IOException {
    stream.add(1);
    try (FaultStore faults = new FaultStore(Stores.open(url(), Map.of()), 7);
        Daemon daemon = Daemon.launch(context().storeSupplier(url -> faults))) {
      faults.randomly(StoreOperation.GET_INTO, Fault.HANG, 1);
      try (RankClient rank = client(alone(), Hello.NO_STEP)) {
        String[] text = {""};
        await(
            "the name of the request",
            () -> {
              StepTimeoutException late =
                  assertThrows(
                      StepTimeoutException.class, () -> rank.next(TimeUnit.SECONDS.toNanos(2)));
              text[0] = late.getMessage();
              return text[0].contains("no answer from the store");
            });
        String key = root.relativize(objects().getFirst()).toString();
        for (String fact : List.of("step=0", "rank=0", "key=" + key, "attempts=1", url())) {
          assertTrue(text[0].contains(fact), fact + " in " + text[0]);
        }
      }
      faults.heal();
      faults.releaseHung();
      assertNotNull(daemon);
    }
  }
}
