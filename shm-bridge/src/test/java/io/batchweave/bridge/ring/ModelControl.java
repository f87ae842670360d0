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
  Map<Long, StepRegion> regions = new HashMap<>();
  Map<Long, Integer> kinds = new TreeMap<>();
  Map<Integer, Long> slots = new TreeMap<>();

  /** Whether a copy has the same maps: whoever writes takes its own first. */
  private boolean isShared;

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
    copy.regions = regions;
    copy.kinds = kinds;
    copy.slots = slots;
    copy.isShared = true;
    isShared = true;
    return copy;
  }

  private void own() {
    if (isShared) {
      regions = new HashMap<>(regions);
      kinds = new TreeMap<>(kinds);
      slots = new TreeMap<>(slots);
      isShared = false;
    }
  }

  StepRegion region(long n) {
    return Objects.requireNonNull(regions.get(n));
  }

  @Nullable Integer kind(long n) {
    return kinds.get(n);
  }

  void allocate(long n, StepRegion region, int descriptorCount) {
    own();
    regions.put(n, region);
    slots.put((int) (n % descriptorCount), n);
  }

  /** The daemon died while it wrote this one. */
  void forget(long n, int descriptorCount) {
    own();
    slots.remove((int) (n % descriptorCount));
  }

  void publish(long n, int kind) {
    own();
    kinds.put(n, kind);
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
