package io.batchweave.retain;

import io.batchweave.format.DataObject;
import io.batchweave.format.SourceState;
import io.batchweave.log.ProducerState;
import io.batchweave.log.State;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Whether an object may be deleted, said by its name and one folded state: no clock, no grace
 * period. What is said of a state holds for every later one, so a verdict does not grow old.
 */
enum Judgement {
  /** It is named, or may be by a version to come. */
  KEEP,
  /** Nothing that may still be read names it, and nothing ever will. */
  DELETE,
  /** Nobody knows its producer: it is kept, and reported. */
  UNKNOWN_PRODUCER;

  /**
   * Judges a data object.
   *
   * @param state the state at some version
   * @param object its identity
   * @param named whether an entry at or above the horizon of that same state names it
   */
  static Judgement ofData(State state, DataObject object, Predicate<DataObject> named) {
    ProducerState producer = state.producer(object.producer());
    if (producer == null) {
      return UNKNOWN_PRODUCER;
    }
    return mayBeNamedLater(producer, object) || named.test(object) ? KEEP : DELETE;
  }

  /** Judges a source state of its own. */
  static Judgement ofSourceState(State state, DataObject object) {
    ProducerState producer = state.producer(object.producer());
    if (producer == null) {
      return UNKNOWN_PRODUCER;
    }
    return mayBeNamedLater(producer, object) || object.equals(current(producer)) ? KEEP : DELETE;
  }

  /**
   * A version to come names only objects of the epoch it is accepted in that cover a seq from
   * nextSeq on, and none of a retired producer.
   */
  private static boolean mayBeNamedLater(ProducerState producer, DataObject object) {
    return !producer.retired()
        && object.epoch() >= producer.epoch()
        && object.lastSeq() >= producer.nextSeq();
  }

  private static @Nullable DataObject current(ProducerState producer) {
    return producer.sourceState() instanceof SourceState.External external
        ? external.object()
        : null;
  }
}
