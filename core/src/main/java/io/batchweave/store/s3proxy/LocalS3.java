package io.batchweave.store.s3proxy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.gaul.s3proxy.S3Proxy;
import org.gaul.s3proxy.auth.AuthenticationType;
import org.gaul.s3proxy.blobstore.BlobStore;
import org.gaul.s3proxy.nio2blob.FilesystemNio2BlobStore;

/**
 * S3Proxy on 127.0.0.1 and a free port, over a directory: a bucket is a folder, an object a file.
 * Checks signatures. Its create-if-absent is atomic.
 */
public final class LocalS3 implements AutoCloseable {
  private static final String ACCESS_KEY_ID = "local-access-key";
  private static final String SECRET_ACCESS_KEY = "local-secret-key";

  private final Path directory;
  private final BlobStore blobs;
  private final S3Proxy proxy;

  private LocalS3(Path directory, BlobStore blobs, S3Proxy proxy) {
    this.directory = directory;
    this.blobs = blobs;
    this.proxy = proxy;
  }

  /**
   * Starts an endpoint; it listens when this returns.
   *
   * @param directory holds the buckets; created if absent
   * @throws UncheckedIOException if the directory cannot be made or no port is free
   */
  public static LocalS3 start(Path directory) {
    try {
      Files.createDirectories(directory);
      BlobStore blobs = new FilesystemNio2BlobStore(directory.toAbsolutePath().toString());
      S3Proxy proxy =
          S3Proxy.builder()
              .blobStore(blobs)
              .endpoint(URI.create("http://127.0.0.1:0"))
              .awsAuthentication(AuthenticationType.AWS_V2_OR_V4, ACCESS_KEY_ID, SECRET_ACCESS_KEY)
              .ignoreUnknownHeaders(true)
              .build();
      proxy.start();
      return new LocalS3(directory, blobs, proxy);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot start S3 in this process: directory=" + directory, e);
    } catch (Exception e) {
      throw new IllegalStateException("cannot start S3 in this process: " + e.getMessage(), e);
    }
  }

  /**
   * Creates a bucket if there is none of that name.
   *
   * @param bucket at least 3 characters
   */
  public void createBucket(String bucket) {
    try {
      Files.createDirectories(directory.resolve(bucket));
    } catch (IOException e) {
      throw new UncheckedIOException("cannot create the bucket: bucket=" + bucket, e);
    }
  }

  /** Where it listens. */
  public URI endpoint() {
    return URI.create("http://127.0.0.1:" + proxy.getPort());
  }

  /**
   * The URL of a root here; credentials come from {@link #environment}.
   *
   * @param bucket an existing bucket
   * @param prefix may be empty
   */
  public String url(String bucket, String prefix) {
    return "s3://" + bucket + "/" + prefix + "?endpoint=" + endpoint() + "&region=us-east-1";
  }

  /** The variables to open a store with. */
  public Map<String, String> environment() {
    return Map.of("AWS_ACCESS_KEY_ID", ACCESS_KEY_ID, "AWS_SECRET_ACCESS_KEY", SECRET_ACCESS_KEY);
  }

  @Override
  public void close() {
    try {
      proxy.stop();
    } catch (Exception e) {
      throw new IllegalStateException("cannot stop S3 in this process: " + e.getMessage(), e);
    } finally {
      blobs.close();
    }
  }
}
