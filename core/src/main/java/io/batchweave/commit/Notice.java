package io.batchweave.commit;

import io.batchweave.format.AnnouncementName;
import io.batchweave.format.Block;
import io.batchweave.log.Fold;
import io.batchweave.log.Fold.Outlook;
import io.batchweave.log.ProducerState;
import io.batchweave.log.State;
import org.jspecify.annotations.Nullable;

/**
 * An announcement that a LIST has shown.
 *
 * @param key its key
 * @param name what the key says
 * @param lengthBytes of the object
 * @param block what is in it; null before it was read
 * @param use how far it has come
 */
record Notice(String key, AnnouncementName name, long lengthBytes, @Nullable Block block, Use use) {
  /** How far an announcement has come. */
  enum Use {
    /** Seen by its name only. */
    LISTED,
    /** Asked for. */
    ASKED,
    /** Read. */
    HELD,
    /** Not to be decoded, or not what its name says: left to its owner. */
    USELESS
  }

  Notice with(Use newUse, @Nullable Block newBlock) {
    return new Notice(key, name, lengthBytes, newBlock, newUse);
  }

  /**
   * Whether the fold has decided the block for ever: then the announcement may go. Batches and
   * fences are judged by their names alone.
   */
  boolean decided(State state) {
    return switch (name) {
      case AnnouncementName.Produce p -> {
        ProducerState producer = state.producer(p.producer());
        yield state.sealed()
            || (producer != null
                && (producer.retired()
                    || p.epoch() < producer.epoch()
                    || p.firstSeq() < producer.nextSeq()));
      }
      case AnnouncementName.Fence f -> {
        ProducerState producer = state.producer(f.producer());
        yield producer != null && (producer.retired() || f.epoch() <= producer.epoch());
      }
      case AnnouncementName.Operator other ->
          block != null && Fold.outlook(state, block) == Outlook.NEVER;
    };
  }
}
