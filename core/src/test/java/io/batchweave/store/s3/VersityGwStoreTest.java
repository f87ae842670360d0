package io.batchweave.store.s3;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.batchweave.store.ObjectStore;
import io.batchweave.store.ObjectStoreContract;
import io.batchweave.store.Stores;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;

/** The contract on a real S3 service that checks signatures, clocks and body hashes. */
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
    return Stores.open(server.url("bucket", prefix), server.environment());
  }
}
