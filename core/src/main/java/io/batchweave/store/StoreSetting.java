package io.batchweave.store;

import java.util.Locale;

/**
 * Every setting of a store, given in the query of its URL ({@code ?name=value}) or as a variable;
 * the URL wins. An empty value means unset.
 */
public enum StoreSetting {
  /** What a write survives. */
  FILE_SYNC(
      "file", "sync", "full", "none", "full: synced before acknowledged; none: page cache only"),
  /** Requests at once. */
  FILE_THREADS("file", "threads", "8", "16", "requests that run at once"),
  /** Where the S3 service listens. */
  S3_ENDPOINT(
      "s3",
      "endpoint",
      "",
      "http://127.0.0.1:9000",
      "address of an S3-compatible service; unset: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, then AWS"),
  /** The region requests are signed for. */
  S3_REGION(
      "s3",
      "region",
      "",
      "eu-central-1",
      "region; unset: AWS_REGION, AWS_DEFAULT_REGION, us-east-1"),
  /** Where the bucket's name goes. */
  S3_PATH_STYLE(
      "s3",
      "pathStyle",
      "",
      "true",
      "bucket in the path instead of the host name; unset: true with an endpoint, false on AWS"),
  /** Whether to speak TLS. */
  S3_TLS("s3", "tls", "", "false", "speak TLS; unset: as the endpoint's http:// or https:// says"),
  /** Whom to trust. */
  S3_CA_FILE("s3", "caFile", "", "/etc/ssl/my-ca.pem", "PEM file with the authorities to trust"),
  /** Which checksums to send. */
  S3_CHECKSUMS(
      "s3",
      "checksums",
      "when_required",
      "off",
      "crc32c: sent with every upload; when_required: only where S3 insists;"
          + " off: never, and no multipart upload either, for services that refuse them"),
  /** Whose requests these are. */
  S3_CREDENTIALS(
      "s3",
      "credentials",
      "chain",
      "anonymous",
      "chain: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, else profile, container or instance role;"
          + " anonymous: unsigned"),
  /** Which profile of the credentials files. */
  S3_PROFILE("s3", "profile", "", "training", "profile to take the credentials from"),
  /** Size of a part. */
  S3_PART_SIZE_BYTES(
      "s3",
      "partSizeBytes",
      "8388608",
      "16777216",
      "bytes per part of a split download, and of an upload of more than two parts"),
  /** Native memory. */
  S3_MEMORY_LIMIT_BYTES(
      "s3",
      "memoryLimitBytes",
      "1073741824",
      "2147483648",
      "most native memory for parts of one size on their way into files, at least 1 GiB"),
  /** What the client aims at. */
  S3_THROUGHPUT_GBPS(
      "s3", "throughputGbps", "10", "100", "throughput to aim at; decides the connections opened"),
  /** How many connections. */
  S3_MAX_CONNECTIONS(
      "s3", "maxConnections", "0", "64", "most connections; 0: what the throughput asks for"),
  /** How long to wait for a connection. */
  S3_CONNECT_TIMEOUT_MS(
      "s3", "connectTimeoutMs", "3000", "1000", "longest wait for a connection, in milliseconds"),
  /** How long to wait for an answer. */
  S3_REQUEST_TIMEOUT_MS(
      "s3",
      "requestTimeoutMs",
      "30000",
      "10000",
      "longest wait for the next byte of an answer, in milliseconds");

  private final String scheme;
  private final String label;
  private final String defaultValue;
  private final String example;
  private final String description;

  StoreSetting(
      String scheme, String label, String defaultValue, String example, String description) {
    this.scheme = scheme;
    this.label = label;
    this.defaultValue = defaultValue;
    this.example = example;
    this.description = description;
  }

  /** The scheme of the URLs it belongs to. */
  public String scheme() {
    return scheme;
  }

  /** Its name in the query of a URL. */
  public String label() {
    return label;
  }

  /** The environment variable of the same meaning. */
  public String variable() {
    String snake = label.replaceAll("([a-z])([A-Z])", "$1_$2").toUpperCase(Locale.ROOT);
    return "BATCHWEAVE_" + scheme.toUpperCase(Locale.ROOT) + "_" + snake;
  }

  /** What holds when it is not given; empty: see the description. */
  public String defaultValue() {
    return defaultValue;
  }

  /** A value that makes sense. */
  public String example() {
    return example;
  }

  /** What it does, in one line. */
  public String description() {
    return description;
  }
}
