package io.batchweave.verify;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.Limits;
import io.batchweave.format.ObjectNames;
import io.batchweave.store.ListedObject;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.StoreException;
import io.batchweave.store.StoreFailure;
import java.util.NavigableSet;
import java.util.OptionalLong;
import java.util.TreeSet;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Blocking reads in which "not there" is an answer and other failures end the verification. */
final class Reads {
  /** More than any version or segment may have: what is too long is told by its decoder. */
  private static final long MAX_BYTES = 64L << 20;

  private static final int GROUP_LIMIT = 2 * Limits.GROUP_VERSIONS;
  private static final int MAX_EMPTY_GROUPS = 3;
  private static final int MAX_CHASE = 1_024;

  private final ObjectStore store;

  Reads(ObjectStore store) {
    this.store = store;
  }

  static <T> T await(CompletableFuture<T> request) {
    try {
      return request.join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof BatchWeaveException known) {
        throw known;
      }
      throw e;
    } catch (CancellationException e) {
      throw new BatchWeaveException(Kind.RETRYABLE, "request cancelled; try again", e);
    }
  }

  /** Waits for a read; null if the object is not there. */
  static <T> @Nullable T awaitPresent(CompletableFuture<T> request) {
    try {
      return await(request);
    } catch (StoreException e) {
      if (e.failure() == StoreFailure.NOT_FOUND) {
        return null;
      }
      throw e;
    }
  }

  CompletableFuture<Bytes> version(long version) {
    return store.get(ObjectNames.version(version), null, MAX_BYTES);
  }

  @Nullable Bytes snapshot(long version) {
    return awaitPresent(store.get(ObjectNames.snapshot(version), null, Limits.SNAPSHOT_BYTES));
  }

  @Nullable Bytes segment(long index) {
    return awaitPresent(store.get(ObjectNames.segment(index), null, MAX_BYTES));
  }

  /** The newest version there is; 0 for an empty log. */
  long head() {
    NavigableSet<Long> snapshots = snapshots();
    long floor = snapshots.isEmpty() ? 0 : snapshots.last();
    long head = listedFrom(floor);
    if (head == 0 && floor > 0) {
      head = listedFrom(0);
    }
    for (int i = 0; i < MAX_CHASE && exists(head + 1); i++) {
      head++;
    }
    return head;
  }

  private long listedFrom(long floor) {
    long head = 0;
    int empty = 0;
    for (long first = floor; empty < MAX_EMPTY_GROUPS; first += Limits.GROUP_VERSIONS) {
      NavigableSet<Long> versions =
          numbers(ObjectNames.versionGroup(first), GROUP_LIMIT, ObjectNames::parseVersion);
      empty = versions.isEmpty() ? empty + 1 : 0;
      head = versions.isEmpty() ? head : Math.max(head, versions.last());
    }
    return head;
  }

  private boolean exists(long version) {
    return awaitPresent(store.head(ObjectNames.version(version))) != null;
  }

  NavigableSet<Long> snapshots() {
    return numbers(ObjectNames.SNAPSHOTS, Integer.MAX_VALUE, ObjectNames::parseSnapshot);
  }

  NavigableSet<Long> segments() {
    return numbers(ObjectNames.SEGMENTS, Integer.MAX_VALUE, ObjectNames::parseSegment);
  }

  private NavigableSet<Long> numbers(
      String prefix, int limit, Function<String, OptionalLong> parse) {
    TreeSet<Long> numbers = new TreeSet<>();
    for (ListedObject object : await(store.list(prefix, limit)).objects()) {
      parse.apply(object.key()).ifPresent(numbers::add);
    }
    return numbers;
  }
}
