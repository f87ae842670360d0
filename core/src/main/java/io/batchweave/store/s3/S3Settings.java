package io.batchweave.store.s3;

import io.batchweave.BatchWeaveException;
import io.batchweave.store.StoreSetting;
import io.batchweave.store.StoreSettings;
import io.batchweave.store.StoreUrl;
import java.net.URI;
import java.util.List;
import java.util.Locale;

/** What an {@link S3ObjectStore} was told, checked. */
record S3Settings(
    URI endpoint,
    String bucket,
    String prefix,
    String region,
    boolean pathStyle,
    Checksums checksums,
    Credentials credentials,
    Limits limits) {

  /** Which checksums are sent. */
  enum Checksums {
    CRC32C,
    WHEN_REQUIRED,
    OFF
  }

  /** Whom requests are signed for; empty texts are unset. */
  record Credentials(
      boolean anonymous, String accessKeyId, String secret, String token, String profile) {
    @Override
    public String toString() {
      return anonymous ? "anonymous" : "signed";
    }
  }

  /** Sizes and times, and whom to trust. */
  record Limits(
      String caFile,
      long partSizeBytes,
      long memoryLimitBytes,
      double throughputGbps,
      int maxConnections,
      int connectTimeoutMs,
      int requestTimeoutMs) {}

  static S3Settings of(StoreUrl url, StoreSettings settings) {
    String region = settings.text(StoreSetting.S3_REGION);
    if (region.isEmpty()) {
      region = settings.variable("AWS_REGION", "AWS_DEFAULT_REGION");
    }
    if (region.isEmpty()) {
      region = "us-east-1";
    }
    String given = settings.text(StoreSetting.S3_ENDPOINT);
    if (given.isEmpty()) {
      given = settings.variable("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL");
    }
    boolean custom = !given.isEmpty();
    URI service = custom ? custom(settings, given) : aws(settings, region);
    boolean pathStyle =
        settings.flag(StoreSetting.S3_PATH_STYLE, custom || url.bucket().indexOf('.') >= 0);
    URI endpoint =
        pathStyle
            ? service
            : URI.create(
                service.getScheme() + "://" + url.bucket() + "." + service.getRawAuthority());
    String checksums =
        settings.choice(StoreSetting.S3_CHECKSUMS, List.of("crc32c", "when_required", "off"));
    return new S3Settings(
        endpoint,
        url.bucket(),
        url.path(),
        region,
        pathStyle,
        Checksums.valueOf(checksums.toUpperCase(Locale.ROOT)),
        credentials(settings),
        limits(settings));
  }

  private static URI aws(StoreSettings settings, String region) {
    boolean tls = settings.flag(StoreSetting.S3_TLS, true);
    String suffix = region.startsWith("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com";
    return URI.create((tls ? "https" : "http") + "://s3." + region + suffix);
  }

  private static URI custom(StoreSettings settings, String given) {
    String text = given.contains("://") ? given : "https://" + given;
    try {
      URI uri = URI.create(text);
      boolean https = "https".equals(uri.getScheme());
      boolean plainPath = uri.getRawPath().isEmpty() || uri.getRawPath().equals("/");
      if (uri.getHost() != null
          && plainPath
          && uri.getRawQuery() == null
          && (https || "http".equals(uri.getScheme()))) {
        boolean tls = settings.flag(StoreSetting.S3_TLS, https);
        return URI.create((tls ? "https" : "http") + "://" + uri.getRawAuthority());
      }
    } catch (IllegalArgumentException e) {
      // Refused below.
    }
    throw new BatchWeaveException(
        BatchWeaveException.Kind.CONFIG,
        "the endpoint is wrong: endpoint="
            + given
            + "; expected http://host:port or https://host, without a path");
  }

  private static Credentials credentials(StoreSettings settings) {
    boolean anonymous =
        settings
            .choice(StoreSetting.S3_CREDENTIALS, List.of("chain", "anonymous"))
            .equals("anonymous");
    String profile = settings.text(StoreSetting.S3_PROFILE);
    String id = profile.isEmpty() ? settings.variable("AWS_ACCESS_KEY_ID") : "";
    return new Credentials(
        anonymous,
        id,
        settings.variable("AWS_SECRET_ACCESS_KEY"),
        settings.variable("AWS_SESSION_TOKEN"),
        profile.isEmpty() ? settings.variable("AWS_PROFILE") : profile);
  }

  private static Limits limits(StoreSettings settings) {
    long gibibyte = 1L << 30;
    return new Limits(
        settings.text(StoreSetting.S3_CA_FILE),
        settings.number(StoreSetting.S3_PART_SIZE_BYTES, 5L << 20, gibibyte),
        settings.number(StoreSetting.S3_MEMORY_LIMIT_BYTES, gibibyte, 1L << 40),
        settings.number(StoreSetting.S3_THROUGHPUT_GBPS, 1, 10_000),
        (int) settings.number(StoreSetting.S3_MAX_CONNECTIONS, 0, 10_000),
        (int) settings.number(StoreSetting.S3_CONNECT_TIMEOUT_MS, 1, 600_000),
        (int) settings.number(StoreSetting.S3_REQUEST_TIMEOUT_MS, 1, 600_000));
  }

  PartSizes partSizes() {
    return new PartSizes(limits.partSizeBytes(), limits.memoryLimitBytes());
  }

  boolean multipart() {
    return checksums != Checksums.OFF;
  }

  /** What goes into the Host header. */
  String host() {
    return endpoint.getRawAuthority();
  }

  /** The path of the bucket itself. */
  String bucketPath() {
    return pathStyle ? "/" + bucket : "/";
  }

  /** The path of an object; keys need no escaping. */
  String objectPath(String key) {
    return (pathStyle ? "/" + bucket + "/" : "/") + fullKey(key);
  }

  /** A key or prefix as the service knows it. */
  String fullKey(String key) {
    return prefix.isEmpty() ? key : prefix + "/" + key;
  }

  /** A service's key as we know it; empty if it is not below the root. */
  String relativeKey(String fullKey) {
    if (prefix.isEmpty()) {
      return fullKey;
    }
    return fullKey.startsWith(prefix + "/") ? fullKey.substring(prefix.length() + 1) : "";
  }

  /**
   * How long a request may take besides what its bytes take, in milliseconds: a connection, the
   * wait for an answer, and as much again for what goes up and down with pauses.
   */
  long graceMs() {
    return limits.connectTimeoutMs() + 2L * limits.requestTimeoutMs();
  }

  /** Where this store is, for messages. */
  String place() {
    return "bucket=" + bucket + " region=" + region + " endpoint=" + endpoint;
  }
}
