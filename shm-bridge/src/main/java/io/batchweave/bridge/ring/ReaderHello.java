package io.batchweave.bridge.ring;

import java.util.List;

/**
 * A rank that wants to be served, once the daemon has seen its lock and knows its step.
 *
 * @param reader its reader file
 * @param previous the reader file that this one replaces, or {@link Id128#NONE}
 * @param session the launch it belongs to
 * @param coordinates the slices it reads, in the stream's grid
 * @param nextStep the step it wants first
 * @param localReaders ranks of the session on this node
 * @param regionBytes region of that step for everybody served so far and this rank; 0 = not known
 */
public record ReaderHello(
    Id128 reader,
    Id128 previous,
    SessionKey session,
    List<Coordinate> coordinates,
    long nextStep,
    int localReaders,
    long regionBytes) {
  /** Copies the list. */
  public ReaderHello {
    coordinates = List.copyOf(coordinates);
  }
}
