package io.batchweave.store.s3;

import io.batchweave.store.ByteRange;
import io.batchweave.store.RangeReceiver;
import io.batchweave.store.StoreException;
import io.batchweave.store.StoreFailure;
import io.batchweave.store.StoreFuture;
import io.batchweave.store.StoreOperation;
import io.batchweave.store.s3.S3Failures.Phase;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.crt.CRT;
import software.amazon.awssdk.crt.http.HttpHeader;
import software.amazon.awssdk.crt.http.HttpRequest;
import software.amazon.awssdk.crt.s3.ChecksumConfig;
import software.amazon.awssdk.crt.s3.S3FinishedResponseContext;
import software.amazon.awssdk.crt.s3.S3MetaRequestOptions;
import software.amazon.awssdk.crt.s3.S3MetaRequestOptions.MetaRequestType;
import software.amazon.awssdk.crt.s3.S3MetaRequestOptions.ResponseFileOption;
import software.amazon.awssdk.crt.s3.S3MetaRequestProgress;
import software.amazon.awssdk.crt.s3.S3MetaRequestResponseHandler;
import software.amazon.awssdk.crt.s3.S3RequestMetrics;

/**
 * One range on its way into a file, written natively, part by part, in place, or as a {@link
 * LentDownload}. Always {@code GET_OBJECT} with a Range: {@code DEFAULT} lets a service that
 * answers too much write behind the region. The CRT takes a range that ends past the end, or a last
 * part that is short, for a success: length and position are checked here.
 */
class RangeDownload implements S3MetaRequestResponseHandler {
  private static final String CONTENT_RANGE = "content-range";

  /** More than a C library keeps in the buffer of a file. */
  private static final long BUFFERED_BYTES = 64 << 10;

  /** What is read, in what parts, and who hears of it. */
  record Wanted(ByteRange range, long partSizeBytes, RangeReceiver receiver) {}

  final StoreFuture<Long> future;
  final ByteRange range;
  final RangeReceiver receiver;
  private final S3Settings settings;
  private final S3Failures failures;
  private final String key;
  private final long partSizeBytes;
  private final AtomicLong transferredBytes = new AtomicLong();
  private volatile String contentRange = "";
  private volatile int status;
  private volatile boolean rangeIsRight;
  private long writtenParts; // of the thread that delivers
  private boolean bytesLack;
  private @Nullable Runnable stop;

  RangeDownload(
      S3Settings settings,
      S3Failures failures,
      String key,
      Wanted wanted,
      StoreFuture<Long> future) {
    this.settings = settings;
    this.failures = failures;
    this.key = key;
    this.range = wanted.range();
    this.partSizeBytes = wanted.partSizeBytes();
    this.receiver = wanted.receiver();
    this.future = future;
  }

  final S3MetaRequestOptions intoFile(Path file, long position) {
    return options()
        .withResponseFilePath(file)
        .withResponseFileOption(ResponseFileOption.WRITE_TO_POSITION)
        .withResponseFilePosition(position)
        .withResponseFileDeleteOnFailure(false);
  }

  final S3MetaRequestOptions options() {
    HttpHeader[] headers = {
      new HttpHeader("Host", settings.host()),
      new HttpHeader(
          "Range", "bytes=" + range.offset() + "-" + (range.offset() + range.lengthBytes() - 1))
    };
    return new S3MetaRequestOptions()
        .withMetaRequestType(MetaRequestType.GET_OBJECT)
        .withEndpoint(settings.endpoint())
        .withHttpRequest(new HttpRequest("GET", settings.objectPath(key), headers, null))
        .withChecksumConfig(new ChecksumConfig().withValidateChecksum(false))
        .withResponseHandler(this);
  }

  /**
   * Comes before the first byte is written, and an exception here ends the request: the CRT places
   * the bytes relative to where the answer says it begins, so that a wrong answer would be written
   * outside the region.
   */
  @Override
  public void onResponseHeaders(int statusCode, HttpHeader[] headers) {
    status = statusCode;
    for (HttpHeader header : headers) {
      if (isContentRange(header.getNameBytes())) {
        contentRange = header.getValue();
      }
    }
    if (statusCode < 300) {
      StoreException wrong = wrongRange();
      if (wrong != null) {
        throw wrong;
      }
      rangeIsRight = true;
    }
  }

  /** Makes no text of every header of every answer. */
  private static boolean isContentRange(byte[] name) {
    if (name.length != CONTENT_RANGE.length()) {
      return false;
    }
    for (int i = 0; i < name.length; i++) {
      if (Character.toLowerCase(name[i]) != CONTENT_RANGE.charAt(i)) {
        return false;
      }
    }
    return true;
  }

  /** Comes when a part was received, in any order, before it is written. */
  @Override
  public void onProgress(S3MetaRequestProgress part) {
    transferredBytes.addAndGet(part.getBytesTransferred());
  }

  /**
   * Comes when a part is over and done with: it was written, as were those before it, but for what
   * is left in a buffer. The CRT takes a part without a body for a success, and would wait for its
   * bytes for ever once the read window is full of such: so the request is stopped.
   */
  @Override
  public void onTelemetry(S3RequestMetrics part) {
    if (part.isApiCallSuccessful() && rangeIsRight) {
      writtenParts++;
      long written = Math.min(writtenParts * partSizeBytes, range.lengthBytes());
      if (transferredBytes.get() < written) {
        giveUp();
      } else {
        onDelivered(written);
      }
    }
  }

  /** The first bytes of the range are over and done with. */
  void onDelivered(long bytes) {
    receiver.onWritten(Math.max(0, bytes - BUFFERED_BYTES));
  }

  /** How many bytes of the range arrived where they belong. */
  long arrivedBytes() {
    return transferredBytes.get();
  }

  /** Why the receiver did not take the bytes; null if it did. */
  @Nullable Throwable refusal() {
    return null;
  }

  private synchronized void giveUp() {
    bytesLack = true;
    if (stop != null) {
      stop.run();
    }
  }

  /** Says how to stop the request, which may have been answered meanwhile. */
  synchronized void stopWith(Runnable stop) {
    this.stop = stop;
    if (bytesLack) {
      stop.run();
    }
  }

  private synchronized boolean bytesLack() {
    return bytesLack;
  }

  @Override
  public void onFinished(S3FinishedResponseContext context) {
    Throwable failure = refusal();
    if (failure == null) {
      failure = failureOf(context);
    }
    if (failure == null) {
      future.complete(range.lengthBytes());
    } else {
      future.fail(failure);
    }
  }

  private @Nullable StoreException failureOf(S3FinishedResponseContext context) {
    StoreOperation operation = StoreOperation.GET_INTO;
    int answered = context.getResponseStatus() != 0 ? context.getResponseStatus() : status;
    if (context.getErrorCode() != 0) {
      if (context.getCause() instanceof StoreException ours) {
        return ours;
      }
      if (answered >= 300) {
        byte[] payload = context.getErrorPayload();
        S3Xml.ErrorBody body = payload == null ? S3Xml.ErrorBody.NONE : S3Xml.parseError(payload);
        return failures.ofStatus(operation, key, answered, body, region(context));
      }
      // After another error, what arrived behind the part that failed is over and done with, too.
      boolean gaveUp = "AWS_ERROR_S3_CANCELED".equals(CRT.awsErrorName(context.getErrorCode()));
      return gaveUp && bytesLack()
          ? badAnswer()
          : failures.ofCrt(operation, key, context.getErrorCode(), Phase.SENT);
    }
    StoreException wrong = rangeIsRight ? null : wrongRange();
    if (wrong == null && arrivedBytes() != range.lengthBytes()) {
      return badAnswer();
    }
    return wrong;
  }

  /** What is wrong with the status and the range that were answered; null if nothing is. */
  private @Nullable StoreException wrongRange() {
    ContentRange got = ContentRange.parse(contentRange);
    long end = range.offset() + range.lengthBytes();
    if (status != 206 || got == null || got.first() != range.offset()) {
      return badAnswer();
    }
    if (got.total() >= 0 && got.total() < end) {
      return new StoreException(
          StoreFailure.RANGE,
          StoreOperation.GET_INTO,
          key,
          "the range goes past the end: offset="
              + range.offset()
              + " lengthBytes="
              + range.lengthBytes()
              + " sizeBytes="
              + got.total());
    }
    return got.last() == end - 1 ? null : badAnswer();
  }

  final StoreException badAnswer() {
    return failures
        .badAnswer(
            StoreOperation.GET_INTO,
            key,
            "contentRange="
                + contentRange
                + " receivedBytes="
                + transferredBytes
                + " expectedFirst="
                + range.offset()
                + " expectedBytes="
                + range.lengthBytes())
        .withHttpStatus(status);
  }

  private static String region(S3FinishedResponseContext context) {
    HttpHeader[] headers = context.getErrorHeaders();
    if (headers != null) {
      for (HttpHeader header : headers) {
        if (header.getName().equalsIgnoreCase("x-amz-bucket-region")) {
          return header.getValue();
        }
      }
    }
    return "";
  }
}
