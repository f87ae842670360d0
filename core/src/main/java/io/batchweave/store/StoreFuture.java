package io.batchweave.store;

import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The future a store returns. {@link #cancel} only asks: the future completes when the request has
 * come to rest, as cancelled unless it succeeded all the same. Made by stores and decorators only.
 *
 * @param <T> what the request is for
 */
public final class StoreFuture<T> extends CompletableFuture<T> {
  private @Nullable Runnable canceller;
  private boolean cancelRequested;

  /** Creates an unfinished one. */
  public StoreFuture() {}

  /**
   * Follows another store's future.
   *
   * @param inner the future to follow; cancelling the new one cancels it
   * @param map makes the value
   * @param <A> the inner value
   * @param <B> the outer value
   */
  public static <A, B> StoreFuture<B> follow(CompletableFuture<A> inner, Function<A, B> map) {
    StoreFuture<B> outer = new StoreFuture<>();
    outer.onCancel(() -> inner.cancel(false));
    var _ =
        inner.whenComplete((value, thrown) -> {
          if (thrown != null) {
            outer.fail(thrown);
          } else {
            outer.succeed(map, value);
          }
        });
    return outer;
  }

  private <A> void succeed(Function<A, T> map, A value) {
    T mapped;
    try {
      mapped = map.apply(value);
    } catch (RuntimeException e) {
      fail(e); // Thrown on, it would be lost in the inner future's thread, and this one never end.
      return;
    }
    complete(mapped);
  }

  /**
   * One that has failed already.
   *
   * @param failure why
   * @param <T> the value it does not have
   */
  public static <T> StoreFuture<T> failed(StoreException failure) {
    StoreFuture<T> future = new StoreFuture<>();
    future.fail(failure);
    return future;
  }

  /**
   * Says how to ask the request to give up; replaces the former way. Runs at once if cancelling was
   * asked before.
   *
   * @param canceller asks; must neither block nor throw
   */
  public void onCancel(Runnable canceller) {
    boolean now;
    synchronized (this) {
      this.canceller = canceller;
      now = cancelRequested;
    }
    if (now && !isDone()) {
      canceller.run();
    }
  }

  /** Whether somebody asked the request to give up. */
  public synchronized boolean cancelRequested() {
    return cancelRequested;
  }

  /**
   * Ends the future without a value: cancelled if that was asked, else with the failure.
   *
   * @param thrown why; a {@link CompletionException} is unwrapped
   */
  public void fail(Throwable thrown) {
    Throwable cause = unwrap(thrown);
    if (cancelRequested() || cause instanceof CancellationException) {
      super.cancel(false);
    } else {
      completeExceptionally(cause);
    }
  }

  /**
   * The failure itself, without the wrapper that dependent stages put around it.
   *
   * @param thrown what a stage was given
   */
  public static Throwable unwrap(Throwable thrown) {
    Throwable cause = thrown.getCause();
    return thrown instanceof CompletionException && cause != null ? cause : thrown;
  }

  /** Asks the request to give up; returns whether the future has ended as cancelled already. */
  @Override
  public boolean cancel(boolean mayInterruptIfRunning) {
    Runnable ask;
    synchronized (this) {
      if (isDone() || cancelRequested) {
        return isCancelled();
      }
      cancelRequested = true;
      ask = canceller;
    }
    if (ask != null) {
      ask.run();
    }
    return isCancelled();
  }
}
