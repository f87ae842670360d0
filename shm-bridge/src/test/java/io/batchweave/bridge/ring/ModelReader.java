package io.batchweave.bridge.ring;

import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** A reader file of a {@link RingWorld}; what the daemon sees of it is {@link ReaderView}. */
final class ModelReader implements ReaderView {
  final Id128 id;
  final ModelRank rank;
  final Id128 previous;
  boolean locked = true;
  long expected;
  long attachedTo;
  long firstN;
  long taken;
  final Set<Long> acked = new TreeSet<>();
  final Map<Long, StepRegion> held = new TreeMap<>();

  ModelReader(Id128 id, ModelRank rank, Id128 previous) {
    this.id = id;
    this.rank = rank;
    this.previous = previous;
  }

  ModelReader copy(ModelRank ofRank) {
    ModelReader copy = new ModelReader(id, ofRank, previous);
    copy.locked = locked;
    copy.expected = expected;
    copy.attachedTo = attachedTo;
    copy.firstN = firstN;
    copy.taken = taken;
    copy.acked.addAll(acked);
    copy.held.putAll(held);
    return copy;
  }

  @Override
  public boolean isAttached() {
    return attachedTo != 0 && attachedTo == expected;
  }

  @Override
  public long taken() {
    return isAttached() ? taken : 0;
  }

  @Override
  public boolean isAcked(long n) {
    return isAttached() && acked.contains(n);
  }
}
