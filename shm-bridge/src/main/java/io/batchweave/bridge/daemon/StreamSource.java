package io.batchweave.bridge.daemon;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.client.Streams;
import io.batchweave.format.StreamDescriptor;
import io.batchweave.store.MeteredStore;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.RetryingStore;
import io.batchweave.store.StoreUrl;
import org.agrona.concurrent.NanoClock;
import org.jspecify.annotations.Nullable;

/**
 * One stream that the daemon serves: its store, and what the object {@code stream} says once it
 * could be read. Thread-safe.
 */
final class StreamSource implements AutoCloseable {
  private final String url;
  private final StoreUrl address;
  private final MeteredStore store;
  private final RetryingStore retrying;
  private volatile @Nullable StreamDescriptor descriptor;
  private volatile String trouble;
  private volatile boolean failed;

  /**
   * Creates one; reads nothing.
   *
   * @param url as it was given
   * @param store without retries; closed with this
   * @param clock measures its requests
   * @param seed of the spacing of retries
   */
  StreamSource(String url, ObjectStore store, NanoClock clock, long seed) {
    this.url = url;
    this.address = StoreUrl.parse(url);
    this.store = new MeteredStore(store, clock);
    this.retrying = new RetryingStore(this.store, seed);
    this.trouble = "the stream is being opened: url=" + url;
  }

  /** As it was given, without settings. */
  String url() {
    return store.url();
  }

  /** Every request goes through here, once: for slices, whose retries are the fetcher's. */
  MeteredStore store() {
    return store;
  }

  /** The same with retries: for the log. */
  ObjectStore retryingStore() {
    return retrying;
  }

  /** Whether a rank that names this means this stream: settings are the daemon's business. */
  boolean isNamed(String name) {
    if (name.equals(url) || name.equals(store.url())) {
      return true;
    }
    try {
      StoreUrl asked = StoreUrl.parse(name);
      return asked.scheme().equals(address.scheme())
          && asked.bucket().equals(address.bucket())
          && asked.path().equals(address.path());
    } catch (BatchWeaveException notAnUrl) {
      return false;
    }
  }

  /** Null until it could be read. */
  @Nullable StreamDescriptor descriptor() {
    return descriptor;
  }

  /** Why there is no descriptor; empty if there is one. */
  String trouble() {
    return trouble;
  }

  /** Whether trying again is pointless. */
  boolean isFailed() {
    return failed;
  }

  /**
   * Reads the descriptor, once; called again while {@link #isSettled} says no. Blocks.
   *
   * @return trouble that is new; null if there is none, or still the same
   */
  @Nullable BatchWeaveException describe() {
    if (isSettled()) {
      return null;
    }
    try {
      descriptor = Streams.describe(retrying);
      trouble = "";
      return null;
    } catch (BatchWeaveException e) {
      String text = String.valueOf(e.getMessage());
      boolean isNew = !text.equals(trouble);
      trouble = text;
      failed = e.kind() == Kind.CORRUPT || e.kind() == Kind.TOO_NEW;
      return isNew ? e : null;
    }
  }

  /** Whether nothing is left to find out. */
  boolean isSettled() {
    return failed || descriptor != null;
  }

  @Override
  public void close() {
    retrying.close();
  }
}
