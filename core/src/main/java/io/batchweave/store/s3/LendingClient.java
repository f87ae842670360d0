package io.batchweave.store.s3;

import java.util.concurrent.atomic.AtomicLong;
import software.amazon.awssdk.crt.s3.S3Client;

/** A client for parts of one size that lends them, and how much room it has for more of them. */
final class LendingClient {
  final S3Client client;
  private final AtomicLong freeBytes;

  LendingClient(S3Client client, long bytes) {
    this.client = client;
    this.freeBytes = new AtomicLong(bytes);
  }

  /** Takes room for what may be under way of a range; says whether there was enough. */
  boolean take(long bytes) {
    if (freeBytes.addAndGet(-bytes) >= 0) {
      return true;
    }
    giveBack(bytes);
    return false;
  }

  void giveBack(long bytes) {
    freeBytes.addAndGet(bytes);
  }
}
