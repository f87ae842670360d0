package io.batchweave.store.s3;

import static io.batchweave.store.Outcomes.await;
import static io.batchweave.store.Outcomes.bytes;
import static io.batchweave.store.Outcomes.payload;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.batchweave.store.ByteRange;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.ObjectStoreContract;
import io.batchweave.store.Stores;
import io.batchweave.store.TakingStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The contract on a real S3 service that checks signatures, clocks and body hashes; whoever reads a
 * range takes the bytes and writes them, as a daemon does.
 */
final class VersityGwStoreTest extends ObjectStoreContract {
  @TempDir static Path directory;

  private static VersityGw server;
  private String prefix = "";

  @BeforeAll
  static void start() throws IOException {
    assumeTrue(
        Files.isExecutable(VersityGw.binary()),
        "no versitygw at " + VersityGw.binary() + "; set " + VersityGw.VARIABLE);
    server = VersityGw.start(Files.createDirectories(directory.resolve("buckets")));
    server.createBucket("bucket");
  }

  @AfterAll
  static void stop() {
    if (server != null) {
      server.close();
    }
  }

  @Override
  protected ObjectStore open() {
    if (prefix.isEmpty()) {
      prefix = "root/" + UUID.randomUUID();
    }
    return new TakingStore(openLending()).store();
  }

  private ObjectStore openLending() {
    return Stores.open(server.url("bucket", prefix), server.environment());
  }

  @Test
  void shouldLendTheBytesOfARangeInAllItsParts() throws IOException {
    int length = 70 << 20;
    Path file = Files.write(directory.resolve("ring"), new byte[length]);
    await(store.put("key", payload(1, length)));
    try (ObjectStore lending = openLending()) {
      TakingStore taking = new TakingStore(lending);
      assertEquals(length, await(taking.store().getInto("key", new ByteRange(0, length), file, 0)));
      assertEquals(length, taking.lentBytes.get());
    }
    assertArrayEquals(bytes(1, length), Files.readAllBytes(file));
  }
}
