package io.batchweave.client;

import io.batchweave.BatchWeaveException;
import io.batchweave.BatchWeaveException.Kind;
import io.batchweave.Bytes;
import io.batchweave.format.Grid;
import io.batchweave.format.StreamDescriptor;
import io.batchweave.read.Coordinate;
import io.batchweave.read.SlicePlan;
import io.batchweave.read.StepResult;
import java.util.Collection;

/**
 * Follows a stream and says what its steps are. Never blocks its caller except in the methods that
 * take a timeout. Thread-safe.
 */
@SuppressWarnings({"DoNotCallSuggester", "ObjectToString", "UnusedMethod"})
public final class StreamReader implements AutoCloseable {
  private StreamReader() {}

  /**
   * Opens the stream at its head.
   *
   * @param context settings; concluded here
   * @throws BatchWeaveException {@link Kind#CONFIG} if the root is no stream or a setting is wrong,
   *     {@link Kind#RETRYABLE} when the time of the context has passed, {@link Kind#CORRUPT},
   *     {@link Kind#TOO_NEW}
   */
  public static StreamReader open(ReaderContext context) {
    throw new UnsupportedOperationException(context.toString());
  }

  /** The stream. */
  public StreamDescriptor descriptor() {
    throw new UnsupportedOperationException();
  }

  /**
   * What is known about a step, without waiting. Asking moves the window there if it lies outside.
   *
   * @param step the step
   * @throws BatchWeaveException if the log cannot be followed any more ({@link Kind#CORRUPT},
   *     {@link Kind#TOO_NEW}, {@link Kind#CONFIG}); for one damaged step see {@link
   *     StepResult.Failed}
   */
  public StepResult lookup(long step) {
    throw new UnsupportedOperationException("step=" + step);
  }

  /**
   * Says from which step on entries are wanted; those below may be forgotten.
   *
   * @param step the next step that will be asked for
   */
  public void prefetchFrom(long step) {
    throw new UnsupportedOperationException("step=" + step);
  }

  /**
   * Waits until a step is known: never {@link StepResult.NotYet} or {@link StepResult.Loading}.
   *
   * @param step the step
   * @param timeoutNs longest wait, nanoseconds
   * @throws BatchWeaveException {@link Kind#RETRYABLE} with the head and the last trouble of the
   *     store when the time has passed; else as {@link #lookup}
   */
  public StepResult await(long step, long timeoutNs) {
    throw new UnsupportedOperationException("step=" + step + " timeoutNs=" + timeoutNs);
  }

  /**
   * Plans the requests for some ranks of one step.
   *
   * @param ready the step
   * @param ranks the grid of the ranks
   * @param places the ranks' places in it
   * @throws BatchWeaveException as {@link SlicePlan#of}
   */
  public SlicePlan plan(StepResult.Ready ready, Grid ranks, Collection<Coordinate> places) {
    return SlicePlan.of(ready.entry(), descriptor().grid(), ranks, places);
  }

  /**
   * Reads one slice onto the heap and checks its length and checksum: for tools and tests.
   *
   * @param ready the step
   * @param place a place in the stream's grid
   * @throws BatchWeaveException {@link Kind#CORRUPT} if the bytes are not those committed, {@link
   *     Kind#LIMIT} for a slice over 1 GiB; or as the store fails
   */
  public Bytes readSlice(StepResult.Ready ready, Coordinate place) {
    throw new UnsupportedOperationException(ready + " " + place);
  }

  /** Number of steps committed, as far as the head is known. */
  public long nextStep() {
    throw new UnsupportedOperationException();
  }

  /** First step not reclaimed, as far as the head is known. */
  public long horizon() {
    throw new UnsupportedOperationException();
  }

  /** The newest manifest version known. */
  public long headVersion() {
    throw new UnsupportedOperationException();
  }

  /** The last trouble with the store that has not been overcome yet; empty if all is well. */
  public String trouble() {
    throw new UnsupportedOperationException();
  }

  /**
   * Sets who is told, on the agent's thread, that {@link #lookup} may answer differently now.
   *
   * @param onChange must not block
   */
  public void onChange(Runnable onChange) {
    throw new UnsupportedOperationException(onChange.toString());
  }

  @Override
  public void close() {
    throw new UnsupportedOperationException();
  }
}
