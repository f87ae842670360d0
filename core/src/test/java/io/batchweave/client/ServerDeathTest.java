package io.batchweave.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.batchweave.store.ObjectStore;
import io.batchweave.store.Stores;
import io.batchweave.store.s3.VersityGw;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Real producer processes on a real S3 service that dies under them. */
@Timeout(600)
class ServerDeathTest {
  private static final long BATCHES = 40;

  @TempDir Path root;

  /** Killed with SIGKILL and restarted while all are at work: every batch once, in order. */
  @Test
  void shouldHoldEveryBatchOnceWhenTheServerIsKilled() throws Exception {
    serverKilled(4);
  }

  /** The same with many producers, which help each other. */
  @Test
  @Tag("full")
  void shouldHoldEveryBatchOnceWhenTheServerOfManyIsKilled() throws Exception {
    serverKilled(16);
  }

  private void serverKilled(int producers) throws Exception {
    assumeTrue(Files.isExecutable(VersityGw.binary()), "no versitygw: " + VersityGw.binary());
    List<ChildProducer> children = new ArrayList<>();
    try (VersityGw server = VersityGw.start(Files.createDirectory(root.resolve("s3")))) {
      server.createBucket("bucket");
      String url = server.url("bucket", "stream");
      try (ObjectStore store = Stores.openRetrying(url, server.environment())) {
        Streams.create(store, TestBatches.GRID);
        Map<String, Long> all = new TreeMap<>();
        for (int i = 0; i < producers; i++) {
          children.add(
              ChildProducer.start(
                  server.environment(),
                  ProducerMain.class,
                  "-Dproducer.pending=4",
                  url,
                  "p" + i,
                  Long.toString(BATCHES),
                  "0",
                  Integer.toString(i)));
          all.put("p" + i, BATCHES);
        }
        // The first has a third: of the others some have begun and some have not.
        children.getFirst().awaitAcks((int) BATCHES / 3);
        server.kill();
        List<Integer> before = children.stream().map(ChildProducer::acks).toList();
        server.restart();
        for (ChildProducer child : children) {
          assertEquals(0, child.exitCode(), child::end);
        }
        assertTrue(before.stream().anyMatch(acks -> acks < BATCHES), "killed too late: " + before);
        assertEquals(all, new TreeMap<>(TestBatches.check(store)));
        for (ChildProducer child : children) {
          assertEquals(BATCHES, child.acks(), child::end);
        }
      }
    } finally {
      children.forEach(ChildProducer::close);
    }
  }

  /** B6: nothing moves any more: it ends at its cap, or when told to, and says why. */
  @Test
  void shouldEndWithATypedErrorWhenTheServerStaysAway() throws Exception {
    assumeTrue(Files.isExecutable(VersityGw.binary()), "no versitygw: " + VersityGw.binary());
    try (VersityGw server = VersityGw.start(Files.createDirectory(root.resolve("s3")))) {
      server.createBucket("bucket");
      String url = server.url("bucket", "stream");
      try (ObjectStore store = Stores.openRetrying(url, server.environment())) {
        Streams.create(store, TestBatches.GRID);
      }
      try (ChildProducer capped = endless(server, url, "capped", 8);
          ChildProducer told = endless(server, url, "told", 3_600)) {
        capped.awaitAcks(3);
        told.awaitAcks(3);
        server.kill();
        assertEquals(1, capped.exitCode(), capped::end);
        String last = capped.lines().getLast();
        assertTrue(last.startsWith("failed RETRYABLE"), last);
        assertTrue(last.contains("store=s3://bucket/stream"), last);
        assertTrue(last.contains("lastTrouble="), last);
        assertTrue(told.running(), told::end);
        told.signal("TERM");
        assertEquals(143, told.exitCode(), told::end);
      }
    }
  }

  private static ChildProducer endless(
      VersityGw server, String url, String producer, int stallSeconds) throws Exception {
    return ChildProducer.start(
        server.environment(),
        ProducerMain.class,
        "-Dproducer.pending=4",
        "-Dproducer.stallSeconds=" + stallSeconds,
        url,
        producer,
        "1000000",
        "0",
        "1");
  }
}
