package io.batchweave.store;

import io.batchweave.Bytes;
import java.util.List;

/** The answer to a {@link StoreRequest}, as a value. */
public sealed interface StoreResponse {
  /** The object was created by this very request. */
  record Created() implements StoreResponse {}

  /** The key existed before this request: its body is unchanged. */
  record Exists() implements StoreResponse {}

  /** The bytes asked for; shorter than the range where the object ends early. */
  record Found(Bytes body) implements StoreResponse {}

  /** There is no such key. */
  record NotFound() implements StoreResponse {}

  /**
   * What a LIST saw; it need not be a snapshot, nor ordered.
   *
   * @param truncated whether the limit cut it
   */
  record Listed(List<ListedObject> objects, boolean truncated) implements StoreResponse {}

  /** The keys are gone; those that could not be deleted are named. */
  record Deleted(List<String> failedKeys) implements StoreResponse {}

  /** No useful answer; whether the request took effect is said by {@link StoreFailure}. */
  record Failed(StoreFailure failure, String detail) implements StoreResponse {}
}
