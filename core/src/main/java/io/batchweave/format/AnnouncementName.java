package io.batchweave.format;

import java.util.List;
import java.util.UUID;

/** What the name of an announcement says about the block in it, so that it is judged unread. */
public sealed interface AnnouncementName {
  /** A produce block. */
  record Produce(String producer, int epoch, long firstSeq, long lastSeq)
      implements AnnouncementName {}

  /** A fence. */
  record Fence(String producer, int epoch, UUID incarnation) implements AnnouncementName {}

  /**
   * Any other block; the same intent has the same name, whoever announces it.
   *
   * @param kind what it is, as in the name: session, supersede, end, pin, …
   * @param owner the group or producer it is about; {@code stream} if neither
   * @param id which one of that owner's, one or more name parts
   * @param base its base, or the step of a pin
   */
  record Operator(String kind, String owner, List<String> id, long base)
      implements AnnouncementName {
    /** Copies the list. */
    public Operator {
      id = List.copyOf(id);
    }
  }
}
