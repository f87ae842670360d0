package io.batchweave.simulate;

import io.batchweave.Bytes;
import io.batchweave.log.Fingerprint;
import io.batchweave.store.ListedObject;
import io.batchweave.store.StoreRequest;
import io.batchweave.store.StoreResponse;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The contents of a store as a value for exploration: what changes lies over what does not. */
final class SmallStore {
  private final SortedMap<String, Bytes> base;
  private final TreeMap<String, Bytes> over;
  private final Set<String> deleted;
  private long fingerprint;

  SmallStore(SortedMap<String, Bytes> base) {
    this.base = base;
    this.over = new TreeMap<>();
    this.deleted = new HashSet<>();
  }

  private SmallStore(SmallStore other) {
    this.base = other.base;
    this.over = new TreeMap<>(other.over);
    this.deleted = other.deleted.isEmpty() ? new HashSet<>() : new HashSet<>(other.deleted);
    this.fingerprint = other.fingerprint;
  }

  SmallStore copy() {
    return new SmallStore(this);
  }

  @Nullable Bytes get(String key) {
    Bytes body = over.get(key);
    return body != null || deleted.contains(key) ? body : base.get(key);
  }

  private void put(String key, Bytes body) {
    remove(key);
    over.put(key, body);
    fingerprint += Fingerprint.of(key, body);
  }

  private void remove(String key) {
    Bytes old = over.remove(key);
    if (old != null) {
      fingerprint -= Fingerprint.of(key, old);
    }
    if (base.containsKey(key) && deleted.add(key)) {
      fingerprint += Fingerprint.of(key);
    }
  }

  /** Everything, for those who must see a map. */
  SortedMap<String, Bytes> all() {
    TreeMap<String, Bytes> all = new TreeMap<>(base);
    all.keySet().removeAll(deleted);
    all.putAll(over);
    return all;
  }

  StoreResponse apply(StoreRequest request, Bytes payload) {
    return switch (request) {
      case StoreRequest.PutIfAbsent put -> {
        if (get(put.key()) != null) {
          yield new StoreResponse.Exists();
        }
        put(put.key(), put.body());
        yield new StoreResponse.Created();
      }
      case StoreRequest.Get get -> {
        Bytes body = get(get.key());
        yield body == null
            ? new StoreResponse.NotFound()
            : new StoreResponse.Found(part(body, get));
      }
      case StoreRequest.ListPrefix list -> list(list);
      case StoreRequest.Delete delete -> {
        delete.keys().forEach(this::remove);
        yield new StoreResponse.Deleted(List.of());
      }
      case StoreRequest.Upload upload -> {
        put(upload.key(), payload);
        yield new StoreResponse.Created();
      }
    };
  }

  private static Bytes part(Bytes body, StoreRequest.Get get) {
    if (get.range() == null) {
      return body;
    }
    int from = (int) Math.min(body.length(), get.range().offset());
    int to = (int) Math.min(body.length(), from + get.range().lengthBytes());
    return Bytes.wrap(Arrays.copyOfRange(body.toByteArray(), from, to));
  }

  private StoreResponse list(StoreRequest.ListPrefix list) {
    TreeMap<String, ListedObject> found = new TreeMap<>();
    collect(base, list.prefix(), found);
    found.keySet().removeAll(deleted);
    collect(over, list.prefix(), found);
    List<ListedObject> objects = new ArrayList<>(found.values());
    boolean truncated = objects.size() > list.limit();
    return new StoreResponse.Listed(
        truncated ? objects.subList(0, list.limit()) : objects, truncated);
  }

  private static void collect(
      SortedMap<String, Bytes> from, String prefix, Map<String, ListedObject> found) {
    for (Map.Entry<String, Bytes> object : from.tailMap(prefix).entrySet()) {
      if (!object.getKey().startsWith(prefix)) {
        return;
      }
      found.put(object.getKey(), new ListedObject(object.getKey(), object.getValue().length()));
    }
  }

  /** Equal for stores of the same contents, if they began alike. */
  long fingerprint() {
    return fingerprint;
  }
}
