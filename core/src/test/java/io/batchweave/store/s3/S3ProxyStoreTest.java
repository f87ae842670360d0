package io.batchweave.store.s3;

import io.batchweave.store.ObjectStore;
import io.batchweave.store.ObjectStoreContract;
import io.batchweave.store.Stores;
import io.batchweave.store.s3proxy.LocalS3;
import java.nio.file.Path;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;

/** The contract on S3Proxy in this process. */
final class S3ProxyStoreTest extends ObjectStoreContract {
  @TempDir static Path directory;

  private static LocalS3 server;
  private String prefix = "";

  @BeforeAll
  static void start() {
    server = LocalS3.start(directory);
    server.createBucket("bucket");
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  @Override
  protected ObjectStore open() {
    if (prefix.isEmpty()) {
      prefix = "root/" + UUID.randomUUID();
    }
    return Stores.open(server.url("bucket", prefix), server.environment());
  }
}
