package io.batchweave.store;

import java.util.List;

/**
 * What a LIST saw: in no particular order, and not a snapshot (an object created or deleted
 * meanwhile may be there or not, and a hole is possible).
 *
 * @param objects the objects, each once
 * @param truncated whether the limit cut it
 */
public record Listing(List<ListedObject> objects, boolean truncated) {
  /** Copies the list. */
  public Listing {
    objects = List.copyOf(objects);
  }
}
