package io.batchweave.benchmarks;

import io.batchweave.store.s3.PartSizes;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import software.amazon.awssdk.crt.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.crt.auth.signing.AwsSigningConfig;
import software.amazon.awssdk.crt.http.HttpHeader;
import software.amazon.awssdk.crt.http.HttpRequest;
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
 * looks at the bytes. The ceiling of every read from S3. Same part sizes, connections, event loops
 * and signing as the store has by default. One thread.
 */
public final class BareGet implements AutoCloseable {
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
  private final PartSizes partSizes = new PartSizes(PART_SIZE_BYTES, MEMORY_LIMIT_BYTES);
  private final Map<Long, S3Client> clients = new HashMap<>();

  /**
   * Opens a client.
   *
   * @param server whom to ask
   */
  public BareGet(LoopbackS3 server) {
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

  private S3Client open(long partSizeBytes) {
    return new S3Client(
        new S3ClientOptions()
            .withRegion(REGION)
            .withClientBootstrap(bootstrap)
            .withPartSize(partSizeBytes)
            .withThroughputTargetGbps(THROUGHPUT_GBPS)
            .withMemoryLimitInBytes(partSizes.memoryLimitBytes(partSizeBytes))
            .withSigningConfig(signing));
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
    CompletableFuture<Integer> finished = new CompletableFuture<>();
    S3Client client = clients.computeIfAbsent(partSizes.of(lengthBytes), this::open);
    HttpHeader[] headers = {new HttpHeader("Host", endpoint.getRawAuthority())};
    S3MetaRequestOptions options =
        new S3MetaRequestOptions()
            .withMetaRequestType(MetaRequestType.GET_OBJECT)
            .withEndpoint(endpoint)
            .withHttpRequest(new HttpRequest("GET", objectPath, headers, null))
            .withResponseFilePath(file)
            .withResponseFileOption(ResponseFileOption.WRITE_TO_POSITION)
            .withResponseFilePosition(position)
            .withChecksumConfig(new ChecksumConfig().withValidateChecksum(false))
            .withResponseHandler(
                new S3MetaRequestResponseHandler() {
                  @Override
                  public void onFinished(S3FinishedResponseContext context) {
                    finished.complete(context.getErrorCode());
                  }
                });
    S3MetaRequest request = client.makeMetaRequest(options);
    return finished.thenAccept(error -> {
      request.close();
      if (error != 0) {
        throw new IllegalStateException("the bare GET failed: crtError=" + error);
      }
    });
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
