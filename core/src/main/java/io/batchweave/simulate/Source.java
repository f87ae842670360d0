package io.batchweave.simulate;

import io.batchweave.Bytes;
import io.batchweave.format.Grid;
import io.batchweave.produce.Tgb;
import io.batchweave.produce.TgbBuilder;
import io.batchweave.store.Payload;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * The source of every producer: the n-th batch of a producer has its own bytes, and the state after
 * it is the number n. So the n-th batch must be seq n for ever, whoever made it.
 */
final class Source {
  /** What batches are cut for. */
  static final Grid GRID = new Grid(2, 1);

  private static final int EXTERNAL_EVERY = 5;

  private Source() {}

  /** The n-th batch, n from 1. */
  static Tgb batch(String producer, long n) {
    TgbBuilder builder = new TgbBuilder(GRID);
    for (int dp = 0; dp < GRID.dp(); dp++) {
      builder.slice(dp, 0, slice(producer, n, dp), 1, 1, n);
    }
    return builder.build();
  }

  /** The bytes of one slice of the n-th batch. */
  static Bytes slice(String producer, long n, int dp) {
    String text = producer + " batch " + n + " slice " + dp + ".".repeat((int) (n * 7 % 50));
    return Bytes.wrap(text.getBytes(StandardCharsets.US_ASCII));
  }

  /** The state after n batches: now and then larger than a block may carry. */
  static Bytes stateAfter(long n) {
    String digits = Long.toString(n);
    String text = n % EXTERNAL_EVERY == 0 ? digits + " ".repeat(4_500) : digits;
    return Bytes.wrap(text.getBytes(StandardCharsets.US_ASCII));
  }

  /** How many batches a state says were made; -1 if it is no such state. */
  static long position(Bytes state) {
    String text = new String(state.toByteArray(), StandardCharsets.US_ASCII).strip();
    try {
      return text.isEmpty() ? 0 : Long.parseLong(text);
    } catch (NumberFormatException e) {
      return -1;
    }
  }

  /** All bytes of an upload. */
  static Bytes bytes(Payload payload) {
    ByteBuffer target = ByteBuffer.allocate(Math.toIntExact(payload.lengthBytes()));
    try (Payload.Reader reader = payload.open()) {
      boolean all = reader.read(target);
      if (!all || target.hasRemaining()) {
        throw new IllegalStateException("payload is not as long as it says");
      }
    } catch (IOException e) {
      throw new IllegalStateException("payloads of a simulation are in memory", e);
    }
    return Bytes.wrap(target.array());
  }
}
