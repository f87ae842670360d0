package io.batchweave.benchmarks;

import io.batchweave.store.s3.PartSizes;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import software.amazon.awssdk.crt.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.crt.auth.signing.AwsSigningConfig;
import software.amazon.awssdk.crt.http.HttpHeader;
import software.amazon.awssdk.crt.http.HttpRequest;
import software.amazon.awssdk.crt.http.HttpRequestBodyStream;
import software.amazon.awssdk.crt.io.ClientBootstrap;
import software.amazon.awssdk.crt.io.EventLoopGroup;
import software.amazon.awssdk.crt.io.HostResolver;
import software.amazon.awssdk.crt.s3.ChecksumConfig;
import software.amazon.awssdk.crt.s3.S3Client;
import software.amazon.awssdk.crt.s3.S3ClientOptions;
import software.amazon.awssdk.crt.s3.S3FinishedResponseContext;
import software.amazon.awssdk.crt.s3.S3MetaRequest;
import software.amazon.awssdk.crt.s3.S3MetaRequestOptions;
import software.amazon.awssdk.crt.s3.S3MetaRequestOptions.MetaRequestType;
import software.amazon.awssdk.crt.s3.S3MetaRequestOptions.ResponseFileOption;
import software.amazon.awssdk.crt.s3.S3MetaRequestResponseHandler;

/**
 * The AWS CRT's own S3 client and nothing around it: whole objects into a file, in place, nobody
 * looks at the bytes; and objects from memory. The ceiling of every read from S3 and of every write
 * to it. Same part sizes of reads, connections, event loops and signing as the store has by
 * default, and like it no checksums that S3 does not insist on. One thread.
 */
public final class BareS3 implements AutoCloseable {
  private static final String REGION = "us-east-1";
  private static final long PART_SIZE_BYTES = 8L << 20;
  private static final long MEMORY_LIMIT_BYTES = 1L << 30;
  private static final double THROUGHPUT_GBPS = 10;

  private final URI endpoint;
  private final EventLoopGroup loops;
  private final HostResolver resolver;
  private final ClientBootstrap bootstrap;
  private final StaticCredentialsProvider credentials;
  private final AwsSigningConfig signing;
  private final Ahead ahead;
  private final PartSizes partSizes = new PartSizes(PART_SIZE_BYTES, MEMORY_LIMIT_BYTES);
  private final Map<Split, S3Client> clients = new HashMap<>();

  /** How a client splits: the size of parts, and above which size uploads have several. */
  private record Split(long partSizeBytes, long wholeUploadBytes) {}

  /** How much of an object is asked for ahead of what is written. */
  public enum Ahead {
    /** All of it: nothing holds the client back but its memory. */
    AS_IT_COMES,
    /** As much as the store asks for, so that as many parts are under way. */
    AS_THE_STORE
  }

  /** In what requests an object goes up. */
  public enum Upload {
    /** As the client does it by itself: in parts once it is larger than one. */
    AS_IT_COMES,
    /** As the store does it. */
    AS_THE_STORE
  }

  /**
   * Opens a client that asks for all of an object at once.
   *
   * @param server whom to ask
   */
  public BareS3(LoopbackS3 server) {
    this(server, Ahead.AS_IT_COMES);
  }

  /**
   * Opens a client.
   *
   * @param server whom to ask
   * @param ahead how much of an object it asks for ahead of what is written
   */
  public BareS3(LoopbackS3 server, Ahead ahead) {
    this.ahead = ahead;
    Map<String, String> environment = server.environment();
    endpoint = URI.create(server.endpoint());
    loops = new EventLoopGroup(Math.max(2, Runtime.getRuntime().availableProcessors() / 2));
    resolver = new HostResolver(loops);
    bootstrap = new ClientBootstrap(loops, resolver);
    credentials =
        new StaticCredentialsProvider.StaticCredentialsProviderBuilder()
            .withAccessKeyId(bytes(environment, "AWS_ACCESS_KEY_ID"))
            .withSecretAccessKey(bytes(environment, "AWS_SECRET_ACCESS_KEY"))
            .build();
    signing = AwsSigningConfig.getDefaultS3SigningConfig(REGION, credentials);
  }

  private S3Client client(long partSizeBytes, long wholeUploadBytes) {
    return clients.computeIfAbsent(new Split(partSizeBytes, wholeUploadBytes), this::open);
  }

  private S3Client open(Split split) {
    S3ClientOptions options =
        new S3ClientOptions()
            .withRegion(REGION)
            .withClientBootstrap(bootstrap)
            .withPartSize(split.partSizeBytes())
            .withMultipartUploadThreshold(split.wholeUploadBytes())
            .withThroughputTargetGbps(THROUGHPUT_GBPS)
            .withMemoryLimitInBytes(partSizes.memoryLimitBytes(split.partSizeBytes()))
            .withSigningConfig(signing);
    if (ahead == Ahead.AS_THE_STORE) {
      options
          .withReadBackpressureEnabled(true)
          .withInitialReadWindowSize(partSizes.windowBytes(split.partSizeBytes()));
    }
    return new S3Client(options);
  }

  private static byte[] bytes(Map<String, String> environment, String name) {
    return environment.getOrDefault(name, "").getBytes(StandardCharsets.UTF_8);
  }

  /**
   * Reads a whole object and waits for it.
   *
   * @param objectPath path of the request
   * @param lengthBytes of the object, which decides in what parts it is asked for
   * @param file exists and is long enough
   * @param position where the first byte goes
   */
  public void get(String objectPath, long lengthBytes, Path file, long position) {
    begin(objectPath, lengthBytes, file, position).join();
  }

  /**
   * Begins to read a whole object; the future ends when it has come to rest.
   *
   * @param objectPath path of the request
   * @param lengthBytes of the object, which decides in what parts it is asked for
   * @param file exists and is long enough
   * @param position where the first byte goes
   */
  public CompletableFuture<Void> begin(
      String objectPath, long lengthBytes, Path file, long position) {
    long partSizeBytes = partSizes.of(lengthBytes);
    HttpHeader[] headers = {new HttpHeader("Host", endpoint.getRawAuthority())};
    return send(
        client(partSizeBytes, partSizeBytes),
        new S3MetaRequestOptions()
            .withMetaRequestType(MetaRequestType.GET_OBJECT)
            .withHttpRequest(new HttpRequest("GET", objectPath, headers, null))
            .withResponseFilePath(file)
            .withResponseFileOption(ResponseFileOption.WRITE_TO_POSITION)
            .withResponseFilePosition(position)
            .withChecksumConfig(new ChecksumConfig().withValidateChecksum(false)));
  }

  /** Whether the store writes an object in other requests than this client by itself. */
  static boolean splitsOtherwise(long objectBytes) {
    long wholeBytes = new PartSizes(PART_SIZE_BYTES, MEMORY_LIMIT_BYTES).wholeUploadBytes();
    return objectBytes > PART_SIZE_BYTES != objectBytes > wholeBytes;
  }

  /**
   * Begins to write an object; the future ends when it is there.
   *
   * @param objectPath path of the request
   * @param bytes from 0 to the limit
   * @param upload in what requests
   */
  CompletableFuture<Void> put(String objectPath, ByteBuffer bytes, Upload upload) {
    HttpHeader[] headers = {
      new HttpHeader("Host", endpoint.getRawAuthority()),
      new HttpHeader("Content-Length", Integer.toString(bytes.limit()))
    };
    long wholeBytes =
        upload == Upload.AS_THE_STORE ? partSizes.wholeUploadBytes() : PART_SIZE_BYTES;
    return send(
        client(PART_SIZE_BYTES, wholeBytes),
        new S3MetaRequestOptions()
            .withMetaRequestType(MetaRequestType.PUT_OBJECT)
            .withHttpRequest(new HttpRequest("PUT", objectPath, headers, new Body(bytes))));
  }

  private CompletableFuture<Void> send(S3Client client, S3MetaRequestOptions options) {
    CompletableFuture<Integer> finished = new CompletableFuture<>();
    S3MetaRequest request =
        client.makeMetaRequest(
            options
                .withEndpoint(endpoint)
                .withResponseHandler(
                    new S3MetaRequestResponseHandler() {
                      @Override
                      public void onFinished(S3FinishedResponseContext context) {
                        finished.complete(context.getErrorCode());
                      }
                    }));
    return finished.thenAccept(error -> {
      request.close();
      if (error != 0) {
        throw new IllegalStateException("the bare request failed: crtError=" + error);
      }
    });
  }

  /** The bytes of an object, as the client asks for them. */
  private static final class Body implements HttpRequestBodyStream {
    private final ByteBuffer bytes;

    Body(ByteBuffer bytes) {
      this.bytes = bytes.duplicate();
    }

    @Override
    public boolean sendRequestBody(ByteBuffer target) {
      int length = Math.min(bytes.remaining(), target.remaining());
      target.put(target.position(), bytes, bytes.position(), length);
      target.position(target.position() + length);
      bytes.position(bytes.position() + length);
      return !bytes.hasRemaining();
    }

    @Override
    public boolean resetPosition() {
      bytes.rewind();
      return true;
    }

    @Override
    public long getLength() {
      return bytes.limit();
    }
  }

  @Override
  public void close() {
    clients.values().forEach(S3Client::close);
    clients.values().forEach(client -> client.getShutdownCompleteFuture().join());
    signing.close();
    credentials.close();
    bootstrap.close();
    resolver.close();
    loops.close();
  }
}
