package io.batchweave.store.s3;

import io.batchweave.BatchWeaveException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.agrona.concurrent.SystemNanoClock;
import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.crt.CRT;
import software.amazon.awssdk.crt.CrtResource;
import software.amazon.awssdk.crt.CrtRuntimeException;
import software.amazon.awssdk.crt.auth.credentials.CredentialsProvider;
import software.amazon.awssdk.crt.auth.credentials.DefaultChainCredentialsProvider;
import software.amazon.awssdk.crt.auth.credentials.ProfileCredentialsProvider;
import software.amazon.awssdk.crt.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.crt.auth.signing.AwsSigningConfig;
import software.amazon.awssdk.crt.http.HttpClientConnectionManager;
import software.amazon.awssdk.crt.http.HttpClientConnectionManagerOptions;
import software.amazon.awssdk.crt.http.HttpMonitoringOptions;
import software.amazon.awssdk.crt.io.ClientBootstrap;
import software.amazon.awssdk.crt.io.EventLoopGroup;
import software.amazon.awssdk.crt.io.ExponentialBackoffRetryOptions;
import software.amazon.awssdk.crt.io.HostResolver;
import software.amazon.awssdk.crt.io.SocketOptions;
import software.amazon.awssdk.crt.io.StandardRetryOptions;
import software.amazon.awssdk.crt.io.TlsContext;
import software.amazon.awssdk.crt.io.TlsContextOptions;
import software.amazon.awssdk.crt.s3.S3Client;
import software.amazon.awssdk.crt.s3.S3ClientOptions;
import software.amazon.awssdk.crt.s3.S3DirectBufferPoolOptions;

/**
 * Everything native that one store owns, opened in order and closed in the reverse one. Two kinds
 * of clients share the event loops: plain HTTP connections for requests that must be sent exactly
 * once and for small answers, and the {@link S3Client} for ranges and uploads that are split into
 * parts, one for each size of parts. So a read of the manifest never queues behind a prefetch.
 */
class CrtResources implements AutoCloseable {
  private static final int CONTROL_CONNECTIONS = 64;
  private static final int IDLE_MS = 5_000;

  /** How often a part that failed is sent again. */
  static final int PART_RETRIES = 2;

  private static final long CLOSE_TIMEOUT_NS = TimeUnit.SECONDS.toNanos(30);

  /**
   * Direct memory of a client that lends its parts: what may be under way of one range, or eight
   * small ones. The client takes all of it at once and keeps it.
   */
  static final long LENT_BYTES = 64 << 20;

  private record Owned(CrtResource resource, @Nullable CompletableFuture<Void> closed) {}

  private final ArrayDeque<Owned> owned = new ArrayDeque<>();
  private final S3Settings settings;
  private final Patience patience = new Patience(SystemNanoClock.INSTANCE);
  private boolean closed;
  private final @Nullable CredentialsProvider credentials;
  private final HttpClientConnectionManager connections;
  private final ClientBootstrap bootstrap;
  private final @Nullable TlsContext tls;
  private final Map<Long, S3Client> s3Clients = new HashMap<>();
  private final Map<Long, LendingClient> lendingClients = new ConcurrentHashMap<>();
  private volatile boolean lendingRefused;

  /** Has a thread once a client that lends is to be opened. */
  private final ExecutorService opener =
      Executors.newSingleThreadExecutor(
          Thread.ofPlatform().daemon().name("batchweave-s3-opener").factory());

  @SuppressWarnings("this-escape")
  CrtResources(S3Settings settings) {
    this.settings = settings;
    // Else the runtime stops calling back once the JVM begins to shut down, and a store that a
    // shutdown hook closes would wait in vain for its requests and its resources.
    CRT.acquireShutdownRef();
    boolean opened = false;
    try {
      EventLoopGroup loops =
          new EventLoopGroup(Math.max(2, Runtime.getRuntime().availableProcessors() / 2));
      own(loops, loops.getShutdownCompleteFuture());
      HostResolver resolver = own(new HostResolver(loops), null);
      bootstrap = new ClientBootstrap(loops, resolver);
      own(bootstrap, bootstrap.getShutdownCompleteFuture());
      tls = "https".equals(settings.endpoint().getScheme()) ? openTls() : null;
      credentials = settings.credentials().anonymous() ? null : openCredentials();
      connections = openConnections();
      var _ = s3Client(settings.limits().partSizeBytes());
      patience.start();
      opened = true;
    } catch (CrtRuntimeException e) {
      throw new BatchWeaveException(
          BatchWeaveException.Kind.CONFIG,
          "the S3 client cannot start: "
              + settings.place()
              + " profile="
              + settings.credentials().profile()
              + " reason="
              + e.getMessage()
              + "; check the profile and the credentials files",
          e);
    } finally {
      if (!opened) {
        close();
      }
    }
  }

  private synchronized <T extends CrtResource> T own(
      T resource, @Nullable CompletableFuture<Void> closed) {
    owned.push(new Owned(resource, closed));
    return resource;
  }

  private TlsContext openTls() {
    try (TlsContextOptions options = TlsContextOptions.createDefaultClient()) {
      options.withAlpnList("http/1.1");
      String caFile = settings.limits().caFile();
      if (!caFile.isEmpty()) {
        options.withCertificateAuthority(readCa(caFile));
      }
      return own(new TlsContext(options), null);
    } catch (CrtRuntimeException | IllegalArgumentException e) {
      throw new BatchWeaveException(
          BatchWeaveException.Kind.CONFIG,
          "TLS cannot be set up: caFile="
              + settings.limits().caFile()
              + " reason="
              + e.getMessage()
              + "; it must be a PEM file of certificate authorities",
          e);
    }
  }

  private static String readCa(String caFile) {
    try {
      String pem = Files.readString(Path.of(caFile), StandardCharsets.US_ASCII);
      if (pem.contains("-----BEGIN CERTIFICATE-----")) {
        return pem;
      }
    } catch (IOException e) {
      throw new BatchWeaveException(
          BatchWeaveException.Kind.CONFIG,
          "the file of certificate authorities cannot be read: caFile=" + caFile + " reason=" + e,
          e);
    }
    throw new BatchWeaveException(
        BatchWeaveException.Kind.CONFIG,
        "the file has no certificate: caFile=" + caFile + "; it must be a PEM file");
  }

  private CredentialsProvider openCredentials() {
    S3Settings.Credentials given = settings.credentials();
    CredentialsProvider provider;
    if (!given.accessKeyId().isEmpty()) {
      StaticCredentialsProvider.StaticCredentialsProviderBuilder builder =
          new StaticCredentialsProvider.StaticCredentialsProviderBuilder()
              .withAccessKeyId(given.accessKeyId().getBytes(StandardCharsets.UTF_8))
              .withSecretAccessKey(given.secret().getBytes(StandardCharsets.UTF_8));
      if (!given.token().isEmpty()) {
        builder.withSessionToken(given.token().getBytes(StandardCharsets.UTF_8));
      }
      provider = builder.build();
    } else if (!given.profile().isEmpty()) {
      provider =
          ProfileCredentialsProvider.builder()
              .withClientBootstrap(bootstrap)
              .withProfileName(given.profile())
              .build();
    } else {
      provider =
          new DefaultChainCredentialsProvider.DefaultChainCredentialsProviderBuilder()
              .withClientBootstrap(bootstrap)
              .build();
    }
    return own(provider, provider.getShutdownCompleteFuture());
  }

  private HttpClientConnectionManager openConnections() {
    SocketOptions socket = own(new SocketOptions(), null);
    socket.connectTimeoutMs = settings.limits().connectTimeoutMs();
    int port = settings.endpoint().getPort();
    HttpClientConnectionManagerOptions options =
        new HttpClientConnectionManagerOptions()
            .withClientBootstrap(bootstrap)
            .withSocketOptions(socket)
            .withUri(settings.endpoint())
            .withPort(port >= 0 ? port : tls == null ? 80 : 443)
            .withMaxConnections(CONTROL_CONNECTIONS)
            .withMaxConnectionIdleInMilliseconds(IDLE_MS)
            .withConnectionAcquisitionTimeoutInMilliseconds(acquisitionTimeoutMs())
            .withResponseFirstByteTimeoutInMilliseconds(settings.limits().requestTimeoutMs())
            .withMonitoringOptions(monitoring());
    if (tls != null) {
      options.withTlsContext(tls);
    }
    HttpClientConnectionManager manager = HttpClientConnectionManager.create(options);
    return own(manager, manager.getShutdownCompleteFuture());
  }

  private long acquisitionTimeoutMs() {
    return (long) settings.limits().connectTimeoutMs() + settings.limits().requestTimeoutMs();
  }

  private HttpMonitoringOptions monitoring() {
    HttpMonitoringOptions monitoring = new HttpMonitoringOptions();
    monitoring.setMinThroughputBytesPerSecond(1);
    monitoring.setAllowableThroughputFailureIntervalSeconds(
        Math.max(2, (settings.limits().requestTimeoutMs() + 999) / 1000));
    return monitoring;
  }

  private S3Client openS3Client(long partSizeBytes) {
    return openS3Client(partSizeBytes, new S3ClientOptions());
  }

  /**
   * Opens a client that lends parts of a size, which takes tens of milliseconds, or half a second
   * where direct memory is short. By one thread, once for each size; tests let it take longer.
   */
  S3Client openLendingS3Client(long partSizeBytes) {
    S3ClientOptions lending =
        new S3ClientOptions()
            .withDirectBufferPoolOptions(S3DirectBufferPoolOptions.fixed(LENT_BYTES));
    return openS3Client(partSizeBytes, lending);
  }

  private S3Client openS3Client(long partSizeBytes, S3ClientOptions given) {
    S3ClientOptions options =
        given
            .withRegion(settings.region())
            .withClientBootstrap(bootstrap)
            .withPartSize(partSizeBytes)
            .withMultipartUploadThreshold(partSizeBytes)
            .withThroughputTargetGbps(settings.limits().throughputGbps())
            .withMemoryLimitInBytes(settings.partSizes().memoryLimitBytes(partSizeBytes))
            .withReadBackpressureEnabled(true)
            .withInitialReadWindowSize(settings.partSizes().windowBytes(partSizeBytes))
            .withConnectTimeoutMs(settings.limits().connectTimeoutMs())
            .withHttpMonitoringOptions(monitoring())
            .withStandardRetryOptions(
                new StandardRetryOptions()
                    .withBackoffRetryOptions(
                        new ExponentialBackoffRetryOptions().withMaxRetries(PART_RETRIES)));
    if (settings.limits().maxConnections() > 0) {
      options.withMaxConnections(settings.limits().maxConnections());
    }
    if (tls != null) {
      options.withTlsContext(tls);
    }
    CredentialsProvider provider = credentials;
    if (provider == null) {
      S3Client client = new S3Client(options);
      return own(client, client.getShutdownCompleteFuture());
    }
    try (AwsSigningConfig signing =
        AwsSigningConfig.getDefaultS3SigningConfig(settings.region(), provider)) {
      S3Client client = new S3Client(options.withSigningConfig(signing));
      return own(client, client.getShutdownCompleteFuture());
    }
  }

  /** Whom to sign for; null: nobody. */
  @Nullable CredentialsProvider credentials() {
    return credentials;
  }

  Patience patience() {
    return patience;
  }

  HttpClientConnectionManager connections() {
    return connections;
  }

  /**
   * The client for parts of a size, which is the same for all requests of a client. Those for the
   * parts of large ranges are opened when they are first asked for.
   */
  synchronized S3Client s3Client(long partSizeBytes) {
    requireOpen();
    return s3Clients.computeIfAbsent(partSizeBytes, this::openS3Client);
  }

  /**
   * Runs something once it is known whether parts of a size are lent: at once, or later on the
   * thread that opens the clients for that. Once one was refused, no other is opened: each takes as
   * much, and to be refused takes longest.
   *
   * @param partSizeBytes of the parts
   * @param next must not throw
   */
  void onceKnownWhetherLent(long partSizeBytes, Runnable next) {
    if (lendingRefused || lendingClients.containsKey(partSizeBytes)) {
      next.run();
      return;
    }
    try {
      opener.execute(() -> {
        if (!lendingRefused && !lendingClients.containsKey(partSizeBytes)) {
          openLendingClient(partSizeBytes);
        }
        next.run();
      });
    } catch (RejectedExecutionException | OutOfMemoryError noThread) {
      lendingRefused = true;
      next.run();
    }
  }

  private void openLendingClient(long partSizeBytes) {
    try {
      synchronized (this) {
        requireOpen();
      }
      S3Client client = openLendingS3Client(partSizeBytes);
      lendingClients.put(partSizeBytes, new LendingClient(client, LENT_BYTES));
    } catch (RuntimeException | Error e) {
      // No direct memory; or else whatever keeps a client that writes files from opening too.
      lendingRefused = true;
    }
  }

  /**
   * The client that lends parts of a size, if there is one and it has room left; what was taken
   * must be given back.
   *
   * @param partSizeBytes of the parts
   * @param bytes what the request takes
   */
  @Nullable LendingClient tryLend(long partSizeBytes, long bytes) {
    LendingClient lending = lendingClients.get(partSizeBytes);
    return lending != null && lending.take(bytes) ? lending : null;
  }

  private void requireOpen() {
    if (closed) {
      throw new IllegalStateException("the native resources are closed");
    }
  }

  /** Closes all and waits, so that no native thread of this store is left. */
  @Override
  public void close() {
    // Waits outside the lock: an event loop that asks for a client meanwhile must not wait for us.
    synchronized (this) {
      if (closed) {
        return;
      }
      closed = true;
    }
    opener.shutdown();
    awaitOpener();
    try {
      while (!owned.isEmpty()) {
        Owned next = owned.pop();
        next.resource().close();
        if (next.closed() != null && !(next.resource() instanceof EventLoopGroup)) {
          await(next.closed());
        }
      }
    } finally {
      patience.close();
      CRT.releaseShutdownRef();
    }
  }

  private void awaitOpener() {
    boolean interrupted = false;
    long deadlineNs = SystemNanoClock.INSTANCE.nanoTime() + CLOSE_TIMEOUT_NS;
    try {
      while (true) {
        try {
          long leftNs = deadlineNs - SystemNanoClock.INSTANCE.nanoTime();
          if (!opener.awaitTermination(leftNs, TimeUnit.NANOSECONDS)) {
            throw new IllegalStateException("a client of S3 is still being opened, or used there");
          }
          return;
        } catch (InterruptedException e) {
          interrupted = true; // what it opens is to be closed all the same
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private static void await(CompletableFuture<Void> closed) {
    try {
      closed.get(CLOSE_TIMEOUT_NS, TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException e) {
      throw new IllegalStateException("native resources of the S3 client were not released", e);
    }
  }
}
