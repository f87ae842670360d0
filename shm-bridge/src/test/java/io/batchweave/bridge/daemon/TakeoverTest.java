package io.batchweave.bridge.daemon;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.batchweave.bridge.SmallFileSystem;
import io.batchweave.bridge.rank.RankClient;
import io.batchweave.bridge.rank.StepLease;
import io.batchweave.format.Grid;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The next daemon goes on with the ring of one that was killed, under living ranks. */
@Timeout(180)
class TakeoverTest extends DaemonFixture {
  private static void check(TestStream stream, StepLease lease, int dp) {
    assertArrayEquals(
        stream.slice(lease.step(), dp, 0),
        lease.slice(lease.find(dp, 0)).toArray(ValueLayout.JAVA_BYTE));
  }

  private static StepLease take(TestStream stream, RankClient rank, int dp, long step) {
    StepLease lease = Objects.requireNonNull(rank.next(SOON_NS));
    assertEquals(step, lease.step());
    check(stream, lease, dp);
    return lease;
  }

  private Object inode(Path at) throws IOException {
    return Files.getAttribute(at.resolve("ring-0.data"), "unix:ino");
  }

  /** What was prefetched is not fetched again, and what a rank holds stays where it is. */
  @Test
  void shouldGoOnInTheSamePlacesWithoutFetchingAgain() throws IOException {
    try (TestStream stream = new TestStream(url(), new Grid(1, 1), SLICE_BYTES)) {
      stream.add(40);
      ServedDaemon first = ServedDaemon.serving(directory, url(), 4 << 20);
      try {
        RankClient rank = client(alone(), 0);
        Object inode = inode(directory);
        for (long step = 0; step < 10; step++) {
          take(stream, rank, 0, step).release();
        }
        StepLease held = take(stream, rank, 0, 10);
        await("prefetched", () -> first.metric("batchweave_steps_published_total") == 40);
        first.kill();
        try (ServedDaemon second = ServedDaemon.serving(directory, url(), 4 << 20);
            rank) {
          check(stream, held, 0);
          for (long step = 11; step < 40; step++) {
            StepLease lease = take(stream, rank, 0, step);
            if (step == 20) {
              check(stream, held, 0);
              held.release();
            }
            lease.release();
          }
          assertEquals(inode, inode(directory));
          assertEquals(2, rank.attachments());
          assertEquals(0, second.metric("batchweave_store_requests_total", "getInto"));
          assertTrue(second.lines().stream().anyMatch(line -> line.startsWith("goes on with")));
          stream.add(300);
          for (long step = 40; step < 340; step++) {
            take(stream, rank, 0, step).release();
          }
        }
      } finally {
        first.close();
      }
    }
  }

  /**
   * U41: the ring is full of prefetched steps, ranks hold one step each at different steps, the
   * daemon is killed and its file system has not a page left: the next one goes on; nothing is
   * lost, doubled or foreign.
   */
  @Test
  void shouldGoOnWhenTheRingIsFullAndTheFileSystemToo() throws Exception {
    int ranks = 3;
    try (SmallFileSystem small = SmallFileSystem.mount(root, 48);
        TestStream stream = new TestStream(url(), new Grid(ranks, 1), SLICE_BYTES);
        ExecutorService threads = Executors.newFixedThreadPool(ranks)) {
      stream.add(120);
      Path at = small.path().resolve("daemon");
      ServedDaemon first = ServedDaemon.serving(at, url(), 1 << 20);
      try {
        List<Future<RankClient>> clients =
            IntStream.range(0, ranks)
                .mapToObj(dp -> threads.submit(() -> client(at, of(dp, ranks, ranks), 0)))
                .toList();
        StepLease[] held = new StepLease[ranks];
        for (int dp = 0; dp < ranks; dp++) {
          RankClient rank = clients.get(dp).get();
          for (int step = 0; step < 2 + 2 * dp; step++) {
            take(stream, rank, dp, step).release();
          }
          held[dp] = take(stream, rank, dp, 2 + 2L * dp);
        }
        await("a full ring", () -> first.metric("batchweave_ring_blocked_bytes") > 0);
        small.fill();
        first.kill();
        try (ServedDaemon second = ServedDaemon.serving(at, url(), 1 << 20)) {
          List<Future<Void>> read =
              IntStream.range(0, ranks)
                  .mapToObj(dp ->
                      threads.submit(() -> {
                        RankClient rank = clients.get(dp).get();
                        StepLease before = held[dp];
                        for (long step = 3 + 2L * dp; step < 120; step++) {
                          StepLease lease = take(stream, rank, dp, step);
                          check(stream, before, dp);
                          before.release();
                          before = lease;
                        }
                        before.release();
                        rank.close();
                        return (Void) null;
                      }))
                  .toList();
          for (Future<Void> one : read) {
            one.get();
          }
          assertTrue(second.isAlive());
        }
      } finally {
        first.close();
        small.makeRoom();
      }
    }
  }
}
