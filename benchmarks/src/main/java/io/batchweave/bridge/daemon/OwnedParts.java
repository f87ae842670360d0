package io.batchweave.bridge.daemon;

import java.util.ArrayDeque;
import java.util.Deque;

/** What a rig is made of: closed together, the newest first, all of it whatever fails. */
final class OwnedParts implements AutoCloseable {
  private final Deque<AutoCloseable> parts = new ArrayDeque<>();

  /** Takes a part in. */
  <T extends AutoCloseable> T own(T part) {
    parts.push(part);
    return part;
  }

  @Override
  public void close() {
    IllegalStateException failure = null;
    while (!parts.isEmpty()) {
      try {
        parts.pop().close();
      } catch (Exception e) {
        if (failure == null) {
          failure = new IllegalStateException("the rig cannot be taken down", e);
        } else {
          failure.addSuppressed(e);
        }
      }
    }
    if (failure != null) {
      throw failure;
    }
  }
}
