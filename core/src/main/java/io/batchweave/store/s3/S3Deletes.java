package io.batchweave.store.s3;

import io.batchweave.store.Payload;
import io.batchweave.store.StoreException;
import io.batchweave.store.StoreFuture;
import io.batchweave.store.StoreOperation;
import io.batchweave.store.s3.S3Settings.Checksums;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import javax.xml.stream.XMLStreamException;
import org.jspecify.annotations.Nullable;

/**
 * Deletes: up to 1,000 keys to a request, one request after another; where a service refuses that,
 * a request per key, a few at a time, from then on.
 */
final class S3Deletes {
  private static final int KEYS_PER_REQUEST = 1000;
  private static final int SINGLES_AT_ONCE = 8;
  private static final long MAX_ANSWER_BYTES = 2L << 20;

  private final S3Settings settings;
  private final S3Failures failures;
  private final SignedHttp http;
  private volatile boolean singly;

  S3Deletes(S3Settings settings, S3Failures failures, SignedHttp http) {
    this.settings = settings;
    this.failures = failures;
    this.http = http;
  }

  StoreFuture<List<String>> delete(List<String> keys) {
    Run run = new Run(keys);
    run.next();
    return run.future;
  }

  /** One call; every step runs after the one before has answered. */
  private final class Run {
    final StoreFuture<List<String>> future = new StoreFuture<>();
    private final List<String> keys;
    private final List<String> failed = new ArrayList<>();
    private @Nullable Throwable lastFailure;
    private int at;

    Run(List<String> keys) {
      this.keys = keys;
    }

    void next() {
      if (at >= keys.size()) {
        Throwable thrown = lastFailure;
        if (thrown != null && failed.size() == keys.size()) {
          future.fail(thrown);
        } else {
          future.complete(List.copyOf(failed));
        }
      } else if (future.cancelRequested()) {
        future.fail(failures.closed(StoreOperation.DELETE, keys.getFirst()));
      } else if (singly) {
        nextSingles();
      } else {
        nextBatch();
      }
    }

    private void nextBatch() {
      List<String> batch = keys.subList(at, Math.min(keys.size(), at + KEYS_PER_REQUEST));
      StoreFuture<S3Answer> request = http.send(batchRequest(batch));
      future.onCancel(() -> request.cancel(false));
      var _ =
          request.whenComplete((answer, thrown) -> {
            if (thrown == null && refusesBatches(answer)) {
              singly = true;
              next();
              return;
            }
            if (thrown != null) {
              failAll(batch, StoreFuture.unwrap(thrown));
            } else {
              takeBatch(batch, answer);
            }
            at += batch.size();
            next();
          });
    }

    private void takeBatch(List<String> batch, S3Answer answer) {
      try {
        if (answer.status() != 200) {
          throw S3ObjectStore.refused(failures, StoreOperation.DELETE, batch.getFirst(), answer);
        }
        Set<String> asked = new HashSet<>(batch);
        for (S3Xml.DeleteFailure failure : S3Xml.parseDelete(answer.body())) {
          String key = settings.relativeKey(failure.key());
          if (asked.contains(key) && !failure.code().equals("NoSuchKey")) {
            failed.add(key);
          }
        }
      } catch (StoreException e) {
        failAll(batch, e);
      } catch (XMLStreamException e) {
        failAll(
            batch,
            failures.badAnswer(
                StoreOperation.DELETE, batch.getFirst(), "no DeleteResult: " + e.getMessage()));
      }
    }

    private void failAll(List<String> batch, Throwable thrown) {
      failed.addAll(batch);
      lastFailure = thrown;
    }

    private void nextSingles() {
      List<String> batch = keys.subList(at, Math.min(keys.size(), at + SINGLES_AT_ONCE));
      List<StoreFuture<S3Answer>> requests = batch.stream().map(this::sendSingle).toList();
      future.onCancel(() -> requests.forEach(request -> request.cancel(false)));
      var _ =
          StoreFuture.allOf(requests.toArray(StoreFuture<?>[]::new))
              .whenComplete((ignored, thrown) -> {
                for (int i = 0; i < batch.size(); i++) {
                  takeSingle(batch.get(i), requests.get(i));
                }
                at += batch.size();
                next();
              });
    }

    private StoreFuture<S3Answer> sendSingle(String key) {
      return http.send(
          S3Request.of(StoreOperation.DELETE, key, "DELETE", settings.objectPath(key)));
    }

    private void takeSingle(String key, StoreFuture<S3Answer> request) {
      var _ =
          request.whenComplete((answer, thrown) -> {
            if (thrown != null) {
              failAll(List.of(key), StoreFuture.unwrap(thrown));
            } else if (!isGone(answer)) {
              failAll(
                  List.of(key),
                  S3ObjectStore.refused(failures, StoreOperation.DELETE, key, answer));
            }
          });
    }
  }

  private static boolean isGone(S3Answer answer) {
    return switch (answer.status()) {
      case 200, 204 -> true;
      case 404 -> !S3Xml.parseError(answer.body()).code().equals("NoSuchBucket");
      default -> false;
    };
  }

  private static boolean refusesBatches(S3Answer answer) {
    return switch (answer.status()) {
      case 405, 501 -> true;
      case 400 -> S3Xml.parseError(answer.body()).code().equals("NotImplemented");
      default -> false;
    };
  }

  private S3Request batchRequest(List<String> batch) {
    byte[] body =
        S3Xml.deleteBody(batch.stream().map(settings::fullKey).toList())
            .getBytes(StandardCharsets.US_ASCII);
    Payload payload = Payload.of(List.of(ByteBuffer.wrap(body)));
    try {
      S3Request request =
          S3Request.of(
                  StoreOperation.DELETE,
                  batch.getFirst(),
                  "POST",
                  settings.bucketPath() + "?delete=")
              .withHeader("Content-MD5", PayloadDigests.md5Base64(body))
              .withHeader("Content-Type", "application/xml")
              .withBody(payload, PayloadDigests.sha256Hex(payload))
              .withMaxAnswerBytes(MAX_ANSWER_BYTES);
      return settings.checksums() == Checksums.CRC32C
          ? request.withHeader("x-amz-checksum-crc32c", PayloadDigests.crc32cBase64(payload))
          : request;
    } catch (IOException e) {
      throw new IllegalStateException("bytes in memory can be read", e);
    }
  }
}
