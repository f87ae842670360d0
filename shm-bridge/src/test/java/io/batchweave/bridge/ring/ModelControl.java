package io.batchweave.bridge.ring;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** A control file of a {@link RingWorld}. */
final class ModelControl {
  final RingCommand.Create create;
  int state = ControlDescriptor.STATE_NEW;
  CloseReason reason = CloseReason.SHUTDOWN;
  boolean dropped;
  final Map<Long, StepRegion> regions = new HashMap<>();
  final Map<Long, Integer> kinds = new TreeMap<>();
  final Map<Integer, Long> slots = new TreeMap<>();

  /** How the ring stood when its daemon last said so; decides something only with {@code KEEP}. */
  RingStatus status = RingStatus.IDLE;

  ModelControl(RingCommand.Create create) {
    this.create = create;
  }

  ModelControl copy() {
    ModelControl copy = new ModelControl(create);
    copy.state = state;
    copy.reason = reason;
    copy.dropped = dropped;
    copy.status = status;
    copy.regions.putAll(regions);
    copy.kinds.putAll(kinds);
    copy.slots.putAll(slots);
    return copy;
  }

  StepRegion region(long n) {
    return Objects.requireNonNull(regions.get(n));
  }

  @Nullable Integer kind(long n) {
    return kinds.get(n);
  }

  void allocate(long n, StepRegion region, int descriptorCount) {
    regions.put(n, region);
    slots.put((int) (n % descriptorCount), n);
  }

  void close(CloseReason why) {
    if (state == ControlDescriptor.STATE_OPEN) {
      state = ControlDescriptor.STATE_CLOSED;
      reason = why;
    }
  }

  /** What the next daemon reads of it. */
  FoundRing.Generation found(int descriptorCount) {
    List<FoundRing.Slot> found = new ArrayList<>();
    long latest = slots.values().stream().mapToLong(n -> n).max().orElse(-1);
    for (long n = latest; n >= 0; n--) {
      if (!Objects.equals(slots.get((int) (n % descriptorCount)), n)) {
        break;
      }
      found.add(new FoundRing.Slot(n, region(n)));
    }
    return new FoundRing.Generation(
        create.generation(),
        create.session(),
        create.coordinates(),
        create.localReaders(),
        create.firstStep(),
        found.reversed());
  }
}
