package io.batchweave.store;

import io.batchweave.Bytes;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A request to a store, as a value: what the machines of the protocol packages emit and an agent
 * (or the simulator) carries out. Keys are relative to the stream's root, {@code /}-separated,
 * without a leading slash.
 *
 * <p>Only small objects go through these values (manifest versions, snapshots, segments,
 * announcements, source states). Slices travel by {@link ObjectStore#getInto} and data objects by
 * {@link Upload}, whose bytes stay with the agent.
 */
public sealed interface StoreRequest {
  /** The key or prefix this request is about; the first key of a delete. */
  String key();

  /**
   * Creates the key if it does not exist. Answers: {@link StoreResponse.Created}, {@link
   * StoreResponse.Exists} (only when no earlier attempt of this same request can have landed),
   * {@link StoreResponse.Failed}.
   */
  record PutIfAbsent(String key, Bytes body) implements StoreRequest {}

  /**
   * Reads an object or a part of it. Answers: {@link StoreResponse.Found}, {@link
   * StoreResponse.NotFound}, {@link StoreResponse.Failed}.
   */
  record Get(String key, @Nullable ByteRange range, long maxLengthBytes) implements StoreRequest {}

  /**
   * Lists a group to its end. Answers: {@link StoreResponse.Listed}, {@link StoreResponse.Failed}.
   */
  record ListPrefix(String prefix, int limit) implements StoreRequest {
    @Override
    public String key() {
      return prefix;
    }
  }

  /** Deletes keys; an absent key is no error. Answers: {@link StoreResponse.Deleted}, Failed. */
  record Delete(List<String> keys) implements StoreRequest {
    @Override
    public String key() {
      return keys.isEmpty() ? "" : keys.getFirst();
    }
  }

  /**
   * Uploads the bytes that the agent holds under {@code handle} as a new object with a unique name;
   * never conditional, may be repeated. Answers: {@link StoreResponse.Created}, Failed.
   */
  record Upload(String key, long handle, long lengthBytes) implements StoreRequest {}
}
