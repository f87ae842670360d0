package io.batchweave.commit;

import io.batchweave.format.AnnouncementName;
import io.batchweave.format.Block;
import io.batchweave.log.ProducerState;
import io.batchweave.log.State;
import org.jspecify.annotations.Nullable;

/** Whose a block is: what activity, order and fairness count by. */
final class Owners {
  private static final String STREAM = "operator";
  private static final String PRODUCER = "p.";
  private static final String GROUP = "g.";

  private Owners() {}

  /** The producer whose block it is; null if it is nobody's who produces. */
  static @Nullable String producer(Block block) {
    return switch (block) {
      case Block.Fence fence -> fence.producer();
      case Block.Produce produce -> produce.producer();
      case Block.Retire retire -> retire.producer();
      default -> null;
    };
  }

  /** The producer that an owner is; null if it is none. */
  static @Nullable String producer(String owner) {
    return owner.startsWith(PRODUCER) ? owner.substring(PRODUCER.length()) : null;
  }

  /** The owner of a block: {@code p.<producer>}, {@code g.<group>} or {@code operator}. */
  static String of(Block block) {
    return switch (block) {
      case Block.Fence fence -> PRODUCER + fence.producer();
      case Block.Produce produce -> PRODUCER + produce.producer();
      case Block.Retire retire -> PRODUCER + retire.producer();
      case Block.OpenSession session -> GROUP + session.group();
      case Block.EndSession session -> GROUP + session.group();
      case Block.Pin pin -> GROUP + pin.group();
      case Block.OperatorPin pin -> GROUP + pin.group();
      case Block.Unpin unpin -> GROUP + unpin.group();
      case Block.Skip skip -> STREAM;
      case Block.Reclaim reclaim -> STREAM;
      case Block.Seal seal -> STREAM;
    };
  }

  /** The owner of the block behind an announcement, as {@link #of(Block)} names it. */
  static String of(AnnouncementName name) {
    return switch (name) {
      case AnnouncementName.Produce produce -> PRODUCER + produce.producer();
      case AnnouncementName.Fence fence -> PRODUCER + fence.producer();
      case AnnouncementName.Operator other ->
          other.kind().equals("retire")
              ? PRODUCER + other.owner()
              : other.owner().equals("stream") ? STREAM : GROUP + other.owner();
    };
  }

  /** Version of an owner's last block, as far as the state remembers it; 0 if there was none. */
  static long lastVersion(State state, String owner) {
    String id = producer(owner);
    if (id != null) {
      ProducerState producer = state.producer(id);
      return producer == null ? 0 : producer.lastVersion();
    }
    return owner.startsWith(GROUP) ? state.group(owner.substring(GROUP.length())).changed() : 0;
  }
}
