package io.batchweave.store;

import io.batchweave.Bytes;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A place for objects: the only thing the parts of BatchWeave share.
 *
 * <p><b>Keys</b> are relative to the root of {@link #url()}: parts of {@code [A-Za-z0-9._-]} joined
 * by {@code /}, at most 900 characters, no part empty, {@code .} or {@code ..} ({@link Keys}). A
 * key is never a folder of another key.
 *
 * <p><b>Answers.</b> No method blocks on the store. A future ends with its value, with a {@link
 * StoreException}, or, where its caller cancelled it, with {@link
 * java.util.concurrent.CancellationException}; never with anything else. Cancelling asks the store
 * to give up; the future completes only when the request has come to rest, so that a completed
 * {@link #getInto} never writes again. A cancelled write may have landed. Callbacks may run on the
 * store's own threads and must not block. Bad arguments throw at once.
 *
 * <p><b>Visibility</b>: what a put or delete has answered is seen by every later get, head and
 * list. A single request is sent once: retries are {@link RetryingStore}'s.
 *
 * <p>Thread-safe. {@link #close()} fails what is in flight with {@link StoreFailure#CLOSED} or lets
 * it finish, waits until nothing writes any more, and is idempotent.
 */
public interface ObjectStore extends AutoCloseable {
  /**
   * Creates the object if there is none of that key: of any number of concurrent callers exactly
   * one gets {@link PutOutcome#CREATED}, and no reader ever sees a part of it. Sent at most once,
   * by every layer. {@link PutOutcome#EXISTS} is certain; when it is not known whether this very
   * request has landed the answer is {@link StoreFailure#UNCLEAR} or {@link
   * StoreFailure#THROTTLED}; {@link StoreFailure#CONFLICT} is not "exists".
   *
   * @param key the key
   * @param body the bytes
   */
  CompletableFuture<PutOutcome> putIfAbsent(String key, Payload body);

  /**
   * Writes the object, replacing what is there; atomic for readers.
   *
   * @param key the key
   * @param body the bytes
   */
  CompletableFuture<Void> put(String key, Payload body);

  /**
   * Reads an object, or a part of it, onto the heap: for small objects. Shorter than the range
   * where the object ends inside it; {@link StoreFailure#RANGE} where the range begins at or past
   * the end; {@link StoreFailure#NOT_FOUND} without the object; {@link StoreFailure#TOO_LONG}
   * instead of more than {@code maxLengthBytes}.
   *
   * @param key the key
   * @param range the part; null for all of it
   * @param maxLengthBytes the most bytes to accept
   */
  CompletableFuture<Bytes> get(String key, @Nullable ByteRange range, long maxLengthBytes);

  /**
   * Reads a range straight into a file, in place, without passing the heap. Completes with the
   * number of bytes written, which is {@code range.lengthBytes()}; an object that ends earlier is
   * {@link StoreFailure#RANGE}, an answer of another length {@link StoreFailure#BAD_ANSWER}. Bytes
   * outside {@code [position, position + lengthBytes)} are never touched; on failure those inside
   * may be old, new or mixed. The future completes only when nothing writes any more, also after
   * cancel.
   *
   * @param key the key
   * @param range the bytes to read
   * @param file an existing file of at least {@code position + range.lengthBytes()} bytes
   * @param position where the first byte goes
   * @param receiver told while the bytes arrive, or lent them
   */
  CompletableFuture<Long> getInto(
      String key, ByteRange range, Path file, long position, RangeReceiver receiver);

  /**
   * The same, with nobody listening.
   *
   * @param key the key
   * @param range the bytes to read
   * @param file an existing file of at least {@code position + range.lengthBytes()} bytes
   * @param position where the first byte goes
   */
  default CompletableFuture<Long> getInto(String key, ByteRange range, Path file, long position) {
    return getInto(key, range, file, position, RangeReceiver.NOBODY);
  }

  /**
   * Asks for length and etag; {@link StoreFailure#NOT_FOUND} without the object.
   *
   * @param key the key
   */
  CompletableFuture<ObjectInfo> head(String key);

  /**
   * Lists the objects whose key starts with a prefix, in any order, to the limit.
   *
   * @param prefix empty for all, or the start of a key; ends with {@code /} to name a group
   * @param limit the most objects to return, at least 1
   */
  CompletableFuture<Listing> list(String prefix, int limit);

  /**
   * Deletes objects; an absent one is no error. Completes with the keys that could not be deleted,
   * empty when all are gone; fails only if nothing is known of any of them.
   *
   * @param keys any number of keys
   */
  CompletableFuture<List<String>> delete(List<String> keys);

  /**
   * Asks what the store tells about itself; fails only where it cannot be asked at all.
   *
   * @param scratchKey a key whose object may be overwritten, and may be there afterwards
   */
  default CompletableFuture<StoreTraits> traits(String scratchKey) {
    Keys.requireKey(scratchKey);
    return CompletableFuture.completedFuture(StoreTraits.NOT_TOLD);
  }

  /** The URL of the root, without secrets. */
  String url();

  @Override
  void close();
}
