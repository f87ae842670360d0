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
}
