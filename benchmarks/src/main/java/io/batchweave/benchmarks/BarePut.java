package io.batchweave.benchmarks;

import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
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
import software.amazon.awssdk.crt.s3.S3Client;
import software.amazon.awssdk.crt.s3.S3ClientOptions;
import software.amazon.awssdk.crt.s3.S3FinishedResponseContext;
import software.amazon.awssdk.crt.s3.S3MetaRequest;
import software.amazon.awssdk.crt.s3.S3MetaRequestOptions;
import software.amazon.awssdk.crt.s3.S3MetaRequestOptions.MetaRequestType;
import software.amazon.awssdk.crt.s3.S3MetaRequestResponseHandler;

/**
 * The AWS CRT's own S3 client and nothing around it: objects from memory. The ceiling of every
 * write to S3. Same part size, connections, event loops and signing as the store has by default,
 * and like it no checksums that S3 does not insist on.
 */
final class BarePut implements AutoCloseable {
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
  private final S3Client client;

  BarePut(LoopbackS3 server) {
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
    client =
        new S3Client(
            new S3ClientOptions()
                .withRegion(REGION)
                .withClientBootstrap(bootstrap)
                .withPartSize(PART_SIZE_BYTES)
                .withMultipartUploadThreshold(PART_SIZE_BYTES)
                .withThroughputTargetGbps(THROUGHPUT_GBPS)
                .withMemoryLimitInBytes(MEMORY_LIMIT_BYTES)
                .withSigningConfig(signing));
  }

  private static byte[] bytes(Map<String, String> environment, String name) {
    return environment.getOrDefault(name, "").getBytes(StandardCharsets.UTF_8);
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

  /**
   * Writes an object.
   *
   * @param objectPath path of the request
   * @param bytes from 0 to the limit
   */
  CompletableFuture<Void> put(String objectPath, ByteBuffer bytes) {
    CompletableFuture<Void> finished = new CompletableFuture<>();
    HttpHeader[] headers = {
      new HttpHeader("Host", endpoint.getRawAuthority()),
      new HttpHeader("Content-Length", Integer.toString(bytes.limit()))
    };
    S3MetaRequestOptions options =
        new S3MetaRequestOptions()
            .withMetaRequestType(MetaRequestType.PUT_OBJECT)
            .withEndpoint(endpoint)
            .withHttpRequest(new HttpRequest("PUT", objectPath, headers, new Body(bytes)))
            .withResponseHandler(
                new S3MetaRequestResponseHandler() {
                  @Override
                  public void onFinished(S3FinishedResponseContext context) {
                    int error = context.getErrorCode();
                    if (error == 0) {
                      finished.complete(null);
                    } else {
                      finished.completeExceptionally(
                          new IllegalStateException("the bare PUT failed: crtError=" + error));
                    }
                  }
                });
    S3MetaRequest request = client.makeMetaRequest(options);
    return finished.whenComplete((value, thrown) -> request.close());
  }

  @Override
  public void close() {
    client.close();
    client.getShutdownCompleteFuture().join();
    signing.close();
    credentials.close();
    bootstrap.close();
    resolver.close();
    loops.close();
  }
}
