package io.batchweave.store;

import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/** Carries out requests that are values. */
public final class StoreRequests {
  private StoreRequests() {}

  /** Finds the bytes of an {@link StoreRequest.Upload}. */
  @FunctionalInterface
  public interface PayloadSource {
    /**
     * The bytes the agent holds.
     *
     * @param handle the handle in the request
     * @throws IllegalArgumentException if the handle is unknown
     */
    Payload payload(long handle);
  }

  /**
   * Carries out a request.
   *
   * @param store where
   * @param request what
   * @param uploads finds the bytes of uploads
   * @return completes with the answer, never exceptionally; cancelling it does not stop the request
   */
  public static CompletableFuture<StoreResponse> execute(
      ObjectStore store, StoreRequest request, PayloadSource uploads) {
    try {
      return send(store, request, uploads).exceptionally(StoreRequests::failed);
    } catch (IllegalArgumentException e) {
      return CompletableFuture.completedFuture(failed(e));
    }
  }

  private static CompletableFuture<StoreResponse> send(
      ObjectStore store, StoreRequest request, PayloadSource uploads) {
    return switch (request) {
      case StoreRequest.PutIfAbsent r ->
          store
              .putIfAbsent(r.key(), Payload.of(r.body()))
              .thenApply(outcome ->
                  switch (outcome) {
                    case CREATED -> new StoreResponse.Created();
                    case EXISTS -> new StoreResponse.Exists();
                  });
      case StoreRequest.Get r ->
          store.get(r.key(), r.range(), r.maxLengthBytes()).thenApply(StoreResponse.Found::new);
      case StoreRequest.ListPrefix r ->
          store
              .list(r.prefix(), r.limit())
              .thenApply(
                  listing -> new StoreResponse.Listed(listing.objects(), listing.truncated()));
      case StoreRequest.Delete r -> store.delete(r.keys()).thenApply(StoreResponse.Deleted::new);
      case StoreRequest.Upload r ->
          store
              .put(r.key(), uploads.payload(r.handle()))
              .thenApply(ignored -> new StoreResponse.Created());
    };
  }

  private static StoreResponse failed(Throwable thrown) {
    Throwable cause =
        thrown instanceof CompletionException && thrown.getCause() != null
            ? thrown.getCause()
            : thrown;
    return switch (cause) {
      case StoreException e when e.failure() == StoreFailure.NOT_FOUND ->
          new StoreResponse.NotFound();
      case StoreException e ->
          new StoreResponse.Failed(e.failure(), String.valueOf(e.getMessage()));
      case CancellationException e ->
          new StoreResponse.Failed(StoreFailure.UNCLEAR, "the request was cancelled");
      case IllegalArgumentException e ->
          new StoreResponse.Failed(StoreFailure.CONFIG, String.valueOf(e.getMessage()));
      default -> new StoreResponse.Failed(StoreFailure.UNCLEAR, "unexpected: " + cause);
    };
  }
}
