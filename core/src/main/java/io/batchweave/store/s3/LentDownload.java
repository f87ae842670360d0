package io.batchweave.store.s3;

import io.batchweave.store.StoreFuture;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.crt.s3.S3BorrowedBuffer;
import software.amazon.awssdk.crt.s3.S3BorrowedBufferDelivery;
import software.amazon.awssdk.crt.s3.S3FinishedResponseContext;

/**
 * One range whose parts are lent to the receiver in their order, in the memory where they arrived:
 * so they need not pass the kernel once more, and can be looked at while they lie in the cache.
 */
final class LentDownload extends RangeDownload implements S3BorrowedBufferDelivery {
  private volatile long lentBytes;
  private volatile @Nullable Throwable refusal;
  private final Runnable giveBack;
  private final AtomicBoolean hasRoom = new AtomicBoolean(true);

  LentDownload(
      S3Settings settings,
      S3Failures failures,
      String key,
      Wanted wanted,
      StoreFuture<Long> future,
      Runnable giveBack) {
    super(settings, failures, key, wanted, future);
    this.giveBack = giveBack;
  }

  /** Gives the room back before anybody hears of the end, who may ask for a range at once. */
  @Override
  public void onFinished(S3FinishedResponseContext context) {
    giveBack();
    super.onFinished(context);
  }

  /** Gives the room back, once. */
  void giveBack() {
    if (hasRoom.getAndSet(false)) {
      giveBack.run();
    }
  }

  /** By one thread at a time; an exception ends the request. */
  @Override
  public int onResponseBodyBorrowed(S3BorrowedBuffer part, long first, long end) {
    try (part) {
      ByteBuffer bytes = part.asByteBuffer();
      int length = bytes.remaining();
      long offset = lentBytes;
      if (first != range.offset() + offset || length > range.lengthBytes() - offset) {
        throw badAnswer();
      }
      receiver.onBytes(offset, bytes);
      lentBytes = offset + length;
      return length;
    } catch (RuntimeException | Error thrown) {
      refusal = thrown;
      throw thrown;
    }
  }

  @Override
  void onDelivered(long bytes) {
    // The receiver knows: it put them there.
  }

  @Override
  long arrivedBytes() {
    return lentBytes;
  }

  @Override
  @Nullable Throwable refusal() {
    return refusal;
  }
}
