package io.batchweave.log;

import io.batchweave.format.Limits;
import io.batchweave.format.ObjectNames;
import io.batchweave.store.StoreRequest;

/** One thing that a follower asks the store for; equal asks are not sent twice at once. */
sealed interface Ask {
  /** The request that gets it. */
  StoreRequest request();

  private static StoreRequest get(String key, int maxLengthBytes) {
    return new StoreRequest.Get(key, null, maxLengthBytes);
  }

  /** The object that makes a root a stream. */
  record Stream() implements Ask {
    @Override
    public StoreRequest request() {
      return get(ObjectNames.STREAM, Limits.STREAM_BYTES);
    }
  }

  /** Which snapshots there are. */
  record Snapshots() implements Ask {
    /** More than are ever kept. */
    static final int LIMIT = 1_000;

    @Override
    public StoreRequest request() {
      return new StoreRequest.ListPrefix(ObjectNames.SNAPSHOTS, LIMIT);
    }
  }

  /** A snapshot. */
  record Snapshot(long version) implements Ask {
    @Override
    public StoreRequest request() {
      return get(ObjectNames.snapshot(version), Limits.SNAPSHOT_BYTES);
    }
  }

  /** The version whose state a snapshot claims to hold. */
  record Anchor(long version) implements Ask {
    @Override
    public StoreRequest request() {
      return get(ObjectNames.version(version), Limits.VERSION_BYTES);
    }
  }

  /** Which versions of a group there are. */
  record Group(long group) implements Ask {
    @Override
    public StoreRequest request() {
      return new StoreRequest.ListPrefix(
          ObjectNames.versionGroup(group * Limits.GROUP_VERSIONS), 2 * Limits.GROUP_VERSIONS);
    }

    long lastVersion() {
      return (group + 1) * Limits.GROUP_VERSIONS - 1;
    }
  }

  /** A version to be folded. */
  record Version(long version) implements Ask {
    @Override
    public StoreRequest request() {
      return get(ObjectNames.version(version), Limits.VERSION_BYTES);
    }
  }

  /** A segment. */
  record Segment(long index) implements Ask {
    @Override
    public StoreRequest request() {
      return get(ObjectNames.segment(index), Limits.SEGMENT_BYTES);
    }
  }
}
