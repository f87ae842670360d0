package io.batchweave.store.s3;

import io.batchweave.BatchWeaveException;
import io.batchweave.Bytes;
import io.batchweave.store.ByteRange;
import io.batchweave.store.Keys;
import io.batchweave.store.Listing;
import io.batchweave.store.ObjectInfo;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.Payload;
import io.batchweave.store.PutOutcome;
import io.batchweave.store.RangeReceiver;
import io.batchweave.store.StoreException;
import io.batchweave.store.StoreFailure;
import io.batchweave.store.StoreFuture;
import io.batchweave.store.StoreOperation;
import io.batchweave.store.StoreSettings;
import io.batchweave.store.StoreTraits;
import io.batchweave.store.StoreUrl;
import io.batchweave.store.s3.S3Failures.Phase;
import io.batchweave.store.s3.S3Settings.Checksums;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.crt.CrtRuntimeException;
import software.amazon.awssdk.crt.s3.S3Client;
import software.amazon.awssdk.crt.s3.S3MetaRequest;
import software.amazon.awssdk.crt.s3.S3MetaRequestOptions;

/**
 * Objects in a bucket of any S3-compatible service. See the package for how each operation is sent.
 *
 * <p>Thread-safe. Futures complete on the client's native threads, or on the thread that opens
 * clients. {@link #close()} cancels what is in flight, waits until it has come to rest and until
 * the native resources are released.
 */
public final class S3ObjectStore implements ObjectStore {
  private final S3Settings settings;
  private final PartSizes partSizes;
  private final S3Failures failures;
  private final CrtResources resources;
  private final SignedHttp http;
  private final S3Deletes deletes;
  private final S3Lists lists;
  private final Set<StoreFuture<?>> inFlight = ConcurrentHashMap.newKeySet();
  private final Object lock = new Object();
  private int starting;
  private boolean closed;

  /** For the settings, with resources that were opened for them. */
  S3ObjectStore(S3Settings settings, CrtResources resources) {
    this.settings = settings;
    this.partSizes = settings.partSizes();
    this.failures = new S3Failures(settings);
    this.resources = resources;
    this.http = new SignedHttp(settings, failures, resources);
    this.deletes = new S3Deletes(settings, failures, http);
    this.lists = new S3Lists(settings, failures, http);
  }

  /**
   * Opens a store; nothing is sent yet.
   *
   * @param url scheme {@code s3}
   * @param settings its settings
   * @throws BatchWeaveException of kind CONFIG if a setting is wrong
   */
  public static S3ObjectStore open(StoreUrl url, StoreSettings settings) {
    S3Settings all = S3Settings.of(url, settings);
    return new S3ObjectStore(all, new CrtResources(all));
  }

  @Override
  public CompletableFuture<PutOutcome> putIfAbsent(String key, Payload body) {
    Keys.requireKey(key);
    StoreOperation operation = StoreOperation.PUT_IF_ABSENT;
    return guarded(
        operation,
        key,
        () ->
            StoreFuture.follow(
                http.send(putRequest(operation, key, body).withHeader("If-None-Match", "*")),
                answer ->
                    switch (answer.status()) {
                      case 200 -> PutOutcome.CREATED;
                      case 412 -> PutOutcome.EXISTS;
                      default -> throw refused(operation, key, answer);
                    }));
  }

  @Override
  public CompletableFuture<Void> put(String key, Payload body) {
    Keys.requireKey(key);
    StoreOperation operation = StoreOperation.PUT;
    if (settings.multipart() && body.lengthBytes() > partSizes.wholeUploadBytes()) {
      return guarded(operation, key, () -> multipart(key, body));
    }
    return guarded(
        operation,
        key,
        () ->
            StoreFuture.follow(
                http.send(putRequest(operation, key, body)),
                answer -> {
                  if (answer.status() != 200) {
                    throw refused(operation, key, answer);
                  }
                  return null;
                }));
  }

  private S3Request putRequest(StoreOperation operation, String key, Payload body) {
    S3Request request = S3Request.of(operation, key, "PUT", settings.objectPath(key));
    try {
      if (settings.checksums() == Checksums.CRC32C) {
        request = request.withHeader("x-amz-checksum-crc32c", PayloadDigests.crc32cBase64(body));
      }
      String sha256 =
          operation == StoreOperation.PUT_IF_ABSENT
              ? PayloadDigests.sha256Hex(body)
              : S3Request.UNSIGNED;
      return request.withBody(body, sha256);
    } catch (IOException e) {
      throw new StoreException(
              StoreFailure.CONFIG, operation, key, "the payload cannot be read: reason=" + e)
          .withCause(e);
    }
  }

  private StoreFuture<Void> multipart(String key, Payload body) {
    StoreFuture<Void> future = new StoreFuture<>();
    MultipartUpload upload = new MultipartUpload(settings, failures, key, body, future);
    S3Client client = resources.s3Client(settings.limits().partSizeBytes());
    Sending sending = new Sending(client, upload.options(), body.lengthBytes());
    var _ = startMetaRequest(StoreOperation.PUT, key, sending, future);
    return future;
  }

  @Override
  public CompletableFuture<Bytes> get(String key, @Nullable ByteRange range, long maxLengthBytes) {
    Keys.requireKey(key);
    StoreOperation operation = StoreOperation.GET;
    S3Request request =
        S3Request.of(operation, key, "GET", settings.objectPath(key))
            .withMaxAnswerBytes(maxLengthBytes);
    if (range == null) {
      return guarded(
          operation,
          key,
          () -> StoreFuture.follow(http.send(request), answer -> whole(key, answer)));
    }
    long last = range.offset() + range.lengthBytes() - 1;
    S3Request ranged = request.withHeader("Range", "bytes=" + range.offset() + "-" + last);
    return guarded(
        operation,
        key,
        () -> StoreFuture.follow(http.send(ranged), answer -> part(key, range, answer)));
  }

  private Bytes whole(String key, S3Answer answer) {
    if (answer.status() != 200) {
      throw refused(StoreOperation.GET, key, answer);
    }
    return Bytes.wrap(answer.body());
  }

  private Bytes part(String key, ByteRange range, S3Answer answer) {
    if (answer.status() != 206) {
      throw refused(StoreOperation.GET, key, answer);
    }
    ContentRange got = ContentRange.parse(answer.header("content-range"));
    long last = range.offset() + range.lengthBytes() - 1;
    if (got == null
        || got.first() != range.offset()
        || got.last() != (got.total() < 0 ? last : Math.min(last, got.total() - 1))
        || got.lengthBytes() != answer.body().length) {
      throw failures
          .badAnswer(
              StoreOperation.GET,
              key,
              "contentRange="
                  + answer.header("content-range")
                  + " receivedBytes="
                  + answer.body().length
                  + " expectedFirst="
                  + range.offset()
                  + " expectedBytes="
                  + range.lengthBytes())
          .withHttpStatus(answer.status());
    }
    return Bytes.wrap(answer.body());
  }

  @Override
  public CompletableFuture<Long> getInto(
      String key, ByteRange range, Path file, long position, RangeReceiver receiver) {
    Keys.requireKey(key);
    return guarded(
        StoreOperation.GET_INTO,
        key,
        () -> {
          requireTarget(key, file, position, range.lengthBytes());
          StoreFuture<Long> future = new StoreFuture<>();
          receiver.onBegin();
          long partSizeBytes = partSizes.of(range.lengthBytes());
          RangeDownload.Wanted wanted = new RangeDownload.Wanted(range, partSizeBytes, receiver);
          Runnable byFile =
              () -> {
                RangeDownload download = new RangeDownload(settings, failures, key, wanted, future);
                S3Client client = resources.s3Client(partSizeBytes);
                Sending sending =
                    new Sending(client, download.intoFile(file, position), range.lengthBytes());
                download.stopWith(startMetaRequest(StoreOperation.GET_INTO, key, sending, future));
              };
          if (receiver.takesBytes() && mayBeLent(range)) {
            resources.onceKnownWhetherLent(
                partSizeBytes, () -> lendOr(byFile, key, wanted, future));
          } else {
            byFile.run();
          }
          return future;
        });
  }

  private boolean mayBeLent(ByteRange range) {
    return partSizes.underWayBytes(range.lengthBytes()) <= CrtResources.LENT_BYTES;
  }

  /** Lends the bytes if there is room for them; on the caller's thread or a later one. */
  private void lendOr(
      Runnable byFile, String key, RangeDownload.Wanted wanted, StoreFuture<Long> future) {
    if (future.cancelRequested()) {
      future.fail(new CancellationException());
      return;
    }
    long taken = partSizes.underWayBytes(wanted.range().lengthBytes());
    try {
      LendingClient lending = resources.tryLend(wanted.partSizeBytes(), taken);
      if (lending == null) {
        byFile.run();
      } else {
        lend(lending, taken, key, wanted, future);
      }
    } catch (RuntimeException | Error notSent) {
      future.fail(notSent);
    }
  }

  /** What was taken is given back when the request has ended, or here if it does not begin. */
  private void lend(
      LendingClient lending,
      long taken,
      String key,
      RangeDownload.Wanted wanted,
      StoreFuture<Long> future) {
    LentDownload download =
        new LentDownload(settings, failures, key, wanted, future, () -> lending.giveBack(taken));
    Sending sending = new Sending(lending.client, download.options(), wanted.range().lengthBytes());
    Runnable stop;
    try {
      stop = startMetaRequest(StoreOperation.GET_INTO, key, sending, future);
    } catch (RuntimeException | Error notSent) {
      download.giveBack();
      throw notSent;
    }
    download.stopWith(stop);
  }

  private static void requireTarget(String key, Path file, long position, long lengthBytes) {
    String wrong;
    try {
      long size = Files.size(file);
      if (position >= 0 && size - lengthBytes >= position) {
        return;
      }
      wrong = "too short: sizeBytes=" + size;
    } catch (IOException e) {
      wrong = "not readable: reason=" + e;
    }
    throw new StoreException(
        StoreFailure.CONFIG,
        StoreOperation.GET_INTO,
        key,
        "the target file is "
            + wrong
            + " file="
            + file
            + " position="
            + position
            + " lengthBytes="
            + lengthBytes);
  }

  /** So many bytes in parts, by a client for these. */
  private record Sending(S3Client client, S3MetaRequestOptions options, long lengthBytes) {}

  /**
   * Starts it; the answer stops it.
   *
   * @throws StoreException if it was not sent
   */
  private Runnable startMetaRequest(
      StoreOperation operation, String key, Sending sending, StoreFuture<?> future) {
    S3MetaRequest request;
    try {
      request = sending.client().makeMetaRequest(sending.options());
    } catch (CrtRuntimeException e) {
      throw failures.ofCrt(operation, key, e.errorCode, Phase.NOT_SENT).withCause(e);
    }
    RunningRequest running = new RunningRequest(request);
    future.onCancel(running::cancel);
    // Told to stop when its time is over, and not given up before it has: it writes into memory of
    // the caller's, or reads from it.
    long graceMs = settings.graceMs() * (1 + CrtResources.PART_RETRIES);
    resources.patience().watch(future, graceMs, sending::lengthBytes, running::cancel);
    var _ = future.whenComplete((value, thrown) -> running.close());
    return running::cancel;
  }

  /** Cancelling a closed native request would crash the process: one at a time, and in order. */
  private static final class RunningRequest {
    private @Nullable S3MetaRequest request;

    RunningRequest(S3MetaRequest request) {
      this.request = request;
    }

    synchronized void cancel() {
      S3MetaRequest current = request;
      if (current != null) {
        current.cancel();
      }
    }

    synchronized void close() {
      S3MetaRequest current = request;
      request = null;
      if (current != null) {
        current.close();
      }
    }
  }

  @Override
  public CompletableFuture<ObjectInfo> head(String key) {
    Keys.requireKey(key);
    StoreOperation operation = StoreOperation.HEAD;
    S3Request request = S3Request.of(operation, key, "HEAD", settings.objectPath(key));
    return guarded(
        operation,
        key,
        () ->
            StoreFuture.follow(
                http.send(request),
                answer -> {
                  if (answer.status() != 200) {
                    throw refused(operation, key, answer);
                  }
                  try {
                    long size = Long.parseLong(answer.header("content-length"));
                    return new ObjectInfo(size, answer.header("etag"));
                  } catch (NumberFormatException e) {
                    throw failures.badAnswer(operation, key, "no Content-Length");
                  }
                }));
  }

  @Override
  public CompletableFuture<Listing> list(String prefix, int limit) {
    Keys.requirePrefix(prefix);
    if (limit < 1) {
      throw new IllegalArgumentException("limit must be at least 1: limit=" + limit);
    }
    return guarded(StoreOperation.LIST, prefix, () -> lists.list(prefix, limit));
  }

  @Override
  public CompletableFuture<List<String>> delete(List<String> keys) {
    List<String> all = List.copyOf(keys);
    all.forEach(Keys::requireKey);
    if (all.isEmpty()) {
      return CompletableFuture.completedFuture(List.of());
    }
    return guarded(StoreOperation.DELETE, all.getFirst(), () -> deletes.delete(all));
  }

  @Override
  public CompletableFuture<StoreTraits> traits(String scratchKey) {
    Keys.requireKey(scratchKey);
    return guarded(
        StoreOperation.GET,
        scratchKey,
        () ->
            StoreFuture.follow(new S3Traits(settings, http).ask(scratchKey), Function.identity()));
  }

  private StoreException refused(StoreOperation operation, String key, S3Answer answer) {
    return refused(failures, operation, key, answer);
  }

  static StoreException refused(
      S3Failures failures, StoreOperation operation, String key, S3Answer answer) {
    S3Xml.ErrorBody body =
        answer.status() < 300 ? S3Xml.ErrorBody.NONE : S3Xml.parseError(answer.body());
    return failures.ofStatus(
        operation, key, answer.status(), body, answer.header("x-amz-bucket-region"));
  }

  /** Starts a request unless the store is closed, and knows it until it has come to rest. */
  private <T> CompletableFuture<T> guarded(
      StoreOperation operation, String key, Supplier<StoreFuture<T>> start) {
    synchronized (lock) {
      if (closed) {
        return StoreFuture.failed(failures.closed(operation, key));
      }
      starting++;
    }
    StoreFuture<T> request;
    try {
      request = start.get();
      inFlight.add(request);
    } catch (StoreException e) {
      return StoreFuture.failed(e);
    } finally {
      synchronized (lock) {
        starting--;
        lock.notifyAll();
      }
    }
    StoreFuture<T> outer = new StoreFuture<>();
    outer.onCancel(() -> request.cancel(false));
    var _ =
        request.whenComplete((value, thrown) -> {
          boolean closing;
          synchronized (lock) {
            inFlight.remove(request);
            closing = closed;
            lock.notifyAll();
          }
          if (thrown == null) {
            outer.complete(value);
          } else if (closing && !outer.cancelRequested()) {
            outer.fail(failures.closed(operation, key));
          } else {
            outer.fail(thrown);
          }
        });
    synchronized (lock) {
      if (closed) {
        request.cancel(false);
      }
    }
    return outer;
  }

  @Override
  public String url() {
    return "s3://"
        + settings.bucket()
        + (settings.prefix().isEmpty() ? "" : "/" + settings.prefix());
  }

  @Override
  public void close() {
    boolean interrupted = false;
    synchronized (lock) {
      if (closed) {
        return;
      }
      closed = true;
    }
    // One that is just being started sees for itself that the store is closed.
    for (StoreFuture<?> request : inFlight) {
      request.cancel(false);
    }
    synchronized (lock) {
      while (starting > 0 || !inFlight.isEmpty()) {
        try {
          lock.wait();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    }
    resources.close();
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public String toString() {
    return url();
  }
}
