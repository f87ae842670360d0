package io.batchweave.store;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** How tests wait for stores: with a bound, and with the failure itself instead of its wrapper. */
public final class Outcomes {
  private static final int BOUND_S = 60;

  private Outcomes() {}

  /** The value; a failure of the store is thrown as it is. */
  public static <T> T await(CompletableFuture<T> future) {
    try {
      return future.get(BOUND_S, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof StoreException failure) {
        throw failure;
      }
      throw new AssertionError("not a failure of a store", e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("interrupted", e);
    } catch (TimeoutException e) {
      throw new AssertionError("no answer within " + BOUND_S + " s", e);
    }
  }

  /** The failure; a value is an error of the test. */
  public static StoreException failure(CompletableFuture<?> future) {
    Object value;
    try {
      value = await(future);
    } catch (StoreException e) {
      return e;
    }
    throw new AssertionError("expected a failure, but got " + value);
  }

  /** Bytes that depend on the seed, as a payload. */
  public static Payload payload(long seed, int lengthBytes) {
    return Payload.of(List.of(ByteBuffer.wrap(bytes(seed, lengthBytes))));
  }

  /** Bytes that depend on the seed. */
  public static byte[] bytes(long seed, int lengthBytes) {
    byte[] bytes = new byte[lengthBytes];
    new SplittableRandom(seed).nextBytes(bytes);
    return bytes;
  }
}
