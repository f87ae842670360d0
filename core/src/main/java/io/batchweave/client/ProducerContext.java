package io.batchweave.client;

import io.batchweave.format.Limits;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Configures a {@link Producer}. Setters return this; {@link #conclude} checks, once. */
public final class ProducerContext extends ClientContext<ProducerContext> {
  private @Nullable String producerId;
  private long maxPendingBytes = 256L << 20;
  private int maxPendingBatches = 16_384;
  private int maxUploads = 8;
  private long openTimeoutNs = TimeUnit.SECONDS.toNanos(60);
  private long closeTimeoutNs = TimeUnit.SECONDS.toNanos(60);
  private long stallTimeoutNs = TimeUnit.MINUTES.toNanos(10);
  private CommitListener commitListener = (seq, step) -> {};

  /** Creates one with the defaults. */
  public ProducerContext() {
    super("producer");
  }

  @Override
  ProducerContext self() {
    return this;
  }

  @Override
  void check() {
    if (!Limits.NAME_PATTERN.matcher(producerId()).matches()) {
      throw config("producerId", producerId, "use 1 to 64 characters of a-z, 0-9 and -");
    }
    if (maxPendingBytes < 1) {
      throw config("maxPendingBytes", maxPendingBytes, "give at least 1");
    }
    if (maxPendingBatches < 1) {
      throw config("maxPendingBatches", maxPendingBatches, "give at least 1");
    }
    if (maxUploads < 1) {
      throw config("maxUploads", maxUploads, "give at least 1");
    }
  }

  /** The producer's id. */
  public String producerId() {
    if (producerId == null) {
      throw config("producerId", null, "set a stable id");
    }
    return producerId;
  }

  /**
   * Sets the producer's id, stable across restarts.
   *
   * @param producerId 1 to 64 characters of a-z, 0-9 and -
   */
  public ProducerContext producerId(String producerId) {
    this.producerId = producerId;
    return this;
  }

  /** Bytes of batches added and not yet committed before {@link Producer#add} waits. */
  public long maxPendingBytes() {
    return maxPendingBytes;
  }

  /**
   * Sets the back-pressure by bytes; one batch larger than this is taken alone.
   *
   * @param maxPendingBytes at least 1
   */
  public ProducerContext maxPendingBytes(long maxPendingBytes) {
    this.maxPendingBytes = maxPendingBytes;
    return this;
  }

  /** Batches added and not yet committed before {@link Producer#add} waits. */
  public int maxPendingBatches() {
    return maxPendingBatches;
  }

  /**
   * Sets the back-pressure by count.
   *
   * @param maxPendingBatches at least 1
   */
  public ProducerContext maxPendingBatches(int maxPendingBatches) {
    this.maxPendingBatches = maxPendingBatches;
    return this;
  }

  /** Data objects uploaded at a time. */
  public int maxUploads() {
    return maxUploads;
  }

  /**
   * Sets how many data objects are uploaded at a time.
   *
   * @param maxUploads at least 1
   */
  public ProducerContext maxUploads(int maxUploads) {
    this.maxUploads = maxUploads;
    return this;
  }

  /** Longest wait of {@link Producer#open}, nanoseconds. */
  public long openTimeoutNs() {
    return openTimeoutNs;
  }

  /**
   * Sets the longest wait of {@link Producer#open}.
   *
   * @param openTimeoutNs nanoseconds
   */
  public ProducerContext openTimeoutNs(long openTimeoutNs) {
    this.openTimeoutNs = openTimeoutNs;
    return this;
  }

  /** Longest wait of {@link Producer#close}, nanoseconds. */
  public long closeTimeoutNs() {
    return closeTimeoutNs;
  }

  /**
   * Sets the longest wait of {@link Producer#close} for the fold.
   *
   * @param closeTimeoutNs nanoseconds
   */
  public ProducerContext closeTimeoutNs(long closeTimeoutNs) {
    this.closeTimeoutNs = closeTimeoutNs;
    return this;
  }

  /** Longest time in which nothing is committed while {@link Producer#add} waits, nanoseconds. */
  public long stallTimeoutNs() {
    return stallTimeoutNs;
  }

  /**
   * Sets after how long without any commit a waiting {@link Producer#add} gives up.
   *
   * @param stallTimeoutNs nanoseconds
   */
  public ProducerContext stallTimeoutNs(long stallTimeoutNs) {
    this.stallTimeoutNs = stallTimeoutNs;
    return this;
  }

  /** Told of every committed batch. */
  public CommitListener commitListener() {
    return commitListener;
  }

  /**
   * Sets who is told of every committed batch.
   *
   * @param commitListener called on the agent's thread
   */
  public ProducerContext commitListener(CommitListener commitListener) {
    this.commitListener = commitListener;
    return this;
  }
}
