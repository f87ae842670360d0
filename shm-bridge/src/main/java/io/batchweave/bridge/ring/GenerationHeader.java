package io.batchweave.bridge.ring;

import java.util.List;

/**
 * What a control file says for its whole life.
 *
 * @param ring the data file it describes
 * @param generation the number in the name; grows
 * @param generationId 128 random bits, repeated in Welcome
 * @param firstStep the step of n = 0
 * @param descriptorCount N, a power of two
 * @param hold leases that a rank may keep while it asks for the next step
 * @param session whom it serves
 * @param coordinates the slices of each region, in the stream's grid, ascending
 */
public record GenerationHeader(
    RingFile ring,
    long generation,
    Id128 generationId,
    long firstStep,
    int descriptorCount,
    int hold,
    SessionHeader session,
    List<Coordinate> coordinates) {
  /** Copies the list. */
  public GenerationHeader {
    coordinates = List.copyOf(coordinates);
  }

  /**
   * A data file.
   *
   * @param number the ring's number
   * @param lengthBytes its length
   * @param inode its inode
   * @param pageSizeBytes regions start and end on multiples of it
   */
  public record RingFile(int number, long lengthBytes, long inode, int pageSizeBytes) {}

  /**
   * A training session on this node.
   *
   * @param streamId the stream's UUID, most significant half first
   * @param group the training job
   * @param session the launch
   * @param sessionVersion manifest version that is the session's view; 0 when none is registered
   * @param dpSize data-parallel size of the job
   * @param cpSize context-parallel size of the job
   * @param localReaders ranks of the session on this node
   */
  public record SessionHeader(
      Id128 streamId,
      String group,
      String session,
      long sessionVersion,
      int dpSize,
      int cpSize,
      int localReaders) {}
}
