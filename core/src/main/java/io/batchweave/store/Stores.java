package io.batchweave.store;

import io.batchweave.BatchWeaveException;
import io.batchweave.store.file.FileObjectStore;
import io.batchweave.store.file.FileObjectStore.Durability;
import io.batchweave.store.s3.S3ObjectStore;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.List;
import java.util.Map;

/** Opens the store a URL names. */
public final class Stores {
  private Stores() {}

  /**
   * Opens a store: {@code file:/path} or a plain path, {@code s3://bucket/prefix?setting=value};
   * settings are described by {@link StoreSettings#describe}. The store sends every request once;
   * wrap it in {@link RetryingStore} for retries.
   *
   * @param url the root
   * @param environment variables that settings are read from, usually {@code System.getenv()}
   * @throws BatchWeaveException of kind CONFIG if the URL or a setting is wrong
   */
  public static ObjectStore open(String url, Map<String, String> environment) {
    StoreUrl parsed = StoreUrl.parse(url);
    StoreSettings settings = StoreSettings.resolve(parsed, environment);
    return switch (parsed.scheme()) {
      case "file" -> openFile(parsed, settings);
      case "s3" -> S3ObjectStore.open(parsed, settings);
      default -> throw new IllegalStateException("unknown scheme: scheme=" + parsed.scheme());
    };
  }

  /**
   * Opens a store that repeats what may be repeated, with the default policy and jitter of its own.
   *
   * @param url the root
   * @param environment variables that settings are read from, usually {@code System.getenv()}
   * @throws BatchWeaveException as {@link #open}
   */
  public static ObjectStore openRetrying(String url, Map<String, String> environment) {
    return new RetryingStore(open(url, environment), new SecureRandom().nextLong());
  }

  private static ObjectStore openFile(StoreUrl url, StoreSettings settings) {
    String sync = settings.choice(StoreSetting.FILE_SYNC, List.of("full", "none"));
    return FileObjectStore.open(
        Path.of(url.path()),
        sync.equals("full") ? Durability.SYNCED : Durability.PAGE_CACHE,
        (int) settings.number(StoreSetting.FILE_THREADS, 1, 1024));
  }
}
