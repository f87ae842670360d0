package io.batchweave.store.probe;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.store.ListedObject;
import io.batchweave.store.ObjectStore;
import io.batchweave.store.probe.ProbePlan.Scope;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The keys of one probe, under a prefix that nobody else has, and the waits for its requests. */
final class Scratch {
  private static final long WAIT_S = 120;
  private static final int DELETE_KEYS = 1000;
  private static final int LIST_LIMIT = 100_000;

  private final ObjectStore store;
  private final boolean folder;
  private final String prefix;
  private final Set<String> keys = new HashSet<>();

  /** Keys in a folder of their own, which can be listed; without lists none, which leaves none. */
  Scratch(ObjectStore store, UUID id, Scope scope) {
    this.store = store;
    this.folder = scope == Scope.EVERYTHING;
    this.prefix = String.format(folder ? "probe/%s/" : "probe-%s-", id.toString().replace("-", ""));
  }

  String prefix() {
    return prefix;
  }

  /** A key that will be removed at the end. */
  String key(String name) {
    String key = prefix + name;
    keys.add(key);
    return key;
  }

  /** Waits for a request and throws what it ended with. */
  static <T> T await(CompletableFuture<T> request) {
    try {
      return request.get(WAIT_S, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof BatchWeaveException known) {
        throw known;
      }
      throw new IllegalStateException("a store failed with a failure of its own kind", e);
    } catch (TimeoutException e) {
      request.cancel(false);
      throw new BatchWeaveException(
          Kind.RETRYABLE, "no answer within seconds=" + WAIT_S + "; is the store reachable?", e);
    } catch (CancellationException e) {
      throw new BatchWeaveException(Kind.RETRYABLE, "request cancelled; try again", e);
    } catch (InterruptedException e) {
      request.cancel(false);
      Thread.currentThread().interrupt();
      throw new BatchWeaveException(Kind.RETRYABLE, "interrupted", e);
    }
  }

  /** Deletes some keys now; they are forgotten only if they went. */
  void delete(List<String> some) {
    Set<String> failed = new HashSet<>(await(store.delete(some)));
    some.stream().filter(key -> !failed.contains(key)).forEach(keys::remove);
  }

  /**
   * Removes everything, also what only a list knows of.
   *
   * @return what is left, in words; empty if nothing
   */
  String removeAll() {
    String trouble = "";
    try {
      removeKnown();
      if (folder) {
        addListed();
        removeKnown();
        addListed();
      }
    } catch (BatchWeaveException e) {
      trouble = e.getMessage();
    }
    if (keys.isEmpty() && trouble.isEmpty()) {
      return "";
    }
    return "left under prefix=" + prefix + " objects=" + keys.size() + " " + trouble;
  }

  private void addListed() {
    for (ListedObject object : await(store.list(prefix, LIST_LIMIT)).objects()) {
      keys.add(object.key());
    }
  }

  private void removeKnown() {
    List<String> all = new ArrayList<>(keys);
    for (int from = 0; from < all.size(); from += DELETE_KEYS) {
      delete(all.subList(from, Math.min(all.size(), from + DELETE_KEYS)));
    }
  }
}
