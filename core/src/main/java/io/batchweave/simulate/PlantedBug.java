package io.batchweave.simulate;

import io.batchweave.Bytes;
import io.batchweave.read.StepResult;
import io.batchweave.store.StoreRequest;
import io.batchweave.store.StoreResponse;
import java.util.SortedMap;
import org.jspecify.annotations.Nullable;

/**
 * A bug on purpose, to show that the checker finds it: stands between each process and the store,
 * and between each process and what it is told. One instance serves one seed.
 */
public interface PlantedBug {
  /** No bug. */
  PlantedBug NONE = new PlantedBug() {};

  /** What a bug may do in the name of one process. */
  interface Hands {
    /** The process. */
    String process();

    /**
     * Sends a request whose answer reaches the bug and the machine under this id.
     *
     * @param requestId an id of the machine's, or one of the bug's own below 0
     * @param request what to do
     */
    void send(long requestId, StoreRequest request);

    /**
     * Tells the user that a batch failed.
     *
     * @param producer the producer
     * @param seq its seq
     */
    void reportFailed(String producer, long seq);

    /** What the store holds. */
    SortedMap<String, Bytes> objects();
  }

  /**
   * What is really sent.
   *
   * @param hands of the process
   * @param requestId of the request
   * @param request what the machine wants
   */
  default StoreRequest sending(Hands hands, long requestId, StoreRequest request) {
    return request;
  }

  /**
   * What the machine hears.
   *
   * @param hands of the process
   * @param requestId of the request
   * @param request what was sent
   * @param response the answer
   * @return null for nothing
   */
  default @Nullable StoreResponse hearing(
      Hands hands, long requestId, StoreRequest request, StoreResponse response) {
    return response;
  }

  /**
   * Where a producer goes on in its source.
   *
   * @param hands of the process
   * @param producer the producer
   * @param openedAt position in the source that the log held when the process started
   * @param recovered position that the machine recovered
   */
  default long position(Hands hands, String producer, long openedAt, long recovered) {
    return recovered;
  }

  /**
   * What a reader is told about a step.
   *
   * @param step the step
   * @param result what the machine says
   */
  default StepResult told(long step, StepResult result) {
    return result;
  }

  /** Whether a producer that was fenced goes on with the same incarnation. */
  default boolean fencesAgain() {
    return false;
  }
}
