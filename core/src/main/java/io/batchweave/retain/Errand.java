package io.batchweave.retain;

import io.batchweave.format.Limits;
import io.batchweave.format.ObjectNames;
import io.batchweave.store.ListedObject;
import io.batchweave.store.StoreRequest;
import java.util.List;

/** One thing that a collector asks the store for. All may be repeated. */
sealed interface Errand {
  /** Keys of one DELETE: what S3 takes. */
  int KEYS_PER_DELETE = 1_000;

  /** More than a group ever holds. */
  int LIST_LIMIT = 1_000_000;

  /** Handle of the upload of nothing. */
  long NO_PAYLOAD = 0;

  /** The request that gets it. */
  StoreRequest request();

  /** The entries of a segment that reaches above the horizon. */
  record ReadSegment(long index) implements Errand {
    @Override
    public StoreRequest request() {
      return new StoreRequest.Get(ObjectNames.segment(index), null, Limits.SEGMENT_BYTES);
    }
  }

  /** What there is under a prefix. */
  record ListKeys(String prefix, int limit) implements Errand {
    @Override
    public StoreRequest request() {
      return new StoreRequest.ListPrefix(prefix, limit);
    }
  }

  /** Deletes objects that were judged. */
  record DeleteObjects(List<ListedObject> objects) implements Errand {
    /** Copies the list. */
    public DeleteObjects {
      objects = List.copyOf(objects);
    }

    @Override
    public StoreRequest request() {
      return new StoreRequest.Delete(objects.stream().map(ListedObject::key).toList());
    }
  }

  /** A version, whatever is left of it. */
  record ReadVersion(long version) implements Errand {
    @Override
    public StoreRequest request() {
      return new StoreRequest.Get(ObjectNames.version(version), null, Limits.VERSION_BYTES);
    }
  }

  /** A snapshot. */
  record ReadSnapshot(long version) implements Errand {
    @Override
    public StoreRequest request() {
      return new StoreRequest.Get(ObjectNames.snapshot(version), null, Limits.SNAPSHOT_BYTES);
    }
  }

  /** Overwrites a version by an empty object, so that its number is never free. */
  record WriteTombstone(long version) implements Errand {
    @Override
    public StoreRequest request() {
      return new StoreRequest.Upload(ObjectNames.version(version), NO_PAYLOAD, 0);
    }
  }
}
