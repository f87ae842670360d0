package io.batchweave.store.s3;

import io.batchweave.store.Payload;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.crt.http.HttpRequestBodyStream;

/**
 * A payload as the CRT reads it, on its own threads. A payload that cannot be read ends early,
 * which the CRT notices by the length; nothing is thrown into native code.
 */
final class PayloadBody implements HttpRequestBodyStream {
  private final Payload payload;
  private Payload.@Nullable Reader reader;
  private @Nullable IOException failure;
  private long readBytes;
  private boolean ended;

  PayloadBody(Payload payload) {
    this.payload = payload;
  }

  @Override
  public synchronized boolean sendRequestBody(ByteBuffer target) {
    if (ended) {
      return true;
    }
    try {
      Payload.Reader current = reader;
      if (current == null) {
        current = payload.open();
        reader = current;
      }
      int before = target.position();
      boolean last = current.read(target);
      readBytes += target.position() - before;
      return last;
    } catch (IOException e) {
      failure = e;
      return true;
    } catch (RuntimeException e) {
      failure = new IOException("the payload failed", e);
      return true;
    }
  }

  @Override
  public synchronized boolean resetPosition() {
    close();
    return true;
  }

  @Override
  public long getLength() {
    return payload.lengthBytes();
  }

  /** Why the payload could not be read; null if it could. */
  synchronized @Nullable IOException failure() {
    return failure;
  }

  /** Bytes handed out so far. */
  synchronized long readBytes() {
    return readBytes;
  }

  /** Ends reading for good: the bytes are not touched any more when this returns. */
  synchronized void end() {
    ended = true;
    close();
  }

  /** Ends reading; a later read starts anew. */
  synchronized void close() {
    Payload.Reader current = reader;
    reader = null;
    if (current != null) {
      try {
        current.close();
      } catch (IOException e) {
        // Nothing depends on closing what was only read.
      }
    }
  }
}
