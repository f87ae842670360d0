package io.batchweave.commit;

import io.batchweave.format.AnnouncementName;
import io.batchweave.format.Block;
import io.batchweave.log.ProducerState;
import io.batchweave.log.State;
import org.jspecify.annotations.Nullable;

/** Whose a block is: what activity, order and fairness count by. */
final class Owners {
  private static final String STREAM = "operator";

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

  /** The owner of a block: {@code p.<producer>}, {@code g.<group>} or {@code operator}. */
  static String of(Block block) {
    return switch (block) {
      case Block.Fence fence -> "p." + fence.producer();
      case Block.Produce produce -> "p." + produce.producer();
      case Block.Retire retire -> "p." + retire.producer();
      case Block.OpenSession session -> "g." + session.group();
      case Block.EndSession session -> "g." + session.group();
      case Block.Pin pin -> "g." + pin.group();
      case Block.OperatorPin pin -> "g." + pin.group();
      case Block.Unpin unpin -> "g." + unpin.group();
      case Block.Skip skip -> STREAM;
      case Block.Reclaim reclaim -> STREAM;
      case Block.Seal seal -> STREAM;
    };
  }

  /** The owner of the block behind an announcement, as {@link #of(Block)} names it. */
  static String of(AnnouncementName name) {
    return switch (name) {
      case AnnouncementName.Produce produce -> "p." + produce.producer();
      case AnnouncementName.Fence fence -> "p." + fence.producer();
      case AnnouncementName.Operator other ->
          other.kind().equals("retire")
              ? "p." + other.owner()
              : other.owner().equals("stream") ? STREAM : "g." + other.owner();
    };
  }

  /** Version of an owner's last block, as far as the state remembers it; 0 if there was none. */
  static long lastVersion(State state, String owner) {
    if (owner.startsWith("p.")) {
      ProducerState producer = state.producer(owner.substring(2));
      return producer == null ? 0 : producer.lastVersion();
    }
    return owner.startsWith("g.") ? state.group(owner.substring(2)).changed() : 0;
  }
}
